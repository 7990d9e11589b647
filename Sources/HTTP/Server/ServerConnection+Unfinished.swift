import Transport

// What is held of requests that have not come to the end, or wait behind another one.
extension ServerConnection {
    /// Counts what is held now, unless it is little.
    func countUnfinished() {
        // None where its client is gone.
        let held = registration == nil ? 0 : reader.bytesHeld + unparsed.bytesHeld
        let budget = loopServer.server.unfinished
        guard held > loopServer.server.configuration.unfinishedBytesFree else {
            if unfinishedNumber != 0 { budget.end(unfinishedNumber) }
            unfinishedNumber = 0
            return
        }
        guard unfinishedNumber == 0 else { return budget.change(unfinishedNumber, to: held) }
        let connection = LoopBound(self, on: loopServer.loop)
        // From whatever thread, and never in the middle of something: its loop will come to it.
        unfinishedNumber = budget.begin(held, of: sender) { [loop = loopServer.loop] number in
            loop.execute { connection.value.holdsTooMuch(number) }
        }
    }

    /// The owner of what was received: the user who asked last here, else the address. A proxy's connections are many
    /// clients', each with its own.
    private var sender: UInt64 {
        guard loopServer.server.configuration.isProxy(peer) else { return dues.owner }
        var hasher = Hasher()
        hasher.combine(ObjectIdentifier(self))
        return UInt64(truncatingIfNeeded: Int64(hasher.finalize()))
    }

    /// Others need the room of what is held here.
    func holdsTooMuch(_ number: UInt64) {
        // It may have come to its end meanwhile.
        guard unfinishedNumber == number else { return }
        let isReceiving = phase == .receiving && unsent.isEmpty
        forgetUnfinished()
        guard isReceiving else {
            if !unsent.isEmpty { stream.abandonUnsent() }
            return giveUp()
        }
        refuse(MessageFault(.serviceUnavailable, "too much of other requests is on its way"))
    }

    /// Lets go of it. What follows cannot be understood any more.
    func forgetUnfinished() {
        unparsed = KeptBytes()
        reader = RequestReader()
        if unfinishedNumber != 0 { loopServer.server.unfinished.end(unfinishedNumber) }
        unfinishedNumber = 0
    }
}
