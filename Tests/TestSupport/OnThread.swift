import Transport

/// Runs a body that blocks on a thread of its own, so that it holds up neither a loop nor the other tests.
public func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        do {
            try ThreadStart.detach(name: "test-thread") { continuation.resume(with: Result(catching: body)) }
        } catch {
            continuation.resume(throwing: error)
        }
    }
}
