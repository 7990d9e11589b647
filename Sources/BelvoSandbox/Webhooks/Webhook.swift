import JSON

/// One event on its way to one subscription.
struct Webhook: Sendable, Identifiable {
    let id: String
    let subscription: Int
    let type: String
    let code: String
    let objectID: String
    let body: [UInt8]
    var dueAt: Timestamp
    var attempts = 0
    var state = State.waiting
    /// The status of the last attempt; nil when there was no answer.
    var lastStatus: Int?

    enum State: String, Sendable {
        /// For its first or next attempt.
        case waiting
        /// An attempt is under way.
        case sending
        case delivered
        /// Given up after the last attempt, or never sent because the variants lose webhooks.
        case lost
    }

    func write(to writer: inout JSONWriter) {
        writer.member("id", id)
        writer.member("webhook_type", type)
        writer.member("webhook_code", code)
        writer.member("object_id", objectID)
        writer.member("state", state.rawValue)
        writer.member("attempts", attempts)
        if let lastStatus { writer.member("last_status", lastStatus) } else { writer.memberNull("last_status") }
        writer.member("due_at", dueAt.text)
    }
}
