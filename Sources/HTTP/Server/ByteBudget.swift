import Synchronization

/// Counts bytes that are held in memory for clients, on all loops: of answers that they have not read yet, or of
/// requests that they have not sent to the end. When they are too many of one owner, his connection that has had some
/// for longest is hung up on; when they are too many in all, those of the owner who has most.
///
/// It is used only for what does not arrive or leave at once, so that an honest client costs nothing here.
final class ByteBudget: Sendable {
    private struct Share {
        let number: UInt64
        let owner: UInt64
        var bytes: Int
        let hangUp: @Sendable (_ number: UInt64) -> Void
    }

    /// An owner's shares in the order in which they began; those that ended meanwhile are skipped.
    private struct Line {
        private var numbers: [UInt64] = []
        private var start = 0

        mutating func append(_ number: UInt64) { numbers.append(number) }

        /// Removes and returns the oldest that has not ended.
        mutating func removeFirst(heldIn shares: [UInt64: Share]) -> UInt64? {
            defer { compact() }
            while start < numbers.count {
                start += 1
                if shares[numbers[start - 1]] != nil { return numbers[start - 1] }
            }
            return nil
        }

        /// Drops those at the front that have ended.
        mutating func dropEnded(by shares: [UInt64: Share]) {
            while start < numbers.count, shares[numbers[start]] == nil { start += 1 }
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
        var shares = 0
        var line = Line()
    }

    private struct State {
        var shares: [UInt64: Share] = [:]
        var owners: [UInt64: Owner] = [:]
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

    /// Bytes that are held, and connections that were hung up on so far.
    var reading: (bytes: Int, hungUp: Int) { state.withLock { ($0.bytes, $0.hungUp) } }

    /// Counts so many bytes from now on, and gives the number under which they are known; `hangUp` is called with it on
    /// whatever thread has found that there are too many.
    func begin(_ bytes: Int, of owner: UInt64, hangUp: @escaping @Sendable (_ number: UInt64) -> Void) -> UInt64 {
        let (number, excess) = state.withLock { state in
            state.lastNumber += 1
            let number = state.lastNumber
            state.shares[number] = Share(number: number, owner: owner, bytes: bytes, hangUp: hangUp)
            state.bytes += bytes
            state.owners[owner, default: Owner()].bytes += bytes
            state.owners[owner]?.shares += 1
            state.owners[owner]?.line.append(number)
            return (number, removeExcess(from: &state, of: owner))
        }
        for share in excess { share.hangUp(share.number) }
        return number
    }

    /// Sets how many bytes are held now.
    func change(_ number: UInt64, to bytes: Int) {
        let excess = state.withLock { state -> [Share] in
            guard let share = state.shares[number] else { return [] }
            let difference = bytes - share.bytes
            state.shares[number]?.bytes = bytes
            state.bytes += difference
            state.owners[share.owner]?.bytes += difference
            return difference > 0 ? removeExcess(from: &state, of: share.owner) : []
        }
        for share in excess { share.hangUp(share.number) }
    }

    /// Stops counting: nothing is held any more, or the connection is gone.
    func end(_ number: UInt64) {
        state.withLock { state in
            if state.shares[number] != nil { _ = remove(number, from: &state) }
        }
    }

    /// Removes shares until the others are within the bounds.
    private func removeExcess(from state: inout State, of owner: UInt64) -> [Share] {
        var excess: [Share] = []
        while (state.owners[owner]?.bytes ?? 0) > bytesPerOwnerMax,
            let number = state.owners[owner]?.line.removeFirst(heldIn: state.shares)
        {
            excess.append(remove(number, from: &state))
        }
        // A little more than has to be, so that the owners are not gone through for every byte.
        let goal = bytesMax - bytesMax / 16
        while state.bytes > (excess.isEmpty ? bytesMax : goal),
            let most = state.owners.max(by: { $0.value.bytes < $1.value.bytes })
        {
            while state.bytes > goal, let number = state.owners[most.key]?.line.removeFirst(heldIn: state.shares) {
                excess.append(remove(number, from: &state))
            }
        }
        state.hungUp += excess.count
        return excess
    }

    private func remove(_ number: UInt64, from state: inout State) -> Share {
        guard let share = state.shares.removeValue(forKey: number) else { preconditionFailure("a share") }
        state.bytes -= share.bytes
        state.owners[share.owner]?.bytes -= share.bytes
        state.owners[share.owner]?.shares -= 1
        if state.owners[share.owner]?.shares == 0 {
            state.owners[share.owner] = nil
        } else {
            state.owners[share.owner]?.line.dropEnded(by: state.shares)
        }
        return share
    }
}
