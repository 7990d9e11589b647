import Transport

// Setting up TLS.
extension ServerConnection {
    /// Whether the handshake may go on in this turn of the loop; in line it waits for `greetInTurn`.
    func mayGreet(_ readiness: Readiness) throws -> Bool {
        if isInLine {
            // A client that has gone is not worth a handshake.
            if readiness.contains(.hungUp) || readiness.contains(.peerFinished) { giveUp() }
            return false
        }
        if !hasBegunToGreet {
            // One that only connects has gone without a word.
            let hasGone = readiness.contains(.hungUp) || readiness.contains(.peerFinished)
            guard !hasGone, loopServer.server.admission.admitHandshake(of: peer, at: loopServer.loop.now) else {
                giveUp()
                return false
            }
            hasBegunToGreet = true
        }
        guard !loopServer.mayGreet(self) else { return true }
        isInLine = true
        try wait(for: .finished)
        return false
    }

    func greetInTurn() {
        isInLine = false
        guard phase == .greeting else { return }
        do { try goOn() } catch { giveUp() }
    }

    func greet() throws {
        switch try stream.handshake() {
        case .moved:
            phase = .idle
            deadline = loopServer.loop.now + loopServer.server.configuration.headerDeadline
            if loopServer.isDraining { closeUnlessBusy() }
            try wait(for: .readable)
        case .blocked(let interest): try wait(for: interest)
        case .ended: close()
        }
    }
}
