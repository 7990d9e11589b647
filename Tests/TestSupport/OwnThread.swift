import Glibc

/// Runs a call that blocks for seconds on a thread made for it, so that nobody else waits: the few threads that the
/// program keeps for short blocking calls also resolve names.
func onOwnThread<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Value
) async throws(Failure) -> Value {
    let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
        let call = Unmanaged.passRetained(BlockingCall { continuation.resume(returning: Result(catching: body)) })
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { argument in
                // The argument is the call retained above.
                argument.map { Unmanaged<BlockingCall>.fromOpaque($0).takeRetainedValue().body() }
                return nil
            }, call.toOpaque())
        precondition(code == 0, "the system gave no thread")
        pthread_detach(thread)
    }
    return try result.get()
}

/// What the new thread is handed.
private final class BlockingCall: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
    }
}
