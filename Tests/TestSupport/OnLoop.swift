import Transport

/// Runs the body as a task of a fresh event loop with a thread of its own, and ends both afterwards.
public func withLoop<Value: Sendable>(
    _ body: @escaping @Sendable (EventLoop) async throws -> Value
) async throws -> Value {
    let loop = try EventLoop()
    let thread = try LoopThread.start(loop, name: "test-loop")
    let result = await loop.task { try await body(loop) }.result
    loop.stop()
    // The loop ends with its present round, so this blocks for no time worth a thread of its own.
    thread.join()
    return try result.get()
}

/// As `withLoop`, for a body that does not need the loop itself.
public func onLoop<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
    try await withLoop { _ in try await body() }
}
