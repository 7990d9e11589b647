import Synchronization

/// Wakes the one task that waits for something to do. A signal without a waiter is kept, once.
final class WakeUp: Sendable {
    private enum State {
        case quiet
        case signalled
        case waiting(CheckedContinuation<Void, Never>)
    }

    private let state = Mutex(State.quiet)

    func signal() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard case .waiting(let continuation) = state else {
                state = .signalled
                return nil
            }
            state = .quiet
            return continuation
        }
        waiter?.resume()
    }

    /// Returns after a signal, or at once when the task is cancelled.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state -> Bool in
                    guard case .quiet = state, !Task.isCancelled else {
                        state = .quiet
                        return true
                    }
                    state = .waiting(continuation)
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            signal()
        }
    }
}
