import Transport

/// How many calls Belvo gets from this process: so many a second, fewer while Belvo grants fewer (`AdaptiveRate`), and
/// so many at a time. With a handed-in clock.
///
/// People who wait go first. When both want more than there is, every fifth turn is the background's: its reads are
/// the polls that find out how those payments ended. Where that is not enough for them, every third one is. Strangers
/// come behind them, and have a rate of their own below the whole one; while all wait every tenth turn is one of
/// theirs, because some of them are customers of a bank that hides the `state`.
struct CallLimiter: Sendable {
    /// Turns of people after which the background has one, when both wait.
    static let peopleInARowMax = 4
    /// Turns of others after which a stranger has one, when all wait.
    static let turnsBeforeStranger = 9

    /// Calls in flight at a time, by caller. The background may have half of them, so that people find a free one
    /// while Belvo is slow; and a place in eight is kept from people, so that a slow Belvo's answers are still read.
    /// Strangers have a place in eight at most.
    private let underWayMax: PerCaller<Int>
    private let callsMax: Int

    private(set) var underWay = PerCaller(person: 0, background: 0, stranger: 0)
    private var all: TokenBucket
    /// The part of the rate that there is while Belvo grants less than is set.
    private var part = AdaptiveRate()
    private var strangers: TokenBucket
    private var peopleInARow = 0
    private var sinceStranger = 0

    /// - Parameter rate: calls a second; 0 is no limit.
    /// - Parameter strangerRate: those of strangers among them; 0 is no limit.
    init(rate: Int, strangerRate: Int = 0, callsMax: Int) {
        self.callsMax = callsMax
        underWayMax = PerCaller(
            person: max(1, callsMax - max(1, callsMax / 8)), background: max(1, callsMax / 2),
            stranger: max(1, callsMax / 8))
        all = TokenBucket(rate: rate)
        strangers = TokenBucket(rate: strangerRate)
    }

    /// Takes a turn for a caller, if there is one.
    mutating func take(for caller: Caller, at now: Monotonic) -> Bool {
        guard hasPlace(for: caller), delay(for: caller, at: now) == .zero else { return false }
        all.take()
        if caller == .stranger { strangers.take() }
        underWay[caller] += 1
        if caller != .stranger { peopleInARow = caller == .person ? peopleInARow + 1 : 0 }
        sinceStranger = caller == .stranger ? 0 : sinceStranger + 1
        return true
    }

    /// Takes a turn for one of those who wait, and says for whom: for people so often in a row where both wait.
    mutating func next(
        waiting: (Caller) -> Bool, peopleInARowMax: Int = CallLimiter.peopleInARowMax, at now: Monotonic
    ) -> Caller? {
        func wants(_ caller: Caller) -> Bool { waiting(caller) && hasPlace(for: caller) }
        let (person, background) = (wants(.person), wants(.background))
        if wants(.stranger), !(person || background) || sinceStranger >= Self.turnsBeforeStranger,
            take(for: .stranger, at: now)
        {
            return .stranger
        }
        guard person || background else { return nil }
        let isBackgrounds = background && (!person || peopleInARow >= peopleInARowMax)
        let caller = isBackgrounds ? Caller.background : .person
        return take(for: caller, at: now) ? caller : nil
    }

    /// A call is over.
    mutating func finish(_ caller: Caller) {
        underWay[caller] -= 1
    }

    /// A turn that was taken and not used.
    mutating func giveBack(_ caller: Caller) {
        finish(caller)
        all.giveBack()
        if caller == .stranger { strangers.giveBack() }
    }

    /// How long until the rate allows such a caller another call.
    mutating func delay(for caller: Caller = .person, at now: Monotonic) -> Duration {
        let delay = all.delay(at: now, part: part.part(at: now))
        return caller == .stranger ? max(delay, strangers.delay(at: now)) : delay
    }

    /// Learns from how a user's call ended; true when fewer calls may leave from now on than is set.
    mutating func learn(from outcome: CallOutcome.Kind, of party: UInt64, at now: Monotonic) -> Bool {
        part.note(outcome, of: party, at: now, rate: all.rate)
    }

    /// Calls a second that may leave at this moment; 0 is no limit.
    mutating func rate(at now: Monotonic) -> Double { Double(all.rate) * part.part(at: now) }

    private func hasPlace(for caller: Caller) -> Bool {
        Caller.allCases.reduce(0) { $0 + underWay[$1] } < callsMax && underWay[caller] < underWayMax[caller]
    }

    /// Turns that come at a rate; 0 is no limit.
    private struct TokenBucket {
        let rate: Int
        private var tokens: Double
        private var filledAt: Monotonic?

        init(rate: Int) {
            self.rate = rate
            tokens = TokenBucket.burst(rate)
        }

        /// The unused turns that are kept, as a part of a second's: enough not to waste any between two readings of the
        /// clock, and little enough that no second holds many more than the rate.
        private static func burst(_ rate: Int) -> Double { max(1, Double(rate) / 5) }

        mutating func take() {
            if rate > 0 { tokens -= 1 }
        }

        mutating func giveBack() {
            if rate > 0 { tokens += 1 }
        }

        /// - Parameter part: the part of the rate that there is.
        mutating func delay(at now: Monotonic, part: Double = 1) -> Duration {
            fill(at: now, part: part)
            guard rate > 0, tokens < 1 else { return .zero }
            return .nanoseconds(Int64((1 - tokens) / (Double(rate) * part) * 1e9) + 1)
        }

        private mutating func fill(at now: Monotonic, part: Double) {
            guard rate > 0 else { return }
            if let filledAt {
                let elapsed = max(0, Double((now - filledAt).wholeNanoseconds) / 1e9)
                tokens = min(TokenBucket.burst(rate), tokens + elapsed * Double(rate) * part)
            }
            filledAt = now
        }
    }
}
