import Synchronization

/// Counts the bytes of answers that clients have not read yet, on all loops. When they are too many in all, or of one
/// owner, the connection whose answer has waited longest is closed.
///
/// It is used only when the network does not take an answer at once, so that a client which reads costs nothing here.
final class UnsentBudget: Sendable {
    private struct UnsentAnswer {
        let number: UInt64
        let owner: UInt64
        var bytes: Int
        let hangUp: @Sendable (_ number: UInt64) -> Void
    }

    /// Unsent answers in the order in which they began; those that were sent meanwhile are skipped.
    private struct Line {
        private var numbers: [UInt64] = []
        private var start = 0

        mutating func append(_ number: UInt64) { numbers.append(number) }

        /// Removes and returns the oldest that is not sent yet.
        mutating func removeFirst(unsentIn answers: [UInt64: UnsentAnswer]) -> UInt64? {
            defer { compact() }
            while start < numbers.count {
                start += 1
                if answers[numbers[start - 1]] != nil { return numbers[start - 1] }
            }
            return nil
        }

        /// Drops the answers at the front that were sent.
        mutating func dropSent(by answers: [UInt64: UnsentAnswer]) {
            while start < numbers.count, answers[numbers[start]] == nil { start += 1 }
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
        var answers = 0
        var line = Line()
    }

    private struct State {
        var answers: [UInt64: UnsentAnswer] = [:]
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

    /// Bytes that are not sent yet, and connections that were hung up on so far.
    var reading: (bytes: Int, hungUp: Int) { state.withLock { ($0.bytes, $0.hungUp) } }

    /// Counts so many bytes from now on, and gives the number under which they are known; `hangUp` is called with it on
    /// whatever thread has found that there are too many.
    func begin(_ bytes: Int, of owner: UInt64, hangUp: @escaping @Sendable (_ number: UInt64) -> Void) -> UInt64 {
        let (number, late) = state.withLock { state in
            state.lastNumber += 1
            let number = state.lastNumber
            state.answers[number] = UnsentAnswer(number: number, owner: owner, bytes: bytes, hangUp: hangUp)
            state.bytes += bytes
            state.line.append(number)
            state.owners[owner, default: Owner()].bytes += bytes
            state.owners[owner]?.answers += 1
            state.owners[owner]?.line.append(number)
            return (number, excess(&state, owner))
        }
        for answer in late { answer.hangUp(answer.number) }
        return number
    }

    /// Sets how many bytes of an answer are left to send.
    func change(_ number: UInt64, to bytes: Int) {
        let late = state.withLock { state -> [UnsentAnswer] in
            guard let answer = state.answers[number] else { return [] }
            let difference = bytes - answer.bytes
            state.answers[number]?.bytes = bytes
            state.bytes += difference
            state.owners[answer.owner]?.bytes += difference
            return difference > 0 ? excess(&state, answer.owner) : []
        }
        for answer in late { answer.hangUp(answer.number) }
    }

    /// Stops counting an answer: it was sent, or its connection is gone.
    func end(_ number: UInt64) {
        state.withLock { state in
            guard state.answers[number] != nil else { return }
            _ = remove(number, from: &state)
            state.line.dropSent(by: state.answers)
        }
    }

    /// Removes the answers that have waited longest until the others are within the bounds.
    private func excess(_ state: inout State, _ owner: UInt64) -> [UnsentAnswer] {
        var late: [UnsentAnswer] = []
        while (state.owners[owner]?.bytes ?? 0) > bytesPerOwnerMax,
            let number = state.owners[owner]?.line.removeFirst(unsentIn: state.answers)
        {
            late.append(remove(number, from: &state))
        }
        while state.bytes > bytesMax, let number = state.line.removeFirst(unsentIn: state.answers) {
            late.append(remove(number, from: &state))
        }
        state.hungUp += late.count
        return late
    }

    private func remove(_ number: UInt64, from state: inout State) -> UnsentAnswer {
        guard let answer = state.answers.removeValue(forKey: number) else { preconditionFailure("an unsent answer") }
        state.bytes -= answer.bytes
        state.owners[answer.owner]?.bytes -= answer.bytes
        state.owners[answer.owner]?.answers -= 1
        if state.owners[answer.owner]?.answers == 0 {
            state.owners[answer.owner] = nil
        } else {
            state.owners[answer.owner]?.line.dropSent(by: state.answers)
        }
        return answer
    }
}
