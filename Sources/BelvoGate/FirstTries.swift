import Transport

/// When a call for a party that was refused nothing yet may find out that what keeps calls here is other parties' own,
/// with a handed-in clock.
///
/// A few find out soon, and where Belvo means all, ever fewer: the pause doubles after every eighth.
struct FirstTries: Sendable {
    static let pauseMin = Duration.milliseconds(250)
    private static let triesOfOnePause = 8
    private static let doublingsMax = 8

    private var next = Monotonic(nanoseconds: 0)
    private var count = 0

    /// The beginning of a doubt: those whose calls are on their way are refused first.
    mutating func begin(at now: Monotonic) {
        next = now + Self.pauseMin
        count = 0
    }

    /// How long until the next one may try; nil where one may now.
    func rest(at now: Monotonic) -> Duration? { now < next ? next - now : nil }

    /// Takes note of one that tries; gives how long the next one waits.
    @discardableResult
    mutating func note(at now: Monotonic, pauseMax: Duration) -> Duration {
        count += 1
        let pause = min(Self.pauseMin * (1 << min(count / Self.triesOfOnePause, Self.doublingsMax)), pauseMax)
        next = now + pause
        return pause
    }
}
