import Belvo
import MerchantModel
import Transport

/// Limits of one user's calls to Belvo: so many a second, twice as many in a burst, and so many at a time.
/// With a handed-in clock.
///
/// Queueing more calls gains nothing: calls past the share wait, and those of others pass them. Once half of all places
/// are taken a user with a call under way gets no other: what is left is for users who have none, however many users
/// ask for much while Belvo is slow.
struct UserShares: Sendable {
    /// Calls of one user in flight at a time, so that one who asks while Belvo is slow leaves places for others.
    private let underWayMax: Int
    /// Calls of all users together, from which on each user has one at a time.
    private let crowd: Int
    private var buckets: TokenBuckets?
    private var underWay = CallsUnderWay()

    /// - Parameter rate: calls a second of one user; 0 is no limit.
    init(rate: Int, callsMax: Int) {
        underWayMax = max(2, callsMax / 16)
        // Of few places none is worth keeping.
        crowd = callsMax < 32 ? callsMax : callsMax / 2
        guard rate > 0 else { return }
        buckets = TokenBuckets(rate: rate, countMax: 65_536)
    }

    /// Whether a call of this user may leave now.
    func allows(_ party: UInt64, at now: Monotonic) -> Bool {
        hasPlace(party) && buckets?.wait(party, at: now.nanoseconds) == nil
    }

    /// How long until the user's rate allows another call; nil where it is a call that has to end first.
    func delay(of party: UInt64, at now: Monotonic) -> Duration? {
        guard hasPlace(party) else { return nil }
        return .nanoseconds(buckets?.wait(party, at: now.nanoseconds) ?? 0)
    }

    mutating func take(_ party: UInt64, at now: Monotonic) {
        _ = buckets?.take(party, at: now.nanoseconds)
        underWay.take(party)
    }

    mutating func finish(_ party: UInt64) {
        underWay.finish(party)
    }

    private func hasPlace(_ party: UInt64) -> Bool {
        underWay[party] < (underWay.all < crowd ? underWayMax : 1)
    }
}

/// Limits of what workers ask Belvo at a time for one user, be it by polls or for webhooks.
///
/// An object that Belvo is slow to show keeps a place until the call's deadline, and a user may have many of them: past
/// the share they wait for each other, and leave the other places to the readings of others' records.
struct WorkShares: Sendable {
    /// Calls in flight for one user, and for all that is not known to be a user's.
    private let ofUserMax, ofUnknownMax: Int
    /// Calls for all of them together, from which on each has one at a time.
    private let crowd: Int
    private var underWay = CallsUnderWay()

    init(callsMax: Int) {
        ofUserMax = max(2, callsMax / 16)
        ofUnknownMax = max(2, callsMax / 8)
        // Workers have half of all places (`CallLimiter`). Of few none is worth keeping.
        crowd = callsMax < 32 ? callsMax : callsMax / 4
    }

    func allows(_ party: UInt64) -> Bool {
        let ownMax = party == CallOrigin.unknown ? ofUnknownMax : ofUserMax
        return underWay[party] < (underWay.all < crowd ? ownMax : 1)
    }

    mutating func take(_ party: UInt64) {
        underWay.take(party)
    }

    mutating func finish(_ party: UInt64) {
        underWay.finish(party)
    }
}

/// The limit of calls that are not about payments: half of a caller's places, and half of these for tokens, and for
/// customers. A path of Belvo's that hangs, such as that of tokens or of enrollments, takes no place from payments,
/// however many users ask for it; nor do newcomers whose creation hangs take those of the others' enrollments.
struct SideCalls: Sendable {
    private let max: PerCaller<Int>
    private var underWay = PerCaller(person: 0, background: 0, stranger: 0)
    private var tokens = PerCaller(person: 0, background: 0, stranger: 0)
    private var customers = PerCaller(person: 0, background: 0, stranger: 0)

    init(callsMax: Int) {
        // Workers have half of all; strangers are about no payments.
        max =
            Places.areWorthKeeping(callsMax)
            ? PerCaller(person: callsMax / 2, background: callsMax / 4, stranger: .max)
            : PerCaller(person: .max, background: .max, stranger: .max)
    }

