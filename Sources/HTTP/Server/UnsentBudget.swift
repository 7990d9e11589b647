import Synchronization

/// The bytes of answers that clients have not taken yet, on all loops: where they are too many in all, or of one owner,
/// the connection that has had its answer to take for longest is hung up on.
///
/// It is asked only when the network does not take an answer at once, so that a client which reads costs nothing here.
final class UnsentBudget: Sendable {
    private struct Debt {
        let number: UInt64
        let owner: UInt64
        var bytes: Int
        let hangUp: @Sendable (_ number: UInt64) -> Void
    }

    /// Debts in the order in which they began; those that are paid meanwhile are passed over.
    private struct Line {
        private var numbers: [UInt64] = []
        private var start = 0

        mutating func append(_ number: UInt64) { numbers.append(number) }

        /// The oldest that is still owed, out of the line.
        mutating func removeFirst(owedIn debts: [UInt64: Debt]) -> UInt64? {
            defer { compact() }
            while start < numbers.count {
                start += 1
                if debts[numbers[start - 1]] != nil { return numbers[start - 1] }
            }
            return nil
        }

        /// Those that were paid at the front are released.
        mutating func dropPaid(by debts: [UInt64: Debt]) {
            while start < numbers.count, debts[numbers[start]] == nil { start += 1 }
            compact()
        }

        private mutating func compact() {
            guard start > 64, start * 2 > numbers.count else { return }
            numbers.removeFirst(start)
            start = 0
        }
    }

    private struct Owner {
        var bytes = 0
        var debts = 0
        var line = Line()
    }

    private struct State {
        var debts: [UInt64: Debt] = [:]
        var owners: [UInt64: Owner] = [:]
        var line = Line()
        var bytes = 0
        var lastNumber: UInt64 = 0
        var hungUp = 0
    }

    private let bytesMax: Int
    private let bytesPerOwnerMax: Int
    private let state = Mutex(State())

    init(bytesMax: Int, bytesPerOwnerMax: Int) {
        self.bytesMax = bytesMax
        self.bytesPerOwnerMax = bytesPerOwnerMax
    }

    /// Bytes that are owed, and connections that were hung up on so far.
    var reading: (bytes: Int, hungUp: Int) { state.withLock { ($0.bytes, $0.hungUp) } }

    /// Counts so many bytes from now on, and gives the number under which they are known; `hangUp` is called with it on
    /// whatever thread has found that there are too many.
    func begin(_ bytes: Int, of owner: UInt64, hangUp: @escaping @Sendable (_ number: UInt64) -> Void) -> UInt64 {
        let (number, late) = state.withLock { state in
            state.lastNumber += 1
            let number = state.lastNumber
            state.debts[number] = Debt(number: number, owner: owner, bytes: bytes, hangUp: hangUp)
            state.bytes += bytes
            state.line.append(number)
            state.owners[owner, default: Owner()].bytes += bytes
            state.owners[owner]?.debts += 1
            state.owners[owner]?.line.append(number)
            return (number, excess(&state, owner))
        }
        for debt in late { debt.hangUp(debt.number) }
        return number
    }

    /// So many of them are left, or have become.
    func change(_ number: UInt64, to bytes: Int) {
        let late = state.withLock { state -> [Debt] in
            guard let debt = state.debts[number] else { return [] }
            let difference = bytes - debt.bytes
            state.debts[number]?.bytes = bytes
            state.bytes += difference
            state.owners[debt.owner]?.bytes += difference
            return difference > 0 ? excess(&state, debt.owner) : []
        }
        for debt in late { debt.hangUp(debt.number) }
    }

    /// None are left, or none are wanted any more.
    func end(_ number: UInt64) {
        state.withLock { state in
            guard state.debts[number] != nil else { return }
            _ = remove(number, from: &state)
            state.line.dropPaid(by: state.debts)
        }
    }

    /// Takes out who has had most time until what is left is within the bounds.
    private func excess(_ state: inout State, _ owner: UInt64) -> [Debt] {
        var late: [Debt] = []
        while (state.owners[owner]?.bytes ?? 0) > bytesPerOwnerMax,
            let number = state.owners[owner]?.line.removeFirst(owedIn: state.debts)
        {
            late.append(remove(number, from: &state))
        }
        while state.bytes > bytesMax, let number = state.line.removeFirst(owedIn: state.debts) {
            late.append(remove(number, from: &state))
        }
        state.hungUp += late.count
        return late
    }

    private func remove(_ number: UInt64, from state: inout State) -> Debt {
        guard let debt = state.debts.removeValue(forKey: number) else { preconditionFailure("a debt that is owed") }
        state.bytes -= debt.bytes
        state.owners[debt.owner]?.bytes -= debt.bytes
        state.owners[debt.owner]?.debts -= 1
        if state.owners[debt.owner]?.debts == 0 {
            state.owners[debt.owner] = nil
        } else {
            state.owners[debt.owner]?.line.dropPaid(by: state.debts)
        }
        return debt
    }
}
