import Transport

// Clients that ask too often.
extension ServerConnection {
    /// Takes note of a refusal; false when it is the last one on this connection.
    ///
    /// A refusal takes as much of the loop's time as an honest answer, and a client that goes on without reading them
    /// could have a hundred thousand in a second. So after some in a row nothing is read for a while: the client was
    /// told to wait anyway.
    func staysRefused() -> Bool {
        isRefused = false
        refusals += 1
        let limits = loopServer.server.configuration
        guard refusals < limits.refusalsMax else { return false }
        guard refusals > limits.refusalsAtOnceMax else { return true }
        phase = .resting
        deadline = loopServer.loop.now + limits.refusalRest
        return true
    }

    func endRest() {
        phase = .idle
        deadline = loopServer.idleDeadline
        do {
            try takeKept()
            if isCurious { try wait(for: .readable) }
        } catch {
            giveUp()
        }
    }
}
