import Glibc
import Transport

/// One connection to an origin: at rest in the pool, or at work on one exchange.
final class ClientConnection: EventHandler {
    private let stream: ByteStream
    private unowned let pool: ClientPool
    private var registration: Registration?
    private var interest: Interest = []
    private var waiter: CheckedContinuation<Void, any Error>?
    private var timer: LoopTimer?
    private var hasTimedOut = false
    private var isResting = false
    private var hasGivenTicket = false

    private init(stream: ByteStream, pool: ClientPool) {
        self.stream = stream
        self.pool = pool
    }

    /// Connects and, for https, proves who the server is. No byte of any request is sent before that.
    static func connect(
        to address: SocketAddress, pool: ClientPool, until deadline: Monotonic
    ) async throws -> ClientConnection {
        let stream = try ByteStream.connecting(to: address)
        let connection = ClientConnection(stream: stream, pool: pool)
        do {
            connection.registration = try pool.loop.register(stream.rawDescriptor, for: [], handler: connection)
            connection.startTimer(until: deadline)
            try await connection.wait(for: .writable)
            try stream.finishConnecting()
            try await connection.secure()
            connection.stopTimer()
            return connection
        } catch {
            connection.close()
            throw error
        }
    }

    /// The TLS session to resume next time, once: with TLS 1.3 it is there when the first answer is.
    func takeTicket() -> TLSTicket? {
        guard !hasGivenTicket else { return nil }
        hasGivenTicket = true
        return stream.tlsTicket
    }

    /// Sends one request and reads its answer, within the deadline.
    ///
    /// Returns whether the connection can be used again. After a throw it cannot.
    func exchange(
        _ request: Request, until deadline: Monotonic
    ) async throws(ClientError) -> (Response, keepAlive: Bool) {
        guard Monotonic.now() < deadline else {
            throw .notSent(reason: "the deadline passed before the request could be sent")
        }
        startTimer(until: deadline)
        defer { stopTimer() }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(512 + request.body.count)
        MessageSerializer.append(request, host: pool.client.origin.authority, to: &bytes)
        var failureWhileSending: (any Error)?
        do {
            try await send(bytes)
        } catch ClientError.notSent(let reason) {
            throw .notSent(reason: reason)
        } catch {
            // The server may have answered early and closed: its answer says more than the broken pipe.
            failureWhileSending = error
        }
        do {
            let answer = try await receiveAnswer(to: request.method)
            return (answer.response, answer.keepAlive && failureWhileSending == nil)
        } catch {
            throw hasTimedOut ? .timedOut : .answerLost(reason: "\(failureWhileSending ?? error)")
        }
    }

    /// Puts the connection to rest; false when it is broken.
    func rest(for duration: Duration) -> Bool {
        // Why it is broken is of no interest any more: the answer is there.
        guard (try? watch(.readable)) != nil else { return false }
        isResting = true
        timer = pool.loop.schedule(after: duration) { [self] in pool.drop(self) }
        return true
    }

    /// Takes the connection up again; false when it cannot be used any more.
    ///
    /// The server may have closed it without the event having been heard yet. A request sent into such a connection
    /// would be lost, and it would be unknown whether it arrived.
    func resume() -> Bool {
        isResting = false
        stopTimer()
        return isSilent
    }

    func handle(_ readiness: Readiness) {
        // At rest nothing is expected: the server is closing, or confused, or sends TLS tickets.
        if isResting { return restWasDisturbed() }
        if let waiter {
            self.waiter = nil
            waiter.resume()
        } else if interest != [] || readiness.contains(.hungUp) {
            // No caller waits yet; one that does finds the state by trying. What cannot be silenced is given up as
            // well.
            if readiness.contains(.hungUp) || (try? watch([])) == nil { unregister() }
        }
    }

    func close() {
        stopTimer()
        unregister()
    }

    private func restWasDisturbed() {
        if !isSilent { pool.drop(self) }
    }

    /// Whether the connection stands and the server says nothing out of turn. TLS tickets are taken in and do not
    /// count.
    private var isSilent: Bool {
        // An error says no: the connection is not used any more, whatever was wrong with it.
        if case .blocked(.readable)? = try? stream.read(into: pool.inbox) { true } else { false }
    }
}

// Waiting.
extension ClientConnection {
    private func startTimer(until deadline: Monotonic) {
        hasTimedOut = false
        timer = pool.loop.schedule(after: max(.zero, deadline - Monotonic.now())) { [self] in
            hasTimedOut = true
            waiter?.resume(throwing: WaitError.timedOut)
            waiter = nil
        }
    }

    private func stopTimer() {
        timer?.cancel()
        timer = nil
    }

    private func wait(for interest: Interest) async throws {
        if hasTimedOut { throw WaitError.timedOut }
        try watch(interest)
        try await withCheckedThrowingContinuation { waiter = $0 }
    }

    private func watch(_ wanted: Interest) throws(SystemError) {
        // Nothing is heard of what is not registered any more, so waiting would be in vain.
        guard let registration else { throw SystemError("epoll_wait", code: ENOTCONN) }
        guard wanted != interest else { return }
        interest = wanted
        try pool.loop.setInterest(wanted, of: registration)
    }

    private func unregister() {
        if let registration { pool.loop.deregister(registration) }
        registration = nil
    }
}

// Sending and receiving.
extension ClientConnection {
    private func secure() async throws {
        guard pool.client.origin.scheme == .https else { return }
        guard let context = pool.client.tls else { throw StreamError.tls("no trust configured for https") }
        try stream.startTLS(TLSSession(client: context, host: pool.client.origin.host, resuming: pool.ticket))
        while true {
            switch try stream.handshake() {
            case .moved: return
            case .blocked(let interest): try await wait(for: interest)
            case .ended: throw StreamError.tls("the server closed during the handshake")
            }
        }
    }

    private func send(_ bytes: [UInt8]) async throws {
        var sent = 0
        while sent < bytes.count {
            do {
                let step = try bytes.withUnsafeBytes { try stream.write(UnsafeRawBufferPointer(rebasing: $0[sent...])) }
                switch step {
                case .moved(let count): sent += count
                case .blocked(let interest): try await wait(for: interest)
                case .ended: throw StreamError.tls("the server has closed")
                }
            } catch {
                // The kernel took no byte, so the server cannot have seen one. TLS may have sent part of a record.
                if sent == 0, case StreamError.system? = error as? StreamError {
                    throw ClientError.notSent(reason: "\(error)")
                }
                throw error
            }
        }
    }

    private func receiveAnswer(to method: Method) async throws -> (response: Response, keepAlive: Bool) {
        var parser = ResponseParser(requestMethod: method, limits: pool.client.configuration.message)
        // The answer takes its time: a read at once would be in vain, unless the server has hung up already.
        if registration != nil { try await wait(for: .readable) }
        while true {
            switch try stream.read(into: pool.inbox) {
            case .moved(let count):
                var input = UnsafeRawBufferPointer(rebasing: pool.inbox[..<count])
                if case .response(let response, let keepAlive) = try parser.next(from: &input) {
                    // Bytes behind the answer belong to no request of ours.
                    return (response, keepAlive && input.isEmpty)
                }
            case .blocked(let interest): try await wait(for: interest)
            case .ended: return (try parser.end(), false)
            }
        }
    }
}
