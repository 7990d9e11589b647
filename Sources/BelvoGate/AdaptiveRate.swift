import MerchantModel
import Transport

/// The part of the set rate at which calls may leave: all of it, or less while Belvo grants less. With a handed-in
/// clock.
///
/// A 429 may be about the user whose call it answers, or about all (`PartyBackoff`). Where for seconds one in five of
/// the users who are let in is told to be silent for the first time, it is the rate of all that is too high: it is
/// lowered to that of the calls which were let in, by a sixth at least, and raised again ever faster (additive
/// increase, multiplicative decrease). While it is lower as many such users lower it further at once. Who was told
/// before counts on neither side, nor does a 429 right after a call of the same user: Belvo may limit each user. It
/// does not fall under half of what is set: users who have Belvo throttle them cannot slow the others by more, nor
/// again for minutes.
struct AdaptiveRate: Sendable {
    /// For how long what a user was told counts.
    static let memory = Duration.seconds(5)
    /// How long a user's next 429s do not count: Belvo may have limits for that user alone.
    static let memoryOfTold = Duration.seconds(300)
    /// For how long after a call that was let in a 429 to the same user may be about that user's own rate.
    static let ownLimit = Duration.seconds(1)
    /// Users that have to be told so, and the part of those that were let in that they have to be.
    static let toldMin = 3
    static let toldPart = 0.2
    /// For how long it has to be so before the whole rate is left, and how long there may be nothing of it meanwhile.
    static let onset = Duration.seconds(4)
    static let gapMax = Duration.seconds(6)
    /// The part that stays when the rate is lowered, and the least one in all.
    static let cut = 5.0 / 6
    static let least = 0.5
    /// The part by which the rate rises within a second, and within two by four times as much: all of it in 22 s.
    static let raise = 0.001
    /// How long a lowered rate has to show what it does.
    static let pause = Duration.seconds(1)
    /// Users that are remembered at a time. Past it no others count.
    private static let countMax = 4_096

    /// The part to which the rate was lowered last, and when.
    private var lowered: (part: Double, at: Monotonic)?
    /// Since when users have been told to be silent, and the last moment of that.
    private var telling: (since: Monotonic, last: Monotonic)?
    /// When users were let in last, and when they were told to be silent for the first time.
    private var letIn: [UInt64: Monotonic] = [:]
    private var told: [UInt64: Monotonic] = [:]
    /// Calls that were let in during the present second and the one before.
    private var calls: (since: Monotonic, count: Int, before: Int)?

    /// The part at this moment, from `least` to 1.
    mutating func part(at now: Monotonic) -> Double {
        guard let (part, moment) = lowered else { return 1 }
        let seconds = max(0, Double((now - moment).wholeNanoseconds) / 1e9)
        let risen = part + seconds * seconds * Self.raise
        if risen >= 1 { lowered = nil }
        return min(1, risen)
    }

    /// Takes note of how a user's call ended; true when the whole rate is left because of it.
    /// - Parameter rate: calls a second that are set.
    mutating func note(_ outcome: CallOutcome.Kind, of party: UInt64, at now: Monotonic, rate: Int) -> Bool {
        guard party != 0, rate > 0 else { return false }
        switch outcome {
        case .answered, .refused:
            Self.note(party, in: &letIn, for: Self.memory, at: now)
            countLetIn(at: now)
            return false
        case .throttled:
            if let before = told[party], now < before + Self.memoryOfTold { return false }
            if let before = letIn[party], now < before + Self.ownLimit { return false }
            Self.note(party, in: &told, for: Self.memoryOfTold, at: now)
            return lower(rate, at: now)
        case .denied, .failed, .malformedAnswer, .timedOut, .lost, .notSent, .heldBack: return false
        }
    }

    private static func note(
        _ party: UInt64, in moments: inout [UInt64: Monotonic], for memory: Duration, at now: Monotonic
    ) {
        if moments.count >= countMax { moments = moments.filter { now < $0.value + memory } }
        if moments.count < countMax { moments[party] = now }
    }

    private mutating func countLetIn(at now: Monotonic) {
        let second = Duration.seconds(1)
        guard let counted = calls, now < counted.since + second + second else {
            calls = (now, 1, 0)
            return
        }
        let isSame = now < counted.since + second
        calls =
            isSame
            ? (counted.since, counted.count + 1, counted.before) : (counted.since + second, 1, counted.count)
    }

    private mutating func lower(_ rate: Int, at now: Monotonic) -> Bool {
        if let lowered, now < lowered.at + Self.pause { return false }
        letIn = letIn.filter { now < $0.value + Self.memory }
        let toldLately = told.count { now < $0.value + Self.memory && letIn[$0.key] != nil }
        let before = part(at: now)
        let others = letIn.keys.count { user in told[user].map { now >= $0 + Self.memoryOfTold } ?? true }
        guard toldLately >= Self.toldMin, Double(toldLately) >= Double(toldLately + others) * Self.toldPart else {
            return false
        }
        let since = telling.flatMap { now < $0.last + Self.gapMax ? $0.since : nil } ?? now
        telling = (since, now)
        guard before < 1 || now >= since + Self.onset else { return false }
        let granted = calls.flatMap { $0.before > 0 ? Double($0.before) / Double(rate) : nil } ?? 1
        lowered = (max(Self.least, min(before * Self.cut, granted)), now)
        return before == 1
    }
}
