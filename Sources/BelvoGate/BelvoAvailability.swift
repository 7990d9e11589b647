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
    /// Workers come to another user's records within a second or two.
    private static let othersFirst = Duration.seconds(2)

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
            (caller == .background ? workersPartyQuiet : partyQuiet).rest(call, of: party, at: now)
            ?? othersFirst(caller, of: party, at: now)
        if let rest = ofParty ?? silence(of: caller, changing: call.isChanging, at: now) {
            return .heldBack(CallHeldBack(reason: "Belvo has asked for silence", retryAfter: rest))
        }
        let isProbe: Bool
        switch circuit.ask(changing: call.isChanging, at: now) {
        case .pass: isProbe = false
        case .probe: isProbe = true
        case .stay(let rest): return .heldBack(CallHeldBack(reason: "the circuit is open", retryAfter: rest))
        }
        if let rest = lockout.ask(caller, of: party, at: now) {
            return .heldBack(CallHeldBack(reason: "Belvo does not let these credentials in", retryAfter: rest))
        }
        if isProbe { circuit.noteProbe(at: now) }
        return .go(isProbe: isProbe)
    }

    /// After a silence those who were told to be silent leave others a moment to find out whether it is over.
    private func othersFirst(_ caller: Caller, of party: UInt64, at now: Monotonic) -> Duration? {
        guard party != 0, throttlingDoubts.isFailing(party, at: now) else { return nil }
        let ends = caller == .background ? [silenceOfAll, silenceOfWorkers] : [silenceOfAll]
        guard let end = ends.compactMap(\.self).max(), now < end + Self.othersFirst else { return nil }
        return end + Self.othersFirst - now
    }

    /// Until when a call is kept back for the silence that Belvo has asked for.
    private mutating func silence(of caller: Caller, changing isChanging: Bool, at now: Monotonic) -> Duration? {
        if caller == .background, quiet.rest(at: now) == nil { return workersQuiet.ask(changing: isChanging, at: now) }
        return quiet.ask(changing: isChanging, at: now)
    }

    /// Learns from how a call ended.
    mutating func learn(
        from outcome: CallOutcome, _ call: Call, _ caller: Caller = .person, of party: UInt64 = 0, target: Target,
        isProbe: Bool, began: Monotonic? = nil, at now: Monotonic, jitter: () -> Double
    ) -> [Event] {
        var events: [Event] = []
        let failed = outcome.speaksOfOutage
        // What could not even be sent did not fail because of what it says.
        let party = outcome.kind == .notSent ? 0 : party
        let isTroubled = failed || outcome.kind == .denied
        let speaksOfAll = isTroubled ? doubts.speaksOfAll(party, began: began ?? now, at: now) : true
        if speaksOfAll || !failed,
            let change = circuit.note(
                failed: failed, probe: isProbe, of: party, at: now, jitter: failed ? jitter() : 0)
        {
            events.append(.circuit(change))
        }
        switch outcome.kind {
        case .answered, .refused:
            doubts.noteAdmitted(party, at: now)
            throttlingDoubts.noteAdmitted(party, at: now)
            quiet.noteAdmitted(at: now)
            silenceOfAll = nil
            if caller == .background {
                silenceOfWorkers = nil
                workersQuiet.noteAdmitted(at: now)
                workersPartyQuiet.noteAdmitted(call, of: party, at: now)
            } else {
                partyQuiet.noteAdmitted(call, of: party, at: now)
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
                uponThrottling: outcome.retryAfter, call, caller, of: party, at: now, jitter: jitter())
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
        let ofAll = isConcluded ? min(retryAfter ?? Self.pauseUponOneParty, PartyBackoff.silenceOfAllMax) : retryAfter
        let speaksOfAll = throttlingDoubts.speaksOfAll(party, began: now, at: now)
        if caller != .background {
            let isKept = partyQuiet.keeps(
                retryAfter, call, of: party, speaksOfAll: speaksOfAll, at: now, jitter: jitter)
            if isKept { return nil }
            if isConcluded { silenceOfAll = ofAll.map { now + $0 } }
            return quiet.note(retryAfter: ofAll, at: now, jitter: jitter)
        }
        let isKept = workersPartyQuiet.keeps(
            retryAfter, call, of: party, speaksOfAll: speaksOfAll, at: now, jitter: jitter)
        guard isKept else {
            if isConcluded { silenceOfWorkers = ofAll.map { now + $0 } }
            return workersQuiet.note(retryAfter: ofAll, at: now, jitter: jitter)
        }
        guard speaksOfAll else { return nil }
        // A worker makes many calls: not one after the other for each party to hear it.
        return workersQuiet.note(retryAfter: Self.pauseUponOneParty, at: now, jitter: jitter)
    }
}
