/// The cause of a change, for the history.
package struct Cause: Sendable {
    /// The actor.
    package enum Actor: String, Sendable {
        case app, callback, webhook, poller, `operator`
    }

    package let actor: Actor
    package let requestID: String?

    package init(actor: Actor, requestID: String?) {
        self.actor = actor
        self.requestID = requestID
    }

    package static let poller = Cause(actor: .poller, requestID: nil)
    package static let webhook = Cause(actor: .webhook, requestID: nil)
}
