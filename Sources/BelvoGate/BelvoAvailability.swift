import Belvo
import HTTP
import Transport

/// Whether Belvo is available to this process, derived from the outcomes of its calls: whether a call may leave, and
/// what deserves a line in the log. With a handed-in clock.
struct BelvoAvailability: Sendable {
    private(set) var circuit = CircuitBreaker()
    private(set) var lockout = CredentialLockout()
    /// The silence of all callers.
    private(set) var quiet = ThrottleBackoff()
    /// The silence of workers: what they are told does not keep people waiting, until a person's call is told the same.
    private var workersQuiet = ThrottleBackoff()
    /// The silences of single parties: for their own calls, and for those that workers make for them.
    private var partyQuiet = PartyBackoff()
    private var workersPartyQuiet = PartyBackoff()
    /// The parties whose failures and denials are their own, and those whose 429s are: a silence may last for long.
    private var doubts = PartyDoubts(memory: .seconds(60))
    private var throttlingDoubts = PartyDoubts(memory: .seconds(300))
    /// The silence of workers upon what one party was told: a moment, after which a call for another finds out.
    private static let pauseUponOneParty = ThrottleBackoff.pauseMin

    /// When the last silence ends that was concluded from what several users were told; nil where a call was let in
    /// since.
    private var silenceOfAll: Monotonic?
    private var silenceOfWorkers: Monotonic?
    /// Whether that of workers was concluded from what several were told, and not one alone.
    private var isOfSeveral = false
    /// When a call of workers was last let in after such a moment; for how long another user's 429 begins none then.
    private var letInAfterPause: Monotonic?
    private static let memoryOfPause = Duration.seconds(60)
    /// Workers come to another user's records within a second or two.
    private static let othersFirst = Duration.seconds(2)
    /// When calls for others may find out meanwhile that it is those users' own.
    private var firstTries = noTries
    private static let firstTriesPauseMax = PartyBackoff.silenceOfAllMax
    /// The same while the circuit is open.
    private var circuitTries = noTries
    private static let noTries = PerCaller(person: FirstTries(), background: FirstTries(), stranger: FirstTries())

    /// The decision about a call that has its turn.
    enum Entry: Sendable, Equatable {
        case go(isProbe: Bool)
        /// Nothing leaves: the same may be tried later.
        case heldBack(CallHeldBack)
    }

    /// A change that was noticed.
    enum Event: Sendable, Equatable {
        case circuit(CircuitBreaker.Change)
        /// Belvo asked for silence; for so long.
        case throttled(Duration)
        case denied(CredentialLockout.Alarm, status: Int, denials: Int)
        /// The end of a lock-out.
        case admitted(denials: Int)
    }

    /// Whether most calls would be kept here.
    func isShut(at now: Monotonic) -> Bool {
        circuit.state(at: now) != .closed || lockout.isOn || workersRest(at: now) != nil
    }

    /// How long workers keep silent yet.
    func workersRest(at now: Monotonic) -> Duration? {
        [quiet.rest(at: now), workersQuiet.rest(at: now)].compactMap(\.self).max()
    }

    /// Asks for leave to make a call.
    mutating func enter(_ call: Call, _ caller: Caller, of party: UInt64 = 0, at now: Monotonic) -> Entry {
        // What is kept back for its party does not take the place of the call that asks once a minute.
        let ofParty =
            caller == .background
            ? workersPartyQuiet.rest(call, of: party, at: now) : partyQuiet.rest(call, of: party, at: now)
        if let rest = ofParty ?? othersFirst(caller, of: party, at: now) ?? silence(of: caller, call, party, at: now) {
            return .heldBack(CallHeldBack(reason: "Belvo has asked for silence", retryAfter: rest))
        }
        let party = Self.party(party, of: call)
        let isKnown = doubts.isKnown(party)
        let answer = circuit.ask(changing: call.isChanging, at: now)
        if case .stay(let rest) = answer, let rest = circuitRest(rest, call, caller, of: party, at: now) {
            return .heldBack(CallHeldBack(reason: "the circuit is open", retryAfter: rest))
        }
        if let rest = lockout.ask(caller, of: party, isKnown: isKnown, at: now) {
            return .heldBack(CallHeldBack(reason: "Belvo does not let these credentials in", retryAfter: rest))
        }
        switch answer {
        case .pass: return .go(isProbe: false)
        case .probe: circuit.noteProbe(at: now)
        case .stay: circuitTries[caller].note(isKnown: isKnown, at: now, pauseMax: CircuitBreaker.pause)
        }
        return .go(isProbe: true)
    }

