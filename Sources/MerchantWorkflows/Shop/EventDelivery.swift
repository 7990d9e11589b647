import FoundationEssentials
import HTTP
import Logging
import MerchantModel
import MerchantStore
import Payments

/// Sends the shop's events: at least once, in order for each record, for three days.
package struct EventDelivery: Sendable {
    let store: Store
    let webhook: StandardWebhook
    let log: Logger
    /// Sends one request to the shop.
    let send: @Sendable (Request, Duration) async throws -> Response
    /// The time of day, for the signature.
    let now: @Sendable () -> Timestamp

    /// Takes all that it needs, with what carries one request to the shop.
    package init(
        store: Store, webhook: StandardWebhook, log: Logger,
        send: @escaping @Sendable (Request, Duration) async throws -> Response, now: @escaping @Sendable () -> Timestamp
    ) {
        self.store = store
        self.webhook = webhook
        self.log = log
        self.send = send
        self.now = now
    }

    /// For how long an event is tried: a long weekend of the shop's.
    static let retryPeriod = Duration.seconds(3 * 86_400)

    /// How long after so many attempts the next one follows: seconds for a hiccup, at most an hour for an outage, so
    /// that a shop that is back gets everything within the hour.
    static func pause(afterAttempts attempts: Int) -> Duration {
        let seconds: [Int64] = [5, 20, 60, 300, 900]
        return .seconds(attempts <= seconds.count ? seconds[max(attempts, 1) - 1] : 3_600)
    }

    /// One attempt.
    func deliver(_ stored: Stored<OutgoingEvent>) async throws {
        let event = stored.record
        let problem: String?
        do {
            let response = try await send(
                webhook.request(id: event.id, body: event.body, at: now()), StandardWebhook.deadline)
            problem = response.status.isSuccess ? nil : "status \(response.status.code)"
        } catch let error as ClientError {
            problem = "\(error)"
        }
        guard let problem else { return try await store.noteDelivery(of: stored) }
        let isOver = stored.clock.now - event.createdAt >= Self.retryPeriod
        log.log(
            level: isOver ? .critical : .warning, isOver ? "event.parked" : "event.not_delivered",
            metadata: [
                "event_id": "\(event.id)", "type": "\(event.type)", "attempts": "\(event.attempts)",
                "reason": "\(problem)",
            ])
        try await store.noteFailure(
            of: stored, problem, next: isOver ? nil : Self.pause(afterAttempts: event.attempts))
    }
}

extension EventDelivery {
    /// Several records' events leave at once, each record's one after the other.
    package var worker: any DueWorker {
        Poller<OutgoingEvent>(
            name: "events", table: .events, limit: 64, width: 16, log: log, gate: nil,
            claim: { [store] in try await store.claimDueEvents(limit: $0, lease: StandardWebhook.deadline * 2) },
            poll: {
                try await deliver($0)
                return .recorded
            },
            reschedule: { [store] in try await store.giveBack(events: $0) }, id: { $0.id })
    }
}
