/// Calls of one kind that wait: of one party first come, first served; the parties in turn, one call each.
///
/// However many calls one party has in line, another one's first call waits for one call of each party and no more.
struct FairQueue: Sendable {
    private struct Waiter {
        let id: UInt64
        let continuation: CheckedContinuation<Bool, Never>
    }

    private var waiters: [UInt64: [Waiter]] = [:]
    /// The parties with calls in line, in the order of their turns.
    private var order: [UInt64] = []
    private var nextID: UInt64 = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// The parties with calls in line.
    var parties: [UInt64] { order }

    /// How many calls of the party are in line.
    func count(of party: UInt64) -> Int { waiters[party]?.count ?? 0 }

    mutating func join(_ continuation: CheckedContinuation<Bool, Never>, of party: UInt64) -> UInt64 {
        nextID += 1
        count += 1
        waiters[party, default: []].append(Waiter(id: nextID, continuation: continuation))
        if waiters[party]?.count == 1 { order.append(party) }
        return nextID
    }

    /// The next call of the party, which then has its turn behind all others.
    mutating func removeFirst(of party: UInt64) -> CheckedContinuation<Bool, Never>? {
        guard var line = waiters[party], let place = order.firstIndex(of: party) else { return nil }
        let first = line.removeFirst()
        count -= 1
        order.remove(at: place)
        if line.isEmpty {
            waiters[party] = nil
        } else {
            waiters[party] = line
            order.append(party)
        }
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
        } else {
            waiters[party] = line
        }
        return removed.continuation
    }
}