    func allows(_ caller: Caller, _ place: CallLines.Place) -> Bool {
        switch place.subject {
        case .payments: true
        case .preparations: underWay[caller] < max[caller]
        case .tokens: underWay[caller] < max[caller] && tokens[caller] < max[caller] / 2
        case .customers: underWay[caller] < max[caller] && customers[caller] < max[caller] / 2
        }
    }

    mutating func take(_ caller: Caller, _ place: CallLines.Place) { note(1, caller, place) }

    mutating func finish(_ caller: Caller, _ place: CallLines.Place) { note(-1, caller, place) }

    private mutating func note(_ change: Int, _ caller: Caller, _ place: CallLines.Place) {
        if place.subject != .payments { underWay[caller] += change }
        if place.subject == .tokens { tokens[caller] += change }
        if place.subject == .customers { customers[caller] += change }
    }
}

/// The limit of calls about one institution's records: half of the places that calls about payments have, half of
/// those that other calls have, and three quarters of all. An institution at which they hang, however many users it
/// has, leaves the other places to the users of others.
struct InstitutionShares: Sendable {
    private let max: PerGroup<Int>
    private let allMax: Int
    private var underWay = PerGroup(all: CallsUnderWay())
    private var all = CallsUnderWay()

    init(callsMax: Int) {
        max = PerGroup(callsMax: callsMax, part: 2)
        allMax = Places.areWorthKeeping(callsMax) ? callsMax / 4 * 3 : .max
    }

    func allows(_ caller: Caller, _ place: CallLines.Place) -> Bool {
        place.institution == 0
            || underWay[caller, place][place.institution] < max[caller, place] && all[place.institution] < allMax
    }

    mutating func take(_ caller: Caller, _ place: CallLines.Place) {
        guard place.institution != 0 else { return }
        underWay[caller, place].take(place.institution)
        all.take(place.institution)
    }

    mutating func finish(_ caller: Caller, _ place: CallLines.Place) {
        guard place.institution != 0 else { return }
        underWay[caller, place].finish(place.institution)
        all.finish(place.institution)
    }
}

/// One value for each caller's calls about payments, and one for the other calls.
struct PerGroup<Value: Sendable>: Sendable {
    fileprivate var payments, others: PerCaller<Value>

    init(all value: Value) {
        payments = PerCaller(person: value, background: value, stranger: value)
        others = payments
    }

    subscript(caller: Caller, place: CallLines.Place) -> Value {
        get { place.subject == .payments ? payments[caller] : others[caller] }
        set {
            if place.subject == .payments { payments[caller] = newValue } else { others[caller] = newValue }
        }
    }

    func all(of caller: Caller) -> [Value] { [payments[caller], others[caller]] }

    mutating func update(of caller: Caller, _ change: (inout Value) -> Void) {
        change(&payments[caller])
        change(&others[caller])
    }
}

extension PerGroup<Int> {
    /// The limits of what may have one part in so many of each group's places: payments may have all of people's, and
    /// other calls half (`SideCalls`); workers have half of either.
    init(callsMax: Int, part: Int) {
        func share(_ group: Int) -> Int {
            Places.areWorthKeeping(callsMax) ? Swift.max(1, callsMax / part / group) : .max
        }
        payments = PerCaller(person: share(1), background: share(2), stranger: .max)
        others = PerCaller(person: share(2), background: share(4), stranger: .max)
    }
}

/// The places for calls to Belvo.
private enum Places {
    /// Whether there are so many that each subject and institution has a part of them: of few none is worth keeping.
    static func areWorthKeeping(_ count: Int) -> Bool { count >= 8 }
}

/// How many calls are in flight, for each party and in all.
struct CallsUnderWay: Sendable {
    private var counts: [UInt64: Int] = [:]
    private(set) var all = 0

    subscript(party: UInt64) -> Int { counts[party] ?? 0 }

    mutating func take(_ party: UInt64) {
        counts[party, default: 0] += 1
        all += 1
    }

    mutating func finish(_ party: UInt64) {
        guard let present = counts[party] else { return }
        counts[party] = present > 1 ? present - 1 : nil
        all -= 1
    }
}
