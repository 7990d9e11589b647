import BelvoGate
import FoundationEssentials
import Logging
import MerchantModel
import MerchantStore
import Payments
import Synchronization
import Transport

/// Polls every record whose poll is due: claims them for a while, polls several at once, records what it finds.
///
/// Most polls find nothing new. Those are not written one by one: the pass ends with one statement that sets the next
/// poll of all of them.
struct Poller<Record: Sendable>: DueWorker {
    let name: String
    let table: DueTable
    /// Polls at a time: each waits for Belvo most of its life.
    let width: Int
    let passesMax: Int
    let log: Logger
    /// The gate that the polls pass on their way to Belvo; nil where they go elsewhere.
    let gate: BelvoGate?
    /// Whether polls would soon have their turns at the gate: else those that are the most urgent by then wait in the
    /// database.
    let hasTurns: @Sendable () -> Bool
    /// For how long after the claim polls may begin, so that each ends before its lease does.
    let window: Duration
    let claim: @Sendable (_ limit: Int) async throws -> [Stored<Record>]
    let poll: @Sendable (Stored<Record>) async throws -> PollOutcome
    /// Sets the next polls of those that were left as they are, in one statement.
    let reschedule: @Sendable ([Reschedule]) async throws -> Void
    let id: @Sendable (Record) -> UUID
    /// Records with a lower one are polled first; of the same turn the older one.
    let turn: @Sendable (Stored<Record>) -> Int64
    /// The user whose record it is: users have their polls in turn, so that one whose records Belvo is slow to show
    /// keeps no others waiting.
    let owner: @Sendable (Record) -> UserSubject?
    /// The institution that a poll asks Belvo about: while others' records wait in a pass, those of one that Belvo is
    /// slow to show have half of its places.
    let institution: @Sendable (Record) -> UUID?
    /// How long a record rests of whose user as many are being read as may be.
    private static var pauseOfOne: Duration { .seconds(2) }
    private let owners: PollsByOwner
    private let batchSizer: BatchSizer
    private let lastFirst = LastFirst()
    private let hung = HungRecords()
    /// A poll that takes so long and finds nothing has hung.
    private let hungTime: Duration

    /// - Parameter limit: records of one pass at most.
    /// - Parameter callsOfPoll: calls to Belvo that a poll takes.
    init(
        name: String, table: DueTable, limit: Int, width: Int, passesMax: Int = 4, log: Logger, gate: BelvoGate?,
        callsOfPoll: Int = 1, hasTurns: @escaping @Sendable () -> Bool = { true }, window: Duration = .seconds(5),
        claim: @escaping @Sendable (_ limit: Int) async throws -> [Stored<Record>],
        poll: @escaping @Sendable (Stored<Record>) async throws -> PollOutcome,
        reschedule: @escaping @Sendable ([Reschedule]) async throws -> Void, id: @escaping @Sendable (Record) -> UUID,
        turn: @escaping @Sendable (Stored<Record>) -> Int64 = { _ in 0 },
        owner: @escaping @Sendable (Record) -> UserSubject? = { _ in nil },
        institution: @escaping @Sendable (Record) -> UUID? = { _ in nil }, hungTime: Duration = .seconds(5)
    ) {
        self.name = name
        self.table = table
        self.width = width
        self.passesMax = passesMax
        self.log = log
        self.gate = gate
        self.hasTurns = hasTurns
        self.window = window
        self.claim = claim
        self.poll = poll
        self.reschedule = reschedule
        self.id = id
        self.turn = turn
        self.owner = owner
        self.institution = institution
        owners = PollsByOwner(
            interval: gate?.workOfUserInterval.map { $0 * callsOfPoll }, now: gate?.now ?? Monotonic.now)
        batchSizer = BatchSizer(max: limit, min: width)
        self.hungTime = hungTime
    }

