import Belvo
import Transport

/// Calls of one kind that wait: of one party first come, first served; the parties in turn, one call each in a round.
///
/// However many calls one party has in line, another one's first call waits for one call of each party and no more. A
/// party that had fewer turns lately than the rounds that there were goes before those that had more. A call may have
/// to wait for more rounds than its party's next one; whatever comes meanwhile, it has its turn then. A party without
/// a turn for some seconds counts as one that had none: however many come for the first time, it is one of them.
struct FairQueue: Sendable {
    private struct Waiter {
        let id: UInt64
        let institution: UInt64
        /// The rounds that it waits for beside those of its party.
        let rounds: Int
        let continuation: CheckedContinuation<Bool, Never>
    }

    /// Rounds that a party without a turn in them has ahead of the others, at most: one user's payment is three calls.
    static let roundsAheadMax = 4
    /// Parties whose rounds are remembered while they do not wait. Past it all of them are taken for new ones.
    static let rememberedMax = 4_096
    /// After so long without a turn a party counts as one that had none.
    static let memory = Duration.seconds(10)

    /// A party's last turn: when it was, and the round in which the next one is.
    private struct LastTurn {
        let nextRound: Int
        let time: Monotonic
    }

    private var waiters: [UInt64: [Waiter]] = [:]
    /// The parties with calls in line, in the order of their turns.
    private var order: [UInt64] = []
    private var lastTurns: [UInt64: LastTurn] = [:]
    /// The rounds of the parties in line, by which they are ordered.
    private var rounds: [UInt64: Int] = [:]
    /// The rounds up to which parties' calls have been put off, until one of these calls has had its turn: who leaves
    /// the line and comes again is not put off anew.
    private var putOff: [UInt64: Int] = [:]
    /// The latest round in which a party had a turn.
    private var round = 0
    private var nextID: UInt64 = 0
    private(set) var count = 0

    /// The parties with calls in line.
    var parties: [UInt64] { order }

    /// How many calls of the party are in line.
    func count(of party: UInt64) -> Int { waiters[party]?.count ?? 0 }

    /// The institution that the party's next call is about.
    func institution(of party: UInt64) -> UInt64 { waiters[party]?.first?.institution ?? 0 }

    /// - Parameter isContinued: whether the call goes before those of other parties, as the second half of something
    ///   whose first half has had its turn.
    /// - Parameter rounds: how many rounds after its party's next one the call has its turn.
    mutating func join(
        _ continuation: CheckedContinuation<Bool, Never>, of party: UInt64, about institution: UInt64 = 0,
        isContinued: Bool = false, after rounds: Int = 0, at now: Monotonic
    ) -> UInt64 {
        nextID += 1
        count += 1
        let waiter = Waiter(id: nextID, institution: institution, rounds: rounds, continuation: continuation)
        if isContinued {
            waiters[party, default: []].insert(waiter, at: 0)
            order.removeAll { $0 == party }
            order.insert(party, at: 0)
            self.rounds[party] = min(nextRound(of: party, at: now), round)
        } else {
            waiters[party, default: []].append(waiter)
            if waiters[party]?.count == 1 { takePlace(party, at: now) }
        }
        return nextID
    }

    /// A party had a turn without waiting.
    mutating func noteTurn(of party: UInt64, at now: Monotonic) {
        noteTurn(of: party, in: nextRound(of: party, at: now), at: now)
    }

    private mutating func noteTurn(of party: UInt64, in own: Int, at now: Monotonic) {
        round = max(round, own)
        if lastTurns.count >= Self.rememberedMax { lastTurns = lastTurns.filter { waiters[$0.key] != nil } }
        if putOff.count >= Self.rememberedMax { putOff = putOff.filter { waiters[$0.key] != nil } }
        lastTurns[party] = LastTurn(nextRound: own + 1, time: now)
    }

    private func nextRound(of party: UInt64, at now: Monotonic) -> Int {
        let least = round - Self.roundsAheadMax
        guard let known = lastTurns[party], now - known.time < Self.memory else { return least }
        return max(known.nextRound, least)
    }

    /// Puts a party behind those whose turn is in the same round.
    private mutating func takePlace(_ party: UInt64, at now: Monotonic) {
        guard let first = waiters[party]?.first else { return }
        var own = nextRound(of: party, at: now)
        if first.rounds > 0 {
            own = min(own + first.rounds, putOff[party] ?? .max)
            putOff[party] = own
        }
        rounds[party] = own
        order.insert(party, at: order.firstIndex { rounds[$0, default: own] > own } ?? order.endIndex)
    }

