import Synchronization
import Transport

/// A reading of which one is made at a time, whose outcome serves all who ask while it is made or within a second.
final class SharedReading: Sendable {
    /// For how long an outcome is good.
    static let age = Duration.seconds(1)

    private struct State {
        var outcome: (value: Bool, madeAt: Monotonic)?
        var isUnderWay = false
        var waiting: [CheckedContinuation<Bool, Never>] = []
    }

    private enum Step {
        case take(Bool)
        case wait
        case make
    }

    private let state = Mutex(State())
    private let now: @Sendable () -> Monotonic
    private let make: @Sendable () async -> Bool

    init(now: @escaping @Sendable () -> Monotonic, make: @escaping @Sendable () async -> Bool) {
        self.now = now
        self.make = make
    }

    func value() async -> Bool {
        let began = now()
        let step = state.withLock { state -> Step in
            if let outcome = state.outcome, began - outcome.madeAt < Self.age { return .take(outcome.value) }
            if state.isUnderWay { return .wait }
            state.isUnderWay = true
            return .make
        }
        switch step {
        case .take(let value): return value
        case .wait: return await outcomeUnderWay()
        case .make:
            let value = await make()
            let waiting = state.withLock { state in
                // Of the moment at which it was begun: what is told is never older than it seems.
                state.outcome = (value, began)
                state.isUnderWay = false
                defer { state.waiting = [] }
                return state.waiting
            }
            for continuation in waiting { continuation.resume(returning: value) }
            return value
        }
    }

    private func outcomeUnderWay() async -> Bool {
        await withCheckedContinuation { continuation in
            let known = state.withLock { state -> Bool? in
                guard state.isUnderWay else { return state.outcome?.value ?? false }
                state.waiting.append(continuation)
                return nil
            }
            if let known { continuation.resume(returning: known) }
        }
    }
}
