import Belvo
import Transport

/// The silence that Belvo has asked one party for, with a handed-in clock.
///
/// A 429 to a call that carries a user's text may be the answer to that text: any made-up code may be answered by one.
/// One to the reading of an object may be about that object alone. So it silences that party's calls of that kind, and
/// all calls only when several parties have been told the same lately and not been let in since, and more than were let
/// in.
struct PartyBackoff: Sendable {
    /// Silences that are kept at a time. Past it a 429 that speaks of all silences all, and any other none.
    static let countMax = 1_024
    /// How long what a party was told counts as lately.
    static let memory = Duration.seconds(10)
    /// The longest silence of one party's readings: what Belvo decides about a payment is not left unread for an hour.
    static let silenceOfReadingsMax = ThrottleBackoff.pauseMax
    /// The longest silence of all that is concluded from what several parties were told: a few who agree upon it shall
    /// not have it for long, and where Belvo means all, the calls that find out are few.
    static let silenceOfAllMax = Duration.seconds(5)

    private struct Key: Hashable {
        let party: UInt64
        let call: Call

        init(of party: UInt64, _ call: Call) {
            self.party = PartyBackoff.isTheSameForAll(call, of: party) ? 0 : party
            self.call = call
        }
    }

    private var silences: [Key: ThrottleBackoff] = [:]
    /// The silences whose length Belvo did not say, and that began while no other party was let in: they may be Belvo's
    /// with all, and end when it lets another one in.
    private var doubtful: Set<Key> = []
    /// The longest of these: users wait for the end of an outage as long (reliability.md, promise 14).
    private static let doubtfulMax = Duration.seconds(4)
    /// When parties were last told to be silent, for those that were not let in since; and when one's text was last let
    /// in.
    private var silenced: [UInt64: Monotonic] = [:]
    private var admitted: [UInt64: Monotonic] = [:]
    /// When a call of each kind was last let in.
    private var letIn: [Call: Monotonic] = [:]

    /// How long this party's calls of this kind still rest. Belvo may have asked for an hour in an outage of seconds:
    /// once others are let in, one call a minute asks again.
    mutating func rest(_ call: Call, of party: UInt64, at now: Monotonic) -> Duration? {
        guard !silences.isEmpty else { return nil }
        let key = Key(of: party, call)
        guard let silence = silences[key], let rest = silence.rest(at: now) else { return nil }
        let isAsked = Self.isTheSameForAll(call, of: party) || letIn[call].map(silence.isOlder) ?? false
        return isAsked ? silences[key]?.ask(changing: false, at: now) : rest
    }

    /// Takes note of a 429; true when it concerns this party alone, as it does where it does not speak of all
    /// (`PartyDoubts`).
    /// - Parameter isContradicted: whether others were let in since the party was first told so.
    mutating func keeps(
        _ retryAfter: Duration?, _ call: Call, of party: UInt64, speaksOfAll: Bool, isContradicted: Bool,
        at now: Monotonic, jitter: Double
    ) -> Bool {
        guard Self.concerns(call, of: party) else { return false }
        let key = Key(of: party, call)
        silences = silences.filter { $0.value.rest(at: now) != nil || $0.key == key }
        doubtful = doubtful.filter { silences[$0] != nil }
        guard silences.count < Self.countMax else { return !speaksOfAll }
        let length = call.isChanging ? retryAfter : retryAfter.map { min($0, Self.silenceOfReadingsMax) }
        let isDoubtful = retryAfter == nil && !isContradicted
        _ = silences[key, default: ThrottleBackoff()].note(
            retryAfter: length, pauseMax: isDoubtful ? Self.doubtfulMax : ThrottleBackoff.pauseMax, at: now,
            jitter: jitter)
        if isDoubtful { doubtful.insert(key) } else { doubtful.remove(key) }
        if Self.isTheSameForAll(call, of: party) || !speaksOfAll { return true }
        Self.note(party, in: &silenced, at: now)
        let told = Self.lately(silenced, at: now)
        return told.count == 1 || told.count <= Self.lately(admitted, at: now).subtracting(told).count
    }

    /// A party's call was let in.
    mutating func noteAdmitted(_ call: Call, of party: UInt64, at now: Monotonic) {
        for key in doubtful where key.party != party { silences[key] = nil }
        doubtful.removeAll()
        letIn[call] = now
        guard Self.concerns(call, of: party) else { return }
        silences[Key(of: party, call)]?.noteAdmitted(at: now)
        guard !Self.isTheSameForAll(call, of: party) else { return }
        Self.note(party, in: &admitted, at: now)
        // Belvo does not mean all where it lets in the one that it told.
        silenced[party] = nil
    }

    /// Whether such a call may be answered for what it says, or what it asks for.
    static func concerns(_ call: Call, of party: UInt64) -> Bool {
        party != 0 || isTheSameForAll(call, of: party)
    }

    /// Whether a call says the same, and asks for the same, for all parties: a list of all payments does, but not the
    /// search for one user's.
    static func isTheSameForAll(_ call: Call, of party: UInt64) -> Bool {
        switch call {
        case .mintWidgetToken, .refreshWidgetToken, .listInstitutions: true
        case .findPaymentIntents: party == 0
        default: false
        }
    }

    private static func note(_ party: UInt64, in moments: inout [UInt64: Monotonic], at now: Monotonic) {
        if moments.count >= countMax { moments = moments.filter { now < $0.value + memory } }
        guard moments.count < countMax || moments[party] != nil else { return }
        moments[party] = now
    }

    private static func lately(_ moments: [UInt64: Monotonic], at now: Monotonic) -> Set<UInt64> {
        Set(moments.filter { now < $0.value + memory }.keys)
    }
}
