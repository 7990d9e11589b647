import MerchantModel
import Transport

/// The part of the set rate at which calls may leave: all of it, or less while Belvo grants less. With a handed-in
/// clock.
///
/// A 429 may be about the user whose call it answers, or about all (`PartyBackoff`). Where one user in five is told to
/// be silent who was let in moments before or after, it is the rate of all that is too high: it is lowered to that of
/// the calls which were let in, by a sixth at least, and raised again step by step (additive increase, multiplicative
/// decrease). While it is lower three such users lower it further. It does not fall under half of what is set: users
/// who have Belvo throttle them cannot slow the others by more.
struct AdaptiveRate: Sendable {
    /// For how long what a user was told counts.
    static let memory = Duration.seconds(5)
    /// Users that have to be told so, and the part of those that were let in that they have to be.
    static let toldMin = 3
    static let toldPart = 0.2
    /// The part that stays when the rate is lowered, and the least one in all.
    static let cut = 5.0 / 6
    static let least = 0.5
    /// The part by which the rate is raised in a second.
    static let raise = 0.005
    /// How long a lowered rate has to show what it does.
    static let pause = Duration.seconds(1)
    /// Users that are remembered at a time. Past it no others count.
    private static let countMax = 4_096

    private var part = 1.0
    private var raisedAt: Monotonic?
    private var lowered: Monotonic?
    private var told: [UInt64: Monotonic] = [:]
    private var letIn: [UInt64: Monotonic] = [:]
    /// Calls that were let in during the present second and the one before.
    private var calls: (since: Monotonic, count: Int, before: Int)?

    /// The part at this moment, from `least` to 1.
    mutating func part(at now: Monotonic) -> Double {
        guard part < 1 else { return 1 }
        let seconds = Double((now - (raisedAt ?? now)).wholeNanoseconds) / 1e9
        part = min(1, part + max(0, seconds) * Self.raise)
        raisedAt = now
        return part
    }

    /// Takes note of how a user's call ended; true when the whole rate is left because of it.
    /// - Parameter rate: calls a second that are set.
    mutating func note(_ outcome: CallOutcome.Kind, of party: UInt64, at now: Monotonic, rate: Int) -> Bool {
        guard party != 0, rate > 0 else { return false }
        switch outcome {
        case .answered, .refused:
            Self.note(party, in: &letIn, at: now)
            countCall(at: now)
            return false
        case .throttled:
            Self.note(party, in: &told, at: now)
            return lower(rate, at: now)
        case .denied, .failed, .malformedAnswer, .timedOut, .lost, .notSent, .heldBack: return false
        }
    }

    private mutating func countCall(at now: Monotonic) {
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
        if let lowered, now < lowered + Self.pause { return false }
        told = Self.lately(told, at: now)
        letIn = Self.lately(letIn, at: now)
        let both = told.keys.count { letIn[$0] != nil }
        let before = part(at: now)
        guard both >= Self.toldMin, before < 1 || Double(both) >= Double(letIn.count) * Self.toldPart else {
            return false
        }
        let granted = calls.flatMap { $0.before > 0 ? Double($0.before) / Double(rate) : nil } ?? 1
        part = max(Self.least, min(before * Self.cut, granted))
        (raisedAt, lowered) = (now, now)
        told = [:]
        return before == 1
    }

    private static func note(_ party: UInt64, in moments: inout [UInt64: Monotonic], at now: Monotonic) {
        if moments.count >= countMax { moments = lately(moments, at: now) }
        if moments.count < countMax { moments[party] = now }
    }

    private static func lately(_ moments: [UInt64: Monotonic], at now: Monotonic) -> [UInt64: Monotonic] {
        moments.filter { now < $0.value + memory }
    }
}
