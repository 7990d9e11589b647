import Transport

/// How many calls Belvo gets from this process: so many a second, and so many at a time. With a handed-in clock.
///
/// People who wait go first. When both want more than there is, every fifth turn is the background's: its reads are
/// what tells those people how their payments ended.
struct Budget: Sendable {
    /// Turns of people after which the background has one, when both wait.
    static let peopleInARowMax = 4

    /// Calls a second; 0 is no limit.
    let rate: Int
    /// Calls under way at a time, by caller. The background may have half of them, so that people find a free one
    /// while Belvo is slow; and a place in eight is kept from people, so that a slow Belvo's answers are still read.
    private let underWayMax: PerCaller<Int>
    private let callsMax: Int

    private(set) var underWay = PerCaller(person: 0, background: 0)
    private var tokens: Double
    private var filledAt: Monotonic?
    private var peopleInARow = 0

    init(rate: Int, callsMax: Int) {
        self.rate = rate
        self.callsMax = callsMax
        underWayMax = PerCaller(person: max(1, callsMax - max(1, callsMax / 8)), background: max(1, callsMax / 2))
        tokens = Budget.burst(rate)
    }

    /// The unused turns that are kept, as a part of a second's: enough not to waste any between two looks at the
    /// clock, and little enough that no second holds many more than the rate.
    private static func burst(_ rate: Int) -> Double { max(1, Double(rate) / 5) }

    /// Takes a turn for a caller, if there is one.
    mutating func take(for caller: Caller, at now: Monotonic) -> Bool {
        fill(at: now)
        guard hasPlace(for: caller), rate == 0 || tokens >= 1 else { return false }
        if rate > 0 { tokens -= 1 }
        underWay[caller] += 1
        peopleInARow = caller == .person ? peopleInARow + 1 : 0
        return true
    }

    /// Takes a turn for one of those who wait, and says for whom.
    mutating func next(waiting: (Caller) -> Bool, at now: Monotonic) -> Caller? {
        let wantsPerson = waiting(.person) && hasPlace(for: .person)
        let wantsBackground = waiting(.background) && hasPlace(for: .background)
        guard wantsPerson || wantsBackground else { return nil }
        let isBackgrounds = wantsBackground && (!wantsPerson || peopleInARow >= Self.peopleInARowMax)
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
        if rate > 0 { tokens += 1 }
    }

    /// How long until the rate allows another call.
    mutating func delay(at now: Monotonic) -> Duration {
        fill(at: now)
        guard rate > 0, tokens < 1 else { return .zero }
        return .nanoseconds(Int64((1 - tokens) / Double(rate) * 1e9) + 1)
    }

    private func hasPlace(for caller: Caller) -> Bool {
        underWay.person + underWay.background < callsMax && underWay[caller] < underWayMax[caller]
    }

    private mutating func fill(at now: Monotonic) {
        guard rate > 0 else { return }
        if let filledAt {
            let elapsed = max(0, Double((now - filledAt).wholeNanoseconds) / 1e9)
            tokens = min(Self.burst(rate), tokens + elapsed * Double(rate))
        }
        filledAt = now
    }
}
