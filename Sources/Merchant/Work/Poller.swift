import FoundationEssentials
import Logging
import Synchronization
import Transport

/// Looks at every record whose look is due: claims them for a while, looks at several at once, records what it finds.
///
/// Most looks find nothing new. Those are not written one by one: the pass ends with one statement that sets the next
/// look of all of them.
struct Poller<Record: Sendable>: DueWorker {
    let name: String
    let table: DueTable
    /// Looks at a time: each waits for Belvo most of its life.
    let width: Int
    let log: Logger
    /// What the looks pass on their way to Belvo; nothing where they go elsewhere.
    let gate: BelvoGate?
    /// For how long after the claim looks may begin, so that each ends before its lease does.
    let window: Duration
    let claim: @Sendable (_ limit: Int) async throws -> [Stored<Record>]
    let look: @Sendable (Stored<Record>) async throws -> Look
    /// Sets the next looks of those that were left as they are, in one statement.
    let rest: @Sendable ([Rest]) async throws -> Void
    let id: @Sendable (Record) -> UUID
    private let pace: Pace

    /// - Parameter limit: records of one pass at most.
    init(
        name: String, table: DueTable, limit: Int, width: Int, log: Logger, gate: BelvoGate?,
        window: Duration = .seconds(5), claim: @escaping @Sendable (_ limit: Int) async throws -> [Stored<Record>],
        look: @escaping @Sendable (Stored<Record>) async throws -> Look,
        rest: @escaping @Sendable ([Rest]) async throws -> Void, id: @escaping @Sendable (Record) -> UUID
    ) {
        self.name = name
        self.table = table
        self.width = width
        self.log = log
        self.gate = gate
        self.window = window
        self.claim = claim
        self.look = look
        self.rest = rest
        self.id = id
        pace = Pace(max: limit, min: width)
    }

    func runOnce() async throws -> Pass {
        let isShut = gate?.isShut ?? false
        let limit = isShut ? min(pace.limit, pollsWhileShut) : pace.limit
        let start = Monotonic.now()
        // UPDATE … RETURNING gives rows in whatever order they were reached: by id, which is by age, the same records
        // are looked at in the same order again.
        var left = try await claim(limit).sorted { id($0.record) < id($1.record) }[...]
        guard !left.isEmpty else { return Pass() }
        var pass = Pass(wasFull: left.count == limit && !isShut)
        var rests: [Rest] = []
        await withTaskGroup { group in
            for stored in left.prefix(width) { group.addTask { await attempt(stored) } }
            left = left.dropFirst(width)
            for await attempt in group {
                pass.examined += 1
                switch attempt {
                case .failed: pass.failed += 1
                case .done: break
                case .resting(let rest): rests.append(rest)
                }
                guard Monotonic.now() - start < window, let next = left.popFirst() else { continue }
                group.addTask { await self.attempt(next) }
            }
        }
        pace.note(begun: pass.examined, left: left.count)
        // Belvo is slow, or has no turns for us: somebody else may have them, or we when it is faster.
        rests += left.map { Rest(id: id($0.record), version: $0.version, wait: .zero) }
        if !rests.isEmpty { try await rest(rests) }
        return pass
    }

    private enum Attempt {
        case done
        case resting(Rest)
        case failed
    }

    /// One look. A failure leaves the record as it is; its lease brings it back.
    private func attempt(_ stored: Stored<Record>) async -> Attempt {
        do {
            guard case .unchanged(let wait) = try await look(stored) else { return .done }
            return .resting(Rest(id: id(stored.record), version: stored.version, wait: wait))
        } catch {
            let id = id(stored.record).uuidString.lowercased()
            log.warning(
                "look.failed", metadata: ["worker": "\(name)", "record_id": "\(id)", "reason": "\(error)"])
            return .failed
        }
    }
}

/// Records of one pass while Belvo is away: looks end at the gate then, and only those matter that find out whether
/// Belvo is back, or whose record has lasted too long.
private let pollsWhileShut = 8

/// How many records a pass takes: as many as the last one had time for, and twice as many after one that had time for
/// all that it took.
private final class Pace: Sendable {
    private let max: Int
    private let min: Int
    private let current: Mutex<Int>

    var limit: Int { current.withLock { $0 } }

    init(max: Int, min: Int) {
        self.max = max
        self.min = min
        current = Mutex(max)
    }

    func note(begun: Int, left: Int) {
        current.withLock { $0 = left > 0 ? Swift.max(begun, min) : Swift.min($0 * 2, max) }
    }
}
