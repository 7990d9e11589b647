/// The webhooks that were made, in order, and what became of them.
struct Outbox: Sendable {
    private(set) var webhooks = Register<Webhook>()
    /// The deliveries that are not at their end, in order, so that a long day's past costs nothing.
    private var open: [String] = []

    mutating func add(_ webhook: Webhook) {
        webhooks.add(webhook)
        if webhook.state == .waiting { open.append(webhook.id) }
    }

    /// When the next attempt is due.
    var next: Timestamp? {
        open.compactMap { webhooks[$0] }.filter { $0.state == .waiting }.map(\.dueAt).min()
    }

    /// Takes the webhooks whose attempt is due, and marks them as under way.
    mutating func takeDue(_ now: Timestamp) -> [Webhook] {
        let due = open.compactMap { webhooks[$0] }.filter { $0.state == .waiting && $0.dueAt <= now }
        for webhook in due {
            webhooks.change(webhook.id) {
                $0.state = .sending
                $0.attempts += 1
            }
        }
        return due
    }

    /// Notes how an attempt ended; nil as the next moment gives the webhook up.
    mutating func finish(_ id: String, status: Int?, isReceipt: Bool, retryAt: Timestamp?) {
        webhooks.change(id) {
            $0.lastStatus = status
            if isReceipt {
                $0.state = .delivered
            } else if let retryAt {
                $0.state = .waiting
                $0.dueAt = retryAt
            } else {
                $0.state = .lost
            }
        }
        if let state = webhooks[id]?.state, state == .delivered || state == .lost {
            open.removeAll { $0 == id }
        }
    }

    /// Puts what waits into the opposite order, as a network may.
    mutating func reverse() {
        open.reverse()
    }
}