    /// How long an open circuit, which probes in so long, keeps back this call; nil where it may find out before.
    /// Calls of others may be what fails: those who were let in before, and whose calls do not fail, find out.
    private func circuitRest(
        _ rest: Duration, _ call: Call, _ caller: Caller, of party: UInt64, at now: Monotonic
    ) -> Duration? {
        guard doubts.isKnown(party), !doubts.isFailing(party, at: now),
            circuit.mayBeTried(changing: call.isChanging, at: now)
        else { return rest }
        return circuitTries[caller].rest(isKnown: true, at: now).map { min($0, rest) }
    }

    /// After a silence those who were told to be silent leave others a moment to find out whether it is over.
    private func othersFirst(_ caller: Caller, of party: UInt64, at now: Monotonic) -> Duration? {
        guard party != 0, throttlingDoubts.isFailing(party, at: now) else { return nil }
        let ends = caller == .background && isOfSeveral ? [silenceOfAll, silenceOfWorkers] : [silenceOfAll]
        guard let end = ends.compactMap(\.self).max(), now < end + Self.othersFirst else { return nil }
        return end + Self.othersFirst - now
    }

    /// Whether calls for others may find out that what keeps calls here is some users' own.
    func isFindingOut(at now: Monotonic) -> Bool {
        circuit.state(at: now) != .closed || lockout.isOn || isConcluded(silenceOfAll, quiet, at: now)
            || isConcluded(silenceOfWorkers, workersQuiet, at: now)
    }

    private func isConcluded(_ end: Monotonic?, _ quiet: ThrottleBackoff, at now: Monotonic) -> Bool {
        guard let end, let rest = quiet.rest(at: now) else { return false }
        return now + rest <= end
    }

    /// Until when a call is kept back for the silence that Belvo has asked for. One that was concluded from what some
    /// were told does not keep back those who were told nothing: a few of them find out.
    private mutating func silence(
        of caller: Caller, _ call: Call, _ party: UInt64, at now: Monotonic
    ) -> Duration? {
        let isOfWorkers = caller == .background && quiet.rest(at: now) == nil
        let rest =
            isOfWorkers
            ? workersQuiet.ask(changing: call.isChanging, at: now) : quiet.ask(changing: call.isChanging, at: now)
        let party = Self.party(party, of: call)
        guard let rest, party != 0, !throttlingDoubts.isFailing(party, at: now),
            isOfWorkers
                ? isConcluded(silenceOfWorkers, workersQuiet, at: now) : isConcluded(silenceOfAll, quiet, at: now)
        else { return rest }
        let isKnown = doubts.isKnown(party)
        if let own = firstTries[caller].rest(isKnown: isKnown, at: now) { return min(own, rest) }
        firstTries[caller].note(isKnown: isKnown, at: now, pauseMax: Self.firstTriesPauseMax)
        if isOfWorkers { workersQuiet.noteTry() } else { quiet.noteTry() }
        return nil
    }

