import Transport

/// When a call for a party that was refused nothing yet may find out that what keeps calls here is other parties' own,
/// with a handed-in clock.
///
/// A few find out soon, and where Belvo means all, ever fewer: the pause doubles after every eighth. Parties whose
/// calls were let in before have tries of their own: newcomers may be any number.
struct FirstTries: Sendable {
    static let pauseMin = Duration.milliseconds(250)
    private static let triesOfOnePause = 8
    private static let doublingsMax = 8

    private struct Tries {
        var next = Monotonic(nanoseconds: 0)
        var count = 0
    }

    private var ofKnown = Tries()
    private var ofNewcomers = Tries()

    /// The beginning of a doubt: those whose calls are on their way are refused first.
    mutating func begin(at now: Monotonic) {
        ofKnown = Tries(next: now + Self.pauseMin)
        ofNewcomers = ofKnown
    }

    /// How long until the next one may try; nil where one may now.
    func rest(isKnown: Bool, at now: Monotonic) -> Duration? {
        let next = (isKnown ? ofKnown : ofNewcomers).next
        return now < next ? next - now : nil
    }

    /// Takes note of one that tries; gives how long the next one waits.
    @discardableResult
    mutating func note(isKnown: Bool, at now: Monotonic, pauseMax: Duration) -> Duration {
        let tries = isKnown ? \Self.ofKnown : \Self.ofNewcomers
        self[keyPath: tries].count += 1
        let doublings = min(self[keyPath: tries].count / Self.triesOfOnePause, Self.doublingsMax)
        let pause = min(Self.pauseMin * (1 << doublings), pauseMax)
        self[keyPath: tries].next = now + pause
        return pause
    }
}
