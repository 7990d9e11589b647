import Transport

/// Resolves a name and does not wait for it longer than it may take.
enum BoundedResolution {
    /// Throws `ResolutionError`, `WaitError.timedOut` or `CancellationError`.
    static func resolve(
        _ name: String, port: UInt16, on loop: EventLoop, within limit: Duration
    ) async throws -> [SocketAddress] {
        if let address = SocketAddress(numericHost: name, port: port) { return [address] }
        let race = LoopBound(Race(), on: loop)
        return try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                race.value.begin(
                    continuation,
                    timer: loop.schedule(after: limit) {
                        race.value.end(.failure(WaitError.timedOut))
                    })
                // No task waits for this one: `getaddrinfo` cannot be interrupted, and a result that comes too late
                // is dropped.
                _ = loop.task {
                    do {
                        race.value.end(.success(try await Resolver.resolve(host: name, port: port)))
                    } catch {
                        race.value.end(.failure(error))
                    }
                }
            }
        } onCancel: {
            loop.execute { race.value.end(.failure(CancellationError())) }
        }
    }

    private final class Race {
        private var continuation: UnsafeContinuation<[SocketAddress], any Error>?
        private var timer: LoopTimer?

        func begin(_ continuation: UnsafeContinuation<[SocketAddress], any Error>, timer: LoopTimer) {
            self.continuation = continuation
            self.timer = timer
        }

        func end(_ result: Result<[SocketAddress], any Error>) {
            timer?.cancel()
            continuation?.resume(with: result)
            continuation = nil
        }
    }
}