    func runOnce() async throws -> Pass {
        guard hasTurns() else { return Pass() }
        let isShut = gate?.isShut ?? false
        let limit = gate?.pollsMax(of: batchSizer.limit) ?? batchSizer.limit
        let start = Monotonic.now()
        let claimed = try await claim(limit)
        guard !claimed.isEmpty else { return Pass() }
        let resting = hung.resting(at: start)
        var left = inTurn(claimed.filter { !resting.contains(id($0.record)) }, isShut: isShut)
        var pass = Pass(wasFull: claimed.count == limit && !isShut)
        // Another instance, which Belvo may answer, has them first; here they come behind what is due.
        let others = claimed.filter { resting.contains(id($0.record)) }
            .map { Reschedule(id: id($0.record), version: $0.version, wait: .zero, due: $0.due) }
        if !others.isEmpty { try await reschedule(others) }
        var reschedules: [Reschedule] = []
        /// Institutions of which as many polls were under way as may be.
        var crowded: Set<UUID> = []
        await withTaskGroup(of: (UUID?, Attempt).self) { group in
            var underWay = 0
            var underWayAt: [UUID: Int] = [:]
            func mayBegin(_ stored: Stored<Record>) -> Bool {
                if let institution = institution(stored.record),
                    underWayAt[institution, default: 0] >= max(1, width / 2)
                {
                    crowded.insert(institution)
                    return false
                }
                return owners.begin(owner(stored.record))
            }
            func fill() {
                while underWay < width,
                    let place = left.firstIndex(where: mayBegin)
                        ?? left.firstIndex(where: { owners.begin(owner($0.record)) })
                {
                    let next = left.remove(at: place)
                    let institution = institution(next.record)
                    underWay += 1
                    if let institution { underWayAt[institution, default: 0] += 1 }
                    group.addTask {
                        defer { owners.end(owner(next.record)) }
                        return (institution, await attempt(next))
                    }
                }
            }
            fill()
            for await (institution, attempt) in group {
                underWay -= 1
                if let institution { underWayAt[institution, default: 1] -= 1 }
                pass.examined += 1
                switch attempt {
                case .failed: pass.failed += 1
                case .done: break
                case .rescheduled(let found):
                    // What the gate keeps back does not wait for what hangs: another instance may be let in.
                    if isShut, (try? await reschedule([found])) != nil { break }
                    reschedules.append(found)
                }
                if Monotonic.now() - start < window { fill() }
            }
        }
        batchSizer.note(begun: pass.examined, left: left.count { !owners.isFull(owner($0.record)) })
        // Belvo is slow, or has no turns for us: another instance may take them, or this one when Belvo is faster.
        // What its user or institution has too much of under way comes behind what the others have due meanwhile.
        reschedules += left.map { stored in
            let id = id(stored.record)
            func due(in wait: Duration) -> Reschedule {
                Reschedule(id: id, version: stored.version, wait: wait, due: stored.due)
            }
            if owners.isFull(owner(stored.record)) { return due(in: Self.pauseOfOne) }
            if institution(stored.record).map(crowded.contains) ?? false { return due(in: .zero) }
            return .unread(id, version: stored.version, due: stored.due)
        }
        if !reschedules.isEmpty { try await reschedule(reschedules) }
        return pass
    }

    /// UPDATE … RETURNING gives rows in whatever order they were reached: by id, which is by age, the same records are
    /// polled in the same order again. Each user's first record comes before any second one.
    ///
    /// While the gate is shut the first one finds out whether Belvo is back, and may wait for that until its deadline,
    /// though another instance would read it at once: it is another record each time.
    private func inTurn(_ claimed: [Stored<Record>], isShut: Bool) -> [Stored<Record>] {
        var polls: [UserSubject: Int] = [:]
        var byAge = claimed.sorted { (turn($0), id($0.record)) < (turn($1), id($1.record)) }
        if isShut {
            let last = lastFirst.id.withLock { $0 }
            let place = byAge.firstIndex { stored in last.map { $0 < id(stored.record) } ?? true } ?? 0
            byAge = Array(byAge[place...] + byAge[..<place])
            if let first = byAge.first { lastFirst.id.withLock { $0 = id(first.record) } }
        }
        let places = byAge.enumerated().map { place, stored in
            guard let owner = owner(stored.record) else { return (round: 0, place: place) }
            polls[owner, default: 0] += 1
            return (round: polls[owner, default: 1], place: place)
        }
        return places.sorted { ($0.round, $0.place) < ($1.round, $1.place) }.map { byAge[$0.place] }
    }

