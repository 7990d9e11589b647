import FoundationEssentials
import Logging
import MerchantModel
import MerchantStore
import Synchronization
import Transport

/// Has workers make passes when there is something for them, until the task is cancelled.
///
/// One statement for all tables asks what is due, and again after a pause: while little is going on, asking is most of
/// the work. A worker that has much to do continues at once, and keeps no other from beginning. Nor does a pass that
/// waits for a slow poll keep the next one of its worker from beginning.
package struct DueLoop: Sendable {
    let workers: [any DueWorker]
    /// Tells in which of the tables something is due.
    let due: @Sendable ([DueTable]) async throws -> Set<DueTable>
    let pause: Duration
    let log: Logger
    /// How the pause passes.
    var sleep: @Sendable (Duration) async throws -> Void
    /// By what the age of a pass is measured.
    var now: @Sendable () -> Monotonic = Monotonic.now

    /// Takes all that it needs; the pause passes on the loop unless it is said otherwise.
    package init(
        workers: [any DueWorker], due: @escaping @Sendable ([DueTable]) async throws -> Set<DueTable>, pause: Duration,
        log: Logger, sleep: @escaping @Sendable (Duration) async throws -> Void = IntervalClock.machine.sleep
    ) {
        self.workers = workers
        self.due = due
        self.pause = pause
        self.log = log
        self.sleep = sleep
    }

    /// Throws only `CancellationError`, after the passes that have begun.
    package func run(on loop: EventLoop) async throws {
        let busy = Busy()
        try await withThrowingDiscardingTaskGroup { group in
            while true {
                for worker in await dueWorkers() {
                    guard let pass = busy.begin(worker, at: now()) else { continue }
                    group.addTask {
                        await makePasses(worker, on: loop)
                        busy.end(worker, pass)
                    }
                }
                try await sleep(pause)
            }
        }
    }

    private func dueWorkers() async -> [any DueWorker] {
        do {
            let tables = try await due(workers.map(\.table))
            return workers.filter { tables.contains($0.table) }
        } catch {
            // The database is away: the pause is all that can be done about it.
            note(error, of: "due")
            return []
        }
    }

    /// One pass after the other, as long as there is as much to do as a pass may take.
    private func makePasses(_ worker: any DueWorker, on loop: EventLoop) async {
        do {
            while !Task.isCancelled {
                // In a task of its own, so that stopping lets a pass finish what it has begun.
                let pass = try await loop.task { try await worker.runOnce() }.value
                guard pass.wasFull, pass.failed < pass.examined else { return }
            }
        } catch {
            note(error, of: worker.name)
        }
    }

    private func note(_ error: any Error, of worker: String) {
        if error is CancellationError { return }
        log.warning("work.failed", metadata: ["worker": "\(worker)", "reason": "\(error)"])
    }

    /// The passes that are under way, by the names of their workers.
    private final class Busy: Sendable {
        /// From then on a pass waits for what Belvo is slow to show, and for little else: it keeps no other from
        /// beginning.
        private static let slowFrom = Duration.seconds(2)
        /// So many passes in all for each that may begin: what one user has under way at a time is bounded elsewhere.
        private static let slowPasses = 16

        private let beginnings = Mutex<[String: [UUID: Monotonic]]>([:])

        /// The pass that may begin; nil when the worker has as many as it may.
        func begin(_ worker: any DueWorker, at now: Monotonic) -> UUID? {
            beginnings.withLock { beginnings in
                let passes = beginnings[worker.name, default: [:]]
                let young = passes.values.count { now - $0 < Self.slowFrom }
                guard young < worker.passesMax, passes.count < worker.passesMax * Self.slowPasses else { return nil }
                let pass = UUID()
                beginnings[worker.name, default: [:]][pass] = now
                return pass
            }
        }

        func end(_ worker: any DueWorker, _ pass: UUID) {
            beginnings.withLock { $0[worker.name]?[pass] = nil }
        }
    }
}
