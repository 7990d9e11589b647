import Transport

/// The silence that Belvo has asked for with a 429, kept by all callers alike, with a handed-in clock.
struct ThrottleBackoff: Sendable {
    /// How long, where Belvo does not say: at first, and at most after one 429 upon the other.
    static let pauseMin = Duration.seconds(2)
    static let pauseMax = Duration.seconds(60)

    private var until: Monotonic?
    private var pause = ThrottleBackoff.pauseMin

    /// How long it still lasts.
    func rest(at now: Monotonic) -> Duration? {
        guard let until, now < until else { return nil }
        return until - now
    }

    /// Takes note of a 429; gives the length of the silence when it begins, and nothing while it lasts.
    ///
    /// `jitter`, from 0 to 1, lengthens it by up to a quarter: servers that were silenced together should not come
    /// back together.
    mutating func note(retryAfter: Duration?, at now: Monotonic, jitter: Double) -> Duration? {
        // Calls that were in flight together are refused together: that is one refusal.
        let isNew = rest(at: now) == nil
        let length = (retryAfter ?? pause) * (1 + jitter / 4)
        if retryAfter == nil, isNew { pause = min(pause * 2, Self.pauseMax) }
        until = max(until ?? now, now + length)
        return isNew ? length : nil
    }

    /// A call got an answer outside of a silence.
    mutating func noteAdmitted(at now: Monotonic) {
        guard let until, until <= now else { return }
        self.until = nil
        pause = Self.pauseMin
    }
}
