/// Who makes a change, for the history.
struct Cause: Sendable {
    /// Whose doing it is.
    enum Actor: String, Sendable {
        case app, callback, webhook, poller, `operator`
    }

    let actor: Actor
    let requestID: String?

    static let poller = Cause(actor: .poller, requestID: nil)
    static let webhook = Cause(actor: .webhook, requestID: nil)
}
