import Postgres
import Synchronization
import Transport

/// Figures of one event loop, taken once a second: how late that second came, and what its connections to the
/// database are doing.
///
/// A scrape reads what was said last and waits for no loop, so that it also shows one that is stuck.
final class LoopGauge: Sendable {
    static let interval = Duration.seconds(1)

    private struct State {
        var pools: [PoolLoad] = []
        var due: Monotonic?
        var delayMax = Duration.zero
    }

    private let state = Mutex(State())

    /// Measures until the task is cancelled. Throws only `CancellationError`.
    func run(on loop: EventLoop, _ database: Database) async throws {
        defer { state.withLock { $0.due = nil } }
        while true {
            note(try database.load(), at: Monotonic.now())
            try await loop.sleep(for: Self.interval)
        }
    }

    /// Takes down what was found at this moment; the next time is due an interval later.
    func note(_ pools: [PoolLoad], at now: Monotonic) {
        state.withLock { state in
            if let due = state.due { state.delayMax = max(state.delayMax, now - due) }
            state.pools = pools
            state.due = now + Self.interval
        }
    }

    /// The pools as they were last seen, and the greatest delay since the last scrape, up to now.
    func read(at now: Monotonic) -> (pools: [PoolLoad], delayMax: Duration) {
        state.withLock { state in
            defer { state.delayMax = .zero }
            let running = state.due.map { now - $0 } ?? .zero
            return (state.pools, max(state.delayMax, running, .zero))
        }
    }
}
