import Transport

/// How a server measures intervals and lets them pass, handed in so that tests can choose.
public struct IntervalClock: Sendable {
    /// The present moment.
    public var now: @Sendable () -> Monotonic
    /// Suspends for so long, or throws when the task is cancelled.
    public var sleep: @Sendable (Duration) async throws -> Void

    /// Takes the two; whoever sleeps must hear of his task's end.
    public init(
        now: @escaping @Sendable () -> Monotonic, sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.now = now
        self.sleep = sleep
    }

    /// The machine's own.
    public static let machine = IntervalClock(
        now: { Monotonic.now() }, sleep: AuthenticatorDependencies.sleepOnLoop)
}
