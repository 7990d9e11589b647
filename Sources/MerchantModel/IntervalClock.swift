import Transport

/// How a server measures intervals and lets them pass, handed in so that tests can choose.
package struct IntervalClock: Sendable {
    /// The present moment.
    package var now: @Sendable () -> Monotonic
    /// Suspends for so long, or throws when the task is cancelled.
    package var sleep: @Sendable (Duration) async throws -> Void

    /// Takes the two; a task that sleeps must notice its cancellation.
    package init(
        now: @escaping @Sendable () -> Monotonic, sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.now = now
        self.sleep = sleep
    }

    /// The machine's own.
    package static let machine = IntervalClock(now: { Monotonic.now() }, sleep: sleepOnLoop)

    /// Suspends on the loop that the task runs on.
    @Sendable package static func sleepOnLoop(_ duration: Duration) async throws {
        guard let loop = EventLoop.current else { return try await Task.sleep(for: duration) }
        try await loop.sleep(for: duration)
    }
}