    /// Learns from how a call ended.
    mutating func learn(
        from outcome: CallOutcome, _ call: Call, _ caller: Caller = .person, of party: UInt64 = 0, target: Target,
        isProbe: Bool, began: Monotonic? = nil, at now: Monotonic, jitter: () -> Double
    ) -> [Event] {
        var events: [Event] = []
        let failed = outcome.speaksOfOutage
        // What could not even be sent did not fail because of what it says.
        let user = outcome.kind == .notSent ? 0 : party
        let party = Self.party(user, of: call)
        let isTroubled = failed || outcome.kind == .denied
        let isSameForAll = PartyBackoff.isTheSameForAll(call, of: user)
        let speaksOfAll =
            !isTroubled || doubts.speaksOfAll(party, isSameForAll: isSameForAll, began: began ?? now, at: now)
        if speaksOfAll || !failed,
            let change = circuit.note(
                failed: failed, probe: isProbe, of: party, at: now, jitter: failed ? jitter() : 0)
        {
            if case .opened = change { for caller in Caller.allCases { circuitTries[caller].begin(at: now) } }
            events.append(.circuit(change))
        }
        switch outcome.kind {
        case .answered, .refused:
            doubts.noteAdmitted(party, at: now)
            throttlingDoubts.noteAdmitted(party, at: now)
            quiet.noteAdmitted(at: now)
            silenceOfAll = nil
            firstTries = Self.noTries
            if caller == .background {
                if silenceOfWorkers != nil, !isOfSeveral { letInAfterPause = now }
                silenceOfWorkers = nil
                workersQuiet.noteAdmitted(at: now)
                workersPartyQuiet.noteAdmitted(call, of: user, at: now)
            } else {
                partyQuiet.noteAdmitted(call, of: user, at: now)
            }
            if lockout.noteAdmitted(of: party, at: now) { events.append(.admitted(denials: lockout.denials)) }
        case .denied where call == .refreshWidgetToken:
            break  // What Belvo does not let in there is the token in the body, which ends by itself.
        case .denied:
            let status = outcome.status ?? 401
            if let alarm = lockout.noteDenied(
                status, call, caller, of: party, target: "\(target)", speaksOfAll: speaksOfAll, at: now)
            {
                events.append(.denied(alarm, status: status, denials: lockout.denials))
            }
        case .throttled:
            if let length = silence(
                uponThrottling: outcome.retryAfter, call, caller, of: user, at: now, jitter: jitter())
            {
                events.append(.throttled(length))
            }
        case .failed, .malformedAnswer, .timedOut, .lost, .notSent, .heldBack: break
        }
        return events
    }

    /// Takes note of a 429; gives the length of the silence of more than one party when it begins.
    private mutating func silence(
        uponThrottling retryAfter: Duration?, _ call: Call, _ caller: Caller, of party: UInt64, at now: Monotonic,
        jitter: Double
    ) -> Duration? {
        // What one party sends or has may be why: the others' calls go on until most of them hear it too.
        let isConcluded = PartyBackoff.concerns(call, of: party)
        let speaksOfAll = throttlingDoubts.speaksOfAll(
            Self.party(party, of: call), isSameForAll: PartyBackoff.isTheSameForAll(call, of: party), began: now,
            at: now)
        let isContradicted = throttlingDoubts.isContradicted(Self.party(party, of: call))
        if caller != .background {
            let isKept = partyQuiet.keeps(
                retryAfter, call, of: party, speaksOfAll: speaksOfAll, isContradicted: isContradicted, at: now,
                jitter: jitter)
            if isKept { return nil }
            guard isConcluded else { return quiet.note(retryAfter: retryAfter, at: now, jitter: jitter) }
            return conclude(\.quiet, \.silenceOfAll, retryAfter, at: now, jitter: jitter)
        }
        let isKept = workersPartyQuiet.keeps(
            retryAfter, call, of: party, speaksOfAll: speaksOfAll, isContradicted: isContradicted, at: now,
            jitter: jitter)
        if !isKept, !isConcluded { return workersQuiet.note(retryAfter: retryAfter, at: now, jitter: jitter) }
        guard !isKept || speaksOfAll else { return nil }
        if isKept, let letInAfterPause, now < letInAfterPause + Self.memoryOfPause { return nil }
        isOfSeveral = !isKept
        // A worker makes many calls: not one after the other for each party to hear it.
        return conclude(
            \.workersQuiet, \.silenceOfWorkers, isKept ? Self.pauseUponOneParty : retryAfter, at: now, jitter: jitter)
    }

    /// Begins a silence that is concluded from what parties were told.
    private mutating func conclude(
        _ quiet: WritableKeyPath<Self, ThrottleBackoff>, _ end: WritableKeyPath<Self, Monotonic?>,
        _ retryAfter: Duration?, at now: Monotonic, jitter: Double
    ) -> Duration? {
        let isMeant =
            self[keyPath: quiet].rest(at: now) != nil && !isConcluded(self[keyPath: end], self[keyPath: quiet], at: now)
        if self[keyPath: end] == nil { for caller in Caller.allCases { firstTries[caller].begin(at: now) } }
        let length = min(retryAfter ?? Self.pauseUponOneParty, PartyBackoff.silenceOfAllMax)
        let begun = self[keyPath: quiet].note(retryAfter: length, at: now, jitter: jitter)
        if !isMeant { self[keyPath: end] = self[keyPath: quiet].rest(at: now).map { now + $0 } }
        return begun
    }

    /// The party that a call counts for: a list of all may be refused for what it holds of some.
    private static func party(_ party: UInt64, of call: Call) -> UInt64 {
        party == 0 && call == .findPaymentIntents ? .max : party
    }
}
