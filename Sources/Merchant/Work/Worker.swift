import Logging
import Payments
import Transport

/// Something that has to be done again and again: one bounded pass, and how often.
///
/// A pass has no input. It finds what is due in the database, where any number of server instances look for work,
/// so that it does not matter who does it, or whether somebody died in the middle.
protocol Worker: Sendable {
    /// For logs.
    var name: String { get }
    /// Does one bounded pass and says what it did.
    func runOnce() async throws -> Pass
}

/// What one pass did.
struct Pass: Sendable, Equatable {
    /// Records that were looked at.
    var examined = 0
    /// Looks that failed and will be repeated.
    var failed = 0
    /// Whether there was as much to do as a pass may take, so that the next one should follow at once.
    var wasFull = false
}

/// Runs a worker until the task is cancelled: at once again while there is much to do, else after a pause.
struct WorkLoop: Sendable {
    let worker: any Worker
    let pause: Duration
    let log: Logger

    /// Throws only `CancellationError`.
    func run(on loop: EventLoop) async throws {
        while true {
            var wasFull = false
            do {
                // In a task of its own, so that stopping lets a pass finish what it has begun.
                let pass = try await loop.task { try await worker.runOnce() }.value
                wasFull = pass.wasFull && pass.failed < pass.examined
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                // The database is away: the pause is all that can be done about it.
                log.warning("work.failed", metadata: ["worker": "\(worker.name)", "reason": "\(error)"])
            }
            try await loop.sleep(for: wasFull ? .zero : pause)
        }
    }
}

/// Records of one pass while Belvo is away: looks end at the gate then, and only those matter that find out whether
/// Belvo is back, or whose record has lasted too long.
private let pollsWhileShut = 8

/// Looks at every record whose look is due: claims them for a while, looks at several at once, records what it finds.
struct Poller<Record: Sendable>: Worker {
    let name: String
    /// Records of one pass.
    let limit: Int
    /// Looks at a time: each waits for Belvo most of its life.
    let width: Int
    let log: Logger
    /// What the looks pass on their way to Belvo; nothing where they go elsewhere.
    let gate: BelvoGate?
    let claim: @Sendable (_ limit: Int) async throws -> [Stored<Record>]
    let look: @Sendable (Stored<Record>) async throws -> Void
    let id: @Sendable (Record) -> String

    func runOnce() async throws -> Pass {
        let isShut = gate?.isShut ?? false
        let limit = isShut ? min(limit, pollsWhileShut) : limit
        let due = try await claim(limit)
        var pass = Pass(examined: due.count, wasFull: due.count == limit && !isShut)
        await withTaskGroup { group in
            var rest = due[...]
            for stored in rest.prefix(width) { group.addTask { await attempt(stored) } }
            rest = rest.dropFirst(width)
            for await hasSucceeded in group {
                if !hasSucceeded { pass.failed += 1 }
                if let next = rest.popFirst() { group.addTask { await attempt(next) } }
            }
        }
        return pass
    }

    /// One look. A failure leaves the record as it is; its lease brings it back.
    private func attempt(_ stored: Stored<Record>) async -> Bool {
        do {
            try await look(stored)
            return true
        } catch {
            log.warning(
                "look.failed",
                metadata: ["worker": "\(name)", "record_id": "\(id(stored.record))", "reason": "\(error)"])
            return false
        }
    }
}

extension World {
    /// Everything that looks at records by itself.
    var workers: [any Worker] {
        // A look is one or two calls; whoever holds it for longer is gone.
        let lease = patience.callDeadline * 2 + .seconds(5)
        return [
            Poller<Customer>(
                name: "customers", limit: 64, width: 8, log: log, gate: gate,
                claim: { try await store.claimDueCustomers(limit: $0, lease: lease) },
                look: { try await CustomerJourney(world: self).look(at: $0) }, id: { $0.id.description }),
            Poller<RedirectReceipt>(
                name: "redirects", limit: 64, width: 8, log: log, gate: gate,
                claim: { try await store.claimDueReceipts(limit: $0, lease: lease) },
                look: { try await RedirectionJourney(world: self).look(at: $0) }, id: { "\($0.id)" }),
            Poller<WebhookReceipt>(
                name: "webhooks", limit: 128, width: 16, log: log, gate: gate,
                claim: { try await store.claimDueWebhooks(limit: $0, lease: lease) },
                look: { try await WebhookJourney(world: self).look(at: $0) }, id: { "\($0.id)" }),
            Poller<Enrollment>(
                name: "enrollments", limit: 128, width: 16, log: log, gate: gate,
                claim: { try await store.claimDueEnrollments(limit: $0, lease: lease) },
                look: { try await EnrollmentJourney(world: self).look(at: $0) }, id: { $0.id.description }),
            Poller<Payment>(
                name: "payments", limit: 128, width: 16, log: log, gate: gate,
                claim: { try await store.claimDuePayments(limit: $0, lease: lease) },
                look: { try await PaymentJourney(world: self).look(at: $0) }, id: { $0.id.description }),
        ]
    }
}