    /// The next call of the party, which then has its turn in the next round.
    mutating func removeFirst(of party: UInt64, at now: Monotonic) -> CheckedContinuation<Bool, Never>? {
        guard var line = waiters[party], let place = order.firstIndex(of: party) else { return nil }
        let first = line.removeFirst()
        count -= 1
        order.remove(at: place)
        waiters[party] = line.isEmpty ? nil : line
        let own = rounds.removeValue(forKey: party) ?? nextRound(of: party, at: now)
        if first.rounds > 0 { putOff[party] = nil }
        noteTurn(of: party, in: own, at: now)
        if !line.isEmpty { takePlace(party, at: now) }
        return first.continuation
    }

    /// Takes one out who has waited for too long.
    mutating func remove(_ id: UInt64, of party: UInt64) -> CheckedContinuation<Bool, Never>? {
        guard var line = waiters[party], let place = line.firstIndex(where: { $0.id == id }) else { return nil }
        let removed = line.remove(at: place)
        count -= 1
        if line.isEmpty {
            waiters[party] = nil
            order.removeAll { $0 == party }
            rounds[party] = nil
        } else {
            waiters[party] = line
        }
        return removed.continuation
    }
}

/// The lines in which one caller's calls wait. They take turns, and so do the parties of each: a flood in one line
/// keeps the others waiting for one turn of each line.
struct CallLines: Sendable {
    /// Where a call waits.
    struct Place: Hashable, Sendable {
        let line: Int
        let party: UInt64
        /// The institution that the call is about; 0 where that is not known.
        let institution: UInt64

        /// Calls about each subject have lines of their own, beside each other.
        init(line: Int, subject: Call.Subject, party: UInt64, institution: UInt64 = 0) {
            self.init(
                line: line * Call.Subject.allCases.count + subject.rawValue, party: party, institution: institution)
        }

        fileprivate init(line: Int, party: UInt64, institution: UInt64) {
            self.line = line
            self.party = party
            self.institution = institution
        }

        /// The user at the institution.
        var userAtInstitution: UInt64 { party ^ (institution &* 0x9E37_79B9_7F4A_7C15) }

        var subject: Call.Subject { Call.Subject.allCases[line % Call.Subject.allCases.count] }

        /// Whether a person's call begins something.
        var isBeginning: Bool { line / Call.Subject.allCases.count == CallLines.beginnings }
    }

    /// How many lines people have.
    static let peoplesLines = 2
    /// The line of people's calls that begin something, beside the line of those by which it goes on.
    static let beginnings = 1

    private var lines: [FairQueue]
    /// The number of the last turn of each line.
    private var lastTurns: [UInt64]
    private var turns: UInt64 = 0

    /// - Parameter count: lines of each subject.
    init(count: Int = 1) {
        lines = Array(repeating: FairQueue(), count: count * Call.Subject.allCases.count)
        lastTurns = Array(repeating: 0, count: lines.count)
    }

    var count: Int { lines.reduce(0) { $0 + $1.count } }

    /// The parties with calls in any line.
    var parties: Set<UInt64> { lines.reduce(into: []) { $0.formUnion($1.parties) } }

    /// The place of each party's next call in the first line of this subject.
    func places(inLineOf subject: Call.Subject) -> [Place] {
        let line = subject.rawValue
        return lines[line].parties.map {
            Place(line: line, party: $0, institution: lines[line].institution(of: $0))
        }
    }

    func count(in place: Place) -> Int { lines[place.line].count(of: place.party) }

    /// The first place of each line among those that may have a turn; first of the line whose last turn is longest ago.
    func firsts(where mayHaveTurn: (Place) -> Bool) -> [Place] {
        lines.indices.sorted { (lastTurns[$0], $0) < (lastTurns[$1], $1) }.compactMap { line in
            let places = lines[line].parties.lazy.map { party in
                Place(line: line, party: party, institution: lines[line].institution(of: party))
            }
            return places.first(where: mayHaveTurn)
        }
    }

    mutating func join(
        _ continuation: CheckedContinuation<Bool, Never>, in place: Place, isContinued: Bool, after rounds: Int,
        at now: Monotonic
    ) -> UInt64 {
        lines[place.line].join(
            continuation, of: place.party, about: place.institution, isContinued: isContinued, after: rounds, at: now)
    }

    /// A call had its turn without waiting.
    mutating func noteTurn(in place: Place, at now: Monotonic) {
        lines[place.line].noteTurn(of: place.party, at: now)
    }

    /// The next call at this place, whose line then lets the others go first.
    mutating func removeFirst(in place: Place, at now: Monotonic) -> CheckedContinuation<Bool, Never>? {
        turns += 1
        lastTurns[place.line] = turns
        return lines[place.line].removeFirst(of: place.party, at: now)
    }

    /// Takes one out who has waited for too long.
    mutating func remove(_ id: UInt64, in place: Place) -> CheckedContinuation<Bool, Never>? {
        lines[place.line].remove(id, of: place.party)
    }
}
