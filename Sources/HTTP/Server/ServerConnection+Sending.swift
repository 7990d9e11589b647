import Transport

// Sending.
extension ServerConnection {
    /// Does something that may answer requests, then sends all the answers in one go.
    func work(_ body: () -> Void) throws {
        assert(loopServer.outbox.isEmpty, "the outbox serves one connection at a time")
        isWorking = true
        body()
        isWorking = false
        if !loopServer.outbox.isEmpty { try sendOutbox() }
        if closesWhenSent, unsent.isEmpty { try linger() }
    }

    func sendOutbox() throws {
        defer {
            loopServer.outbox.removeAll(keepingCapacity: true)
            if !loopServer.largeBody.isEmpty { loopServer.largeBody = [] }
        }
        guard let interest = try unsent.send(loopServer.outbox, then: loopServer.largeBody, on: stream) else {
            return dues.answersAreGone(from: loopServer.server.unsent)
        }
        countUnsent()
        deadline = loopServer.loop.now + loopServer.server.configuration.writeDeadline
        try wait(for: interest)
    }

    func flush() throws {
        if let interest = try unsent.flush(on: stream) {
            countUnsent()
            return try wait(for: interest)
        }
        dues.answersAreGone(from: loopServer.server.unsent)
        if closesWhenSent { return try linger() }
        deadline = deadlineBehindAnswers
        try takeKept()
        if isCurious { try wait(for: .readable) }
    }

    /// Tells how many bytes wait to be taken.
    func countUnsent() {
        let connection = LoopBound(self, on: loopServer.loop)
        // From whatever thread, and never in the middle of something: its loop will come to it.
        dues.count(unsent.count, in: loopServer.server.unsent) { [loop = loopServer.loop] number in
            loop.execute { connection.value.isTooSlow(number) }
        }
    }

    /// Others need the room of the bytes that the client does not take.
    func isTooSlow(_ number: UInt64) {
        // It may have taken them meanwhile.
        guard dues.unsentNumber == number, phase != .closed, phase != .unheard, !unsent.isEmpty else { return }
        stream.abandonUnsent()
        giveUp()
    }

    /// The deadline that the write deadline had replaced. Nothing was read meanwhile, so the client has its time anew.
    var deadlineBehindAnswers: Monotonic {
        switch phase {
        case .receiving: loopServer.loop.now + loopServer.server.configuration.headerDeadline
        case .responding: loopServer.handlerDeadline
        case .holding: Monotonic(nanoseconds: .max)
        case .resting: loopServer.loop.now + loopServer.server.configuration.refusalRest
        default: loopServer.idleDeadline
        }
    }

    /// Ends our side and reads the client's to its end: closing at once would reset the connection, and the reset
    /// would destroy an answer that the client has not read yet (RFC 9112 §9.6).
    func linger() throws {
        try linger(for: loopServer.server.configuration.lingerDeadline)
    }

    func linger(for time: Duration) throws {
        phase = .lingering
        forgetUnfinished()
        deadline = loopServer.loop.now + time
        stream.finishWriting()
        try wait(for: .readable)
    }

    func wait(for wanted: Interest) throws {
        guard wanted != interest, let registration else { return }
        interest = wanted
        try loopServer.loop.setInterest(wanted, of: registration)
    }
}
