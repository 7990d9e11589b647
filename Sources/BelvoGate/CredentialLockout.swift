import Belvo
import Transport

/// Counts denials of the credentials (401, 403) and decides which calls may try, with a handed-in clock.
///
/// A 401 is about our credentials, and so is a 403 to a read that has no content to reject. Several of
/// them in a row, and nothing between them that was let in, are a lock-out: from then on only a call now and then
/// tries, and the others fail at once. A 403 to a call that carries a user's text is as likely the
/// firewall's reaction to that text (belvo-api.md §1.1): it raises an alarm and stops no other call.
struct CredentialLockout: Sendable {
    /// One denial may be a hiccup of Belvo's. Three in a row that nothing contradicts are not.
    static let denialsMin = 3
    /// How often a worker tries while locked out: one small call, and webhooks and results wait for the end of it.
    static let backgroundPause = Duration.seconds(5)
    /// How often a waiting user's call does, so that the first users after the end notice it.
    static let personPause = Duration.seconds(1)
    /// For how long a user whose call was denied leaves it to others to find out: where there are no others, the end
    /// is noticed so late (reliability.md, promise 14). Every other try of the workers is others'.
    static let partyPause = Duration.seconds(4)
    static let partyPauseOfWorkers = backgroundPause + .seconds(1)
    /// While it is found out whether it is over, those whose calls were denied leave others so much time to be first.
    static let othersFirst = Duration.seconds(1)
    /// For how long a call that was let in says that another party's denials may be its own.
    static let admissionMemory = Duration.seconds(60)
    /// The users who are remembered for that.
    private static let triedMax = 1_024
    /// How often the same alarm is raised while nothing gets better.
    static let alarmPause = Duration.seconds(3_600)

    /// A change that an operator has to know.
    enum Alarm: Sendable, Equatable {
        /// Our credentials, or what they permit.
        case credentials
        /// One call's content, as it seems.
        case content
    }

    /// Denials by Belvo, from the beginning.
    private(set) var denials = 0
    /// The status of the last denial while locked out.
    private(set) var status: Int?
    private var inARow = 0
    /// The reads that were answered with 403 in a row: the same object again and again is one object's trouble.
    private var forbidden: Set<String> = []
    /// For whom calls of their own were answered with 401 in a row: any made-up code may be, and one user's objects.
    private var deniedParties: Set<UInt64> = []
    /// The party whose call was let in last.
    private var lastAdmission: (party: UInt64, moment: Monotonic)?
    /// When whose call was denied in vain, locked out.
    private var triedInVain: [UInt64: Monotonic] = [:]
    private var nextTry = PerCaller(
        person: Monotonic(nanoseconds: 0), background: Monotonic(nanoseconds: 0), stranger: Monotonic(nanoseconds: 0))
    /// The same for those whose users were denied nothing yet.
    private var firstTries = PerCaller(person: FirstTries(), background: FirstTries(), stranger: FirstTries())
    private var raised: [Alarm: Monotonic] = [:]

    var isOn: Bool { status != nil }

    /// Asks for leave to make a call; gives the time after which the next one may try, where this one may not.
    /// A user whose call was denied a moment ago is not asked about: what Belvo denies may be his alone.
    /// - Parameter isKnown: whether a call of the party's was let in before.
    mutating func ask(
        _ caller: Caller, of party: UInt64 = 0, isKnown: Bool = false, at now: Monotonic
    ) -> Duration? {
        guard isOn else { return nil }
        let next = nextTry[caller]
        if let last = triedInVain[party] {
            let partyPause = caller == .person ? Self.partyPause : Self.partyPauseOfWorkers
            let first = max(last + partyPause, next + Self.othersFirst)
            if now < first { return first - now }
        } else if party != 0 {
            if now < next, let rest = firstTries[caller].rest(isKnown: isKnown, at: now) {
                return min(rest, next - now)
            }
            let pause = firstTries[caller].note(isKnown: isKnown, at: now, pauseMax: Self.pause(of: caller))
            // From then on these are the tries that there are.
            if now < next, pause < Self.pause(of: caller) { return nil }
        } else if now < next {
            return next - now
        }
        nextTry[caller] = now + Self.pause(of: caller)
        return nil
    }

    /// Takes note of a denial; gives the alarm that has to be raised, if it was not raised lately.
    /// Of one party a person's calls, and calls with a user's text, count once; and while others are let in, all. What
    /// does not speak of all counts for nothing (`PartyDoubts`).
    mutating func noteDenied(
        _ status: Int, _ call: Call, _ caller: Caller = .background, of party: UInt64 = 0, target: String,
        speaksOfAll: Bool = true, at now: Monotonic
    ) -> Alarm? {
        denials += 1
        let hasContent = call.isChanging
        if status == 403, hasContent { return raise(.content, at: now) }
        if party != 0, triedInVain.count < Self.triedMax { triedInVain[party] = now }
        if isOn {
            self.status = status
        } else if speaksOfAll {
            let countsOnce =
                party != 0
                && (status == 401 && (hasContent || caller == .person) || othersAreLetIn(than: party, at: now))
            let isNew =
                countsOnce
                ? deniedParties.insert(party).inserted : status == 401 || forbidden.insert(target).inserted
            if isNew { inARow += 1 }
            if inARow >= Self.denialsMin {
                self.status = status
                for caller in Caller.allCases {
                    nextTry[caller] = now + Self.pause(of: caller)
                    firstTries[caller].begin(at: now)
                }
            }
        }
        return raise(.credentials, at: now)
    }

    /// Takes note of a call that was let in; true when that ends a lock-out.
    mutating func noteAdmitted(of party: UInt64 = 0, at now: Monotonic) -> Bool {
        lastAdmission = (party, now)
        inARow = 0
        if !forbidden.isEmpty { forbidden.removeAll() }
        if !deniedParties.isEmpty { deniedParties.removeAll() }
        if !triedInVain.isEmpty { triedInVain.removeAll() }
        guard isOn else { return false }
        status = nil
        raised[.credentials] = nil
        return true
    }

    private func othersAreLetIn(than party: UInt64, at now: Monotonic) -> Bool {
        guard let lastAdmission, lastAdmission.party != party else { return false }
        return now < lastAdmission.moment + Self.admissionMemory
    }

    private mutating func raise(_ alarm: Alarm, at now: Monotonic) -> Alarm? {
        if let last = raised[alarm], now < last + Self.alarmPause { return nil }
        raised[alarm] = now
        return alarm
    }

    private static func pause(of caller: Caller) -> Duration {
        caller == .person ? personPause : backgroundPause
    }
}
