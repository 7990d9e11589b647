import Transport

/// The silence that Belvo has asked for with a 429, kept by all callers alike, with a handed-in clock.
///
/// A single answer may ask for hours. So one call a minute that changes nothing asks again, and the silence is over as
/// soon as Belvo lets one in.
struct ThrottleBackoff: Sendable {
    /// How long, where Belvo does not say: at first, and at most after one 429 upon the other.
    static let pauseMin = Duration.seconds(2)
    static let pauseMax = Duration.seconds(60)

    private var until: Monotonic?
    private var pause = ThrottleBackoff.pauseMin
    /// When a call may ask again, and whether one has since Belvo last asked for silence.
    private var nextProbe = Monotonic(nanoseconds: 0)
    private var isProbed = false

    /// How long it still lasts.
    func rest(at now: Monotonic) -> Duration? {
        guard let until, now < until else { return nil }
        return until - now
    }

    /// Whether that moment came after the silence began, and after the last call that asked whether it is over.
    func isOlder(than moment: Monotonic) -> Bool { nextProbe < moment + Self.pauseMax }

    /// Asks for leave to make a call; gives the time after which one may ask again, where this one may not.
    mutating func ask(changing isChanging: Bool, at now: Monotonic) -> Duration? {
        guard let rest = rest(at: now) else { return nil }
        guard !isChanging, nextProbe <= now else { return min(rest, max(nextProbe - now, Self.pauseMin)) }
        nextProbe = now + Self.pauseMax
        isProbed = true
        return nil
    }

    /// A call leaves in the silence to find out whether it is over for its party.
    mutating func noteTry() { isProbed = true }

    /// Takes note of a 429; gives the length of the silence when it begins, and nothing while it lasts.
    ///
    /// `pauseMax` is the longest where Belvo does not say how long. `jitter`, from 0 to 1, lengthens it by up to a
    /// quarter: servers that were silenced together should not come back together.
    mutating func note(
        retryAfter: Duration?, pauseMax: Duration = Self.pauseMax, at now: Monotonic, jitter: Double
    ) -> Duration? {
        // Calls that were in flight together are refused together: that is one refusal.
        let isNew = rest(at: now) == nil
        let length = (retryAfter ?? min(pause, pauseMax)) * (1 + jitter / 4)
        if retryAfter == nil, isNew { pause = min(pause * 2, pauseMax) }
        until = max(until ?? now, now + length)
        if isNew { nextProbe = now + Self.pauseMax }
        isProbed = false
        return isNew ? length : nil
    }

    /// A call got an answer outside of a silence, or has found out that it is over. What left before the silence was
    /// answered long before the first call that asks.
    mutating func noteAdmitted(at now: Monotonic) {
        guard let until, until <= now || isProbed else { return }
        self.until = nil
        isProbed = false
        pause = Self.pauseMin
    }
}
