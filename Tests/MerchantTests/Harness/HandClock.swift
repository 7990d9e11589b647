import Synchronization
import Transport

@testable import MerchantModel

/// A clock for intervals that stands still until the test moves it on.
final class HandClock: Sendable {
    private struct Sleeper {
        let end: Monotonic
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now = Monotonic(nanoseconds: 0)
        var nextID = 0
        var sleepers: [Int: Sleeper] = [:]
        var cancelled: Set<Int> = []
        var watchers: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// The clock as a server takes it.
    var intervals: IntervalClock {
        IntervalClock(now: { self.state.withLock { $0.now } }, sleep: { try await self.sleep($0) })
    }

    /// Moves the clock on and wakes whose time has come.
    func advance(by duration: Duration) {
        for sleeper in wake(after: duration) { sleeper.resume() }
    }

    /// Waits until a task sleeps, moves the clock on, and waits until the tasks that it woke sleep again.
    func pass(_ duration: Duration) async {
        await someoneSleeps()
        advance(by: duration)
        await someoneSleeps()
    }

    private func wake(after duration: Duration) -> [CheckedContinuation<Void, any Error>] {
        state.withLock { state in
            state.now = state.now + duration
            let due = state.sleepers.filter { $0.value.end <= state.now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values.map(\.continuation)
        }
    }

    private func someoneSleeps() async {
        await withCheckedContinuation { continuation in
            let isSo = state.withLock { state in
                if state.sleepers.isEmpty { state.watchers.append(continuation) }
                return !state.sleepers.isEmpty
            }
            if isSo { continuation.resume() }
        }
    }

    private func sleep(_ duration: Duration) async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let watchers: [CheckedContinuation<Void, Never>]? = state.withLock { state in
                    guard !state.cancelled.contains(id) else { return nil }
                    state.sleepers[id] = Sleeper(end: state.now + duration, continuation: continuation)
                    defer { state.watchers = [] }
                    return state.watchers
                }
                guard let watchers else { return continuation.resume(throwing: CancellationError()) }
                for watcher in watchers { watcher.resume() }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                state.cancelled.insert(id)
                return state.sleepers.removeValue(forKey: id)
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }
}
