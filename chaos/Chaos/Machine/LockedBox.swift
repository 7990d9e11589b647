import Synchronization
import Transport

/// A value that several threads share.
final class LockedBox<Value: Sendable>: Sendable {
    private let content: Mutex<Value>

    init(_ value: Value) {
        content = Mutex(value)
    }

    var value: Value {
        get { content.withLock { $0 } }
        set { content.withLock { $0 = newValue } }
    }

    func update<Result: Sendable>(_ change: (inout Value) -> Result) -> Result {
        content.withLock { value in
            change(&value)
        }
    }
}

/// What tasks ask of the loop that they run on.
enum Loop {
    /// Throws `CancellationError` as soon as the task is cancelled.
    static func sleep(_ duration: Duration) async throws {
        guard let loop = EventLoop.current else { preconditionFailure("chaos is played on an event loop") }
        try await loop.sleep(for: duration)
    }

    /// As `sleep`, for a task that ends by itself after it was cancelled.
    static func rest(_ duration: Duration) async {
        try? await sleep(duration)
    }

    /// Starts a task on the loop of this one.
    static func task<Success: Sendable>(
        _ body: @escaping @Sendable () async throws -> Success
    ) -> Task<Success, any Error> {
        guard let loop = EventLoop.current else { preconditionFailure("chaos is played on an event loop") }
        return loop.task(body)
    }
}

/// Asks again and again, until the answer is yes or the time is over. Gives the last answer.
func eventually(within limit: Duration, every pause: Duration = .milliseconds(200), _ isSo: () async -> Bool) async
    -> Bool
{
    let deadline = Monotonic.now() + limit
    while true {
        if await isSo() { return true }
        if Monotonic.now() >= deadline || Task.isCancelled { return false }
        await Loop.rest(pause)
    }
}