    private enum Attempt {
        case done
        case rescheduled(Reschedule)
        case failed
    }

    /// One poll. A failure leaves the record as it is; its lease brings it back.
    private func attempt(_ stored: Stored<Record>) async -> Attempt {
        await Trace.$current.withValue(RequestID.made()) { await attemptTraced(stored) }
    }

    private func attemptTraced(_ stored: Stored<Record>) async -> Attempt {
        let begin = Monotonic.now()
        do {
            let wait: Duration?
            switch try await poll(stored) {
            case .recorded: return .done
            case .unread: return .rescheduled(.unread(id(stored.record), version: stored.version, due: stored.due))
            case .unchanged(let found): wait = found
            }
            let end = Monotonic.now()
            if end - begin >= hungTime {
                hung.note(id(stored.record), at: end)
                return .rescheduled(
                    Reschedule(
                        id: id(stored.record), version: stored.version,
                        wait: wait.map { $0 <= HungRecords.rest ? .zero : $0 }, due: stored.due))
            }
            return .rescheduled(Reschedule(id: id(stored.record), version: stored.version, wait: wait, due: stored.due))
        } catch {
            let id = id(stored.record).uuidString.lowercased()
            log.warning(
                "poll.failed", metadata: ["worker": "\(name)", "record_id": "\(id)", "reason": "\(error)"])
            return .failed
        }
    }
}

/// The records whose reading has hung here: Belvo may answer another instance, which gets them first.
private final class HungRecords: Sendable {
    /// For how long they are left to others.
    static let rest = Duration.seconds(5)

    private let ends = Mutex<[UUID: Monotonic]>([:])

    func note(_ id: UUID, at now: Monotonic) { ends.withLock { $0[id] = now + Self.rest } }

    func resting(at now: Monotonic) -> Set<UUID> {
        ends.withLock { ends in
            ends = ends.filter { now < $0.value }
            return Set(ends.keys)
        }
    }
}

/// The record that came first in the last pass of one poller while the gate was shut.
private final class LastFirst: Sendable {
    let id = Mutex<UUID?>(nil)
}

/// How many polls each user's records have under way, in all passes of one poller, and have a second.
private final class PollsByOwner: Sendable {
    /// However many records of one user Belvo does not show in time, the calls are left to the others.
    private static let mostOfOne = 3

    private struct State {
        var counts: [UserSubject: Int] = [:]
        /// However many of them there are, they leave the budget of calls to the others.
        var buckets: TokenBuckets?

        func isFull(_ owner: UserSubject, at now: Monotonic) -> Bool {
            if counts[owner, default: 0] >= mostOfOne { return true }
            return buckets?.wait(CallOrigin.user(owner).party, at: now.nanoseconds) != nil
        }
    }

    private let state: Mutex<State>
    private let now: @Sendable () -> Monotonic

    /// - Parameter interval: how long after a poll of one user's records the next one may begin, four at once at most;
    ///   nil is no limit.
    init(interval: Duration?, now: @escaping @Sendable () -> Monotonic) {
        self.now = now
        let buckets = interval.map { interval in
            TokenBuckets(
                interval: interval.wholeNanoseconds, window: 4 * interval.wholeNanoseconds, countMax: 65_536)
        }
        state = Mutex(State(buckets: buckets))
    }

    /// False where the user has as many as one may have; what belongs to no user may always begin.
    func begin(_ owner: UserSubject?) -> Bool {
        guard let owner else { return true }
        let now = now()
        return state.withLock { state in
            guard !state.isFull(owner, at: now) else { return false }
            _ = state.buckets?.take(CallOrigin.user(owner).party, at: now.nanoseconds)
            state.counts[owner, default: 0] += 1
            return true
        }
    }

    func isFull(_ owner: UserSubject?) -> Bool {
        guard let owner else { return false }
        let now = now()
        return state.withLock { $0.isFull(owner, at: now) }
    }

    func end(_ owner: UserSubject?) {
        guard let owner else { return }
        state.withLock { state in
            let rest = state.counts[owner, default: 1] - 1
            state.counts[owner] = rest > 0 ? rest : nil
        }
    }
}
