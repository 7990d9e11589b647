import Logging
import MerchantStore
import Transport

/// Something that has to be done again and again: one bounded pass, and how often.
///
/// A pass has no input. It finds what is due in the database, where any number of server instances look for work,
/// so that it does not matter which worker does it, or whether one died in the middle.
package protocol Worker: Sendable {
    /// For logs.
    var name: String { get }
    /// Does one bounded pass and says what it did.
    func runOnce() async throws -> Pass
}

/// A worker whose records say in one table when they are due: it has nothing to do while none of them is.
package protocol DueWorker: Worker {
    var table: DueTable { get }
    /// How many of its passes may be under way at a time: a pass ends with its slowest poll, and what has become due
    /// meanwhile does not wait for that.
    var passesMax: Int { get }
}

/// The counts of one pass.
package struct Pass: Sendable, Equatable {
    /// Records that were polled.
    var examined = 0
    /// Polls and attempts that failed and will be repeated.
    var failed = 0
    /// Whether there was as much to do as a pass may take, so that the next one should follow soon.
    var wasFull = false
}

/// Runs a worker that nothing waits for until the task is cancelled: after a pause, and a short one while there is much
/// to do.
package struct WorkLoop: Sendable {
    let worker: any Worker
    let pause: Duration
    let log: Logger

    package init(worker: any Worker, pause: Duration, log: Logger) {
        self.worker = worker
        self.pause = pause
        self.log = log
    }

    /// The rest after a pass that was as full as one may be, and took so long. Payments share the database with it: it
    /// takes a quarter of the time at most, and less while the database is busy.
    package func rest(afterFullPass time: Duration) -> Duration { min(pause, time * 3) }

    /// Throws only `CancellationError`.
    package func run(on loop: EventLoop) async throws {
        while true {
            let begin = Monotonic.now()
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
            try await loop.sleep(for: wasFull ? rest(afterFullPass: Monotonic.now() - begin) : pause)
        }
    }
}
