/// Why a wait on a loop ended without what was waited for.
public enum WaitError: Error, Sendable, Equatable {
    /// The task was cancelled.
    case cancelled
    /// The deadline passed first.
    case timedOut
}

extension EventLoop {
    /// Suspends the calling task, which must run on this loop, until the time has passed.
    ///
    /// Throws `CancellationError` as soon as the task is cancelled.
    public func sleep(for duration: Duration) async throws {
        assert(isCurrent, "a task sleeps on its own loop")
        let sleeper = LoopBound(Sleeper(), on: self)
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                sleeper.value.begin(continuation, on: self, for: duration)
            }
        } onCancel: {
            execute { sleeper.value.cancel() }
        }
    }

    /// Starts a task that runs on this loop from beginning to end.
    public func task<Success: Sendable>(
        _ body: @escaping @Sendable () async throws -> Success
    ) -> Task<Success, any Error> {
        Task(executorPreference: self) { try await body() }
    }
}

/// One sleep: its timer and whom to wake.
private final class Sleeper {
    private var continuation: CheckedContinuation<Void, any Error>?
    private var timer: LoopTimer?
    private var isCancelled = false

    func begin(_ continuation: CheckedContinuation<Void, any Error>, on loop: EventLoop, for duration: Duration) {
        if isCancelled || Task.isCancelled { return continuation.resume(throwing: CancellationError()) }
        self.continuation = continuation
        timer = loop.schedule(after: duration) { self.end(.success(())) }
    }

    func cancel() {
        isCancelled = true
        end(.failure(CancellationError()))
    }

    private func end(_ result: Result<Void, any Error>) {
        timer?.cancel()
        timer = nil
        continuation?.resume(with: result)
        continuation = nil
    }
}
