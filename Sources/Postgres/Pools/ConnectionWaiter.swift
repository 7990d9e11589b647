import Transport

/// A transaction that waits for a connection of its own.
final class ConnectionWaiter {
    let begun = Monotonic.now()
    let deadline: Monotonic
    private var continuation: UnsafeContinuation<Void, Never>?
    private var result: Result<Connection, any Error> = .failure(CancellationError())
    private(set) var isSettled = false

    init(deadline: Monotonic) {
        self.deadline = deadline
    }

    /// Suspends until `settle`, which comes after `start`.
    func connection(_ start: () -> Void) async throws -> Connection {
        await withUnsafeContinuation { continuation in
            self.continuation = continuation
            start()
        }
        return try result.get()
    }

    func settle(_ result: Result<Connection, any Error>) {
        guard !isSettled else { return }
        isSettled = true
        self.result = result
        continuation?.resume()
        continuation = nil
    }
}
