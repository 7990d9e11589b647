import Transport

/// One client's connection: reads requests, has each answered, writes the answers in order.
///
/// It moves by events only. At any moment it does one of the things in `Phase`, and `deadline` is when it has to
/// be done with it.
final class ServerConnection: EventHandler {
    // Ten thousand of these may be idle, so the fields are small and stand in an order that leaves no gaps.
    //
    // Those that every request changes are not checked for exclusive access at run time (`@exclusivity(unchecked)`): a
    // check for each change took a tenth of a request's time outside the kernel. A connection belongs to one thread,
    // and what changes such a field in place, the reader or the kernel's send, calls nothing that comes back to the
    // connection.

    let peer: IPAddress
    /// Whether it counts among the connections. If not, it gets only the 503 and is closed.
    let isAdmitted: Bool
    @exclusivity(unchecked)
    var phase: Phase
    var interest: Interest = .readable
    @exclusivity(unchecked)
    var closesWhenSent = false
    /// Whether answers are being gathered in the outbox right now.
    @exclusivity(unchecked)
    var isWorking = false
    /// Whether a handler is at work, be it for a client that has given up or was told not to wait.
    @exclusivity(unchecked)
    var isHandling = false
    /// Whether the present request is refused because its client asks too often.
    @exclusivity(unchecked)
    var isRefused = false
    /// How many were in a row.
    @exclusivity(unchecked)
    var refusals: UInt8 = 0
    /// Whether it is to go on with what is kept in the loop's next turn.
    @exclusivity(unchecked)
    var isInLine = false
    /// Whether its client has begun a TLS handshake.
    var hasBegunToGreet = false
    @exclusivity(unchecked)
    var deadline: Monotonic
    let stream: ByteStream
    let loopServer: LoopServer
    var held: HeldRequest?
    /// Received behind a request that is still being answered.
    @exclusivity(unchecked)
    var unparsed = KeptBytes()
    /// The index at which the loop server keeps this connection.
    var position: Int32 = 0
    @exclusivity(unchecked)
    var unsent = UnsentBytes()
    @exclusivity(unchecked)
    var requestCount: Int32 = 0
    /// The number under which the budget counts what came of requests that are not begun; 0 while that is little.
    @exclusivity(unchecked)
    var unfinishedNumber: UInt64 = 0
    @exclusivity(unchecked)
    var reader = RequestReader()
    var registration: Registration?
    /// Body bytes already credited to the deadline.
    var bodyBytesPaid: Int32 = 0
    @exclusivity(unchecked)
    var dues: AnswerDues

    init(stream: ByteStream, peer: IPAddress, loopServer: LoopServer, isAdmitted: Bool = true) {
        self.stream = stream
        self.peer = peer
        self.loopServer = loopServer
        self.isAdmitted = isAdmitted
        var hasher = Hasher()
        hasher.combine(peer.subscriber)
        dues = AnswerDues(owner: UInt64(truncatingIfNeeded: Int64(hasher.finalize())))
        phase = loopServer.server.isSecure ? .greeting : .idle
        deadline = loopServer.loop.now + loopServer.server.configuration.headerDeadline
    }

    func register() throws(SystemError) {
        registration = try loopServer.loop.register(stream.rawDescriptor, for: .readable, handler: self)
    }

    func handle(_ readiness: Readiness) {
        if phase == .responding || phase == .holding || phase == .resting, readiness.contains(.hungUp) {
            return giveUp()
        }
        do {
            if phase == .greeting, try !mayGreet(readiness) { return }
            try goOn()
        } catch {
            giveUp()
        }
    }

    func goOn() throws {
        if phase == .greeting { try greet() }
        if !unsent.isEmpty { try flush() }
        if phase != .greeting, phase != .closed, unsent.isEmpty { try receive() }
    }

    /// The phase took too long, or the client did not take its answers.
    func deadlinePassed() {
        guard phase != .closed else { return }
        guard unsent.isEmpty else {
            stream.abandonUnsent()
            return giveUp()
        }
        switch phase {
        case .receiving: refuse(MessageFault(.requestTimeout, "the request did not arrive in time"))
        case .responding:
            // The handler goes on, and counts until it is done; its answer is dropped.
            refuse(MessageFault(.serviceUnavailable, "the request takes long and is still being worked on"))
        case .idle: closeUnlessAsked()
        case .resting: endRest()
        default: giveUp()
        }
    }

    /// Ends the connection as soon as no request is under way. The answer to one that is says `connection: close`.
    func closeIfIdle() {
        // A request that the kernel has already taken is under way too.
        if phase == .idle, unsent.isEmpty { handle(.readable) }
        if phase == .resting, unsent.isEmpty { endRest() }
        switch phase {
        // A client that shakes hands is about to send a request.
        case .greeting: deadline = min(deadline, loopServer.loop.now + loopServer.server.configuration.drainGrace)
        // Requests in line are begun in the loop's next turn, and the first answer closes.
        case .idle where unsent.isEmpty && !unparsed.isEmpty: break
        case .idle where unsent.isEmpty: closeUnlessBusy()
        case .idle: closesWhenSent = true
        case .holding: wake(.draining)
        case .resting: closesWhenSent = true
        case .receiving, .responding, .unheard, .lingering, .closed: break
        }
    }

    /// A client that has just connected or had an answer may be sending a request already: it gets one more answer,
    /// which says `close`, instead of a reset that tells it nothing (RFC 9112 §9.6).
    func closeUnlessBusy() {
        let (now, limits) = (loopServer.loop.now, loopServer.server.configuration)
        let rested = (requestCount == 0 ? limits.headerDeadline : limits.idleDeadline) - (deadline - now)
        guard rested < limits.drainGrace else { return closeUnlessAsked() }
        deadline = now + limits.drainGrace
    }

    /// Ends a connection that has been idle for long enough, unless a request is there already: the kernel may have
    /// taken it in this very moment.
    ///
    /// Only our side is ended, and the client's is awaited for a while. A request that is on its way now is not begun,
    /// and what its client sees is the end of the connection behind the last answer and not a reset (RFC 9112 §9.6).
    func closeUnlessAsked() {
        handle(.readable)
        guard phase == .idle, unsent.isEmpty, unparsed.isEmpty, deadline <= loopServer.loop.now || loopServer.isDraining
        else { return }
        let grace = loopServer.server.configuration.drainGrace
        guard grace > .zero else { return close() }
        do {
            try linger(for: grace)
        } catch {
            close()
        }
    }

    func close() {
        guard phase != .closed else { return }
        phase = .closed
        letGo()
        loopServer.remove(self)
    }

    /// The connection is of no use any more.
    ///
    /// While a handler is at work for it, it counts as open all the same: draining waits for the handler, and a client
    /// that sends a request and hangs up, again and again, has no more handlers at work than connections.
    func giveUp() {
        guard isHandling else { return close() }
        phase = .unheard
        deadline = Monotonic(nanoseconds: .max)
        letGo()
    }

    func letGo() {
        if let registration { loopServer.loop.deregister(registration) }
        registration = nil
        forgetUnfinished()
        unsent = UnsentBytes()
        dues.answersAreGone(from: loopServer.server.unsent)
        // A handler that goes on counts until it is done.
        if !isHandling { dues.giveUpRequest() }
        releaseHeld()
    }
}

// Receiving.
extension ServerConnection {
    func receive() throws {
        // A handler is at work, or what came before is not: the client's next bytes wait in the kernel.
        guard phase != .responding, phase != .resting, unparsed.isEmpty else { return try wait(for: []) }
        switch try stream.read(into: loopServer.inbox) {
        case .moved(let count):
            let received = UnsafeRawBufferPointer(rebasing: loopServer.inbox[..<count])
            switch phase {
            case .lingering: break
            // Requests behind one that is held wait for their turn; more of them wait in the kernel.
            case .holding:
                unparsed = KeptBytes(received)
                countUnfinished()
            default: try take(received)
            }
        case .blocked(let interest): try wait(for: interest)
        // Nothing follows: a request that is not complete now never will be (RFC 9112 §8), and no client waits for an
        // answer that is held.
        case .ended: giveUp()
        }
    }

    /// Answers the requests in what was received. What has to wait for its turn is kept.
    func take(_ received: UnsafeRawBufferPointer) throws {
        try work {
            var input = received
            self.parse(&input)
            if !input.isEmpty { self.unparsed = KeptBytes(input) }
            self.countUnfinished()
        }
        try takeKept()
    }

    /// Goes on with what is kept in the loop's next turn: a client that sends thousands of requests at once has so many
    /// answered in a turn as fill the outbox, and others have theirs in between.
    func takeKept() throws {
        guard !unparsed.isEmpty, isListening, !isInLine else { return }
        isInLine = true
        try wait(for: [])
        loopServer.takeNext(self)
    }

    func takeTurn() {
        isInLine = false
        guard !unparsed.isEmpty, isListening else { return }
        do {
            try work { self.parseKept() }
            try takeKept()
            if isCurious { try wait(for: .readable) }
        } catch {
            giveUp()
        }
    }

    func parseKept() {
        var kept = unparsed
        unparsed = KeptBytes()
        let left = kept.withUnsafeBytes { bytes in
            var input = bytes
            parse(&input)
            return input.count
        }
        kept.removeFirst(kept.count - left)
        unparsed = kept
        countUnfinished()
    }

    /// Whether the next request may be read: the one before is answered, and the client takes its answers.
    var isListening: Bool {
        (phase == .idle || phase == .receiving) && unsent.isEmpty && !closesWhenSent
    }

    /// Whether the client's next bytes are wanted. While a reply is held they are read for the sake of the end, which
    /// comes behind them: a client that hangs up is to be noticed.
    var isCurious: Bool {
        (isListening || phase == .holding && unsent.isEmpty) && unparsed.isEmpty
    }

    /// Takes requests out of the input until it is used up or one of them has to be waited for.
    func parse(_ input: inout UnsafeRawBufferPointer) {
        while !input.isEmpty, isListening, loopServer.outbox.count < LoopServer.outboxBytesMax,
            loopServer.largeBody.isEmpty
        {
            do {
                switch try reader.next(from: &input, within: loopServer.server.configuration.message) {
                case .needsMore: awaitRest()
                case .expectsContinue:
                    loopServer.outbox.append(contentsOf: MessageSerializer.continueResponse)
                    awaitRest()
                case .request(let request, let keepAlive): begin(request, keepAlive: keepAlive)
                }
            } catch {
                refuse(error)
            }
        }
    }

    /// A request has begun: from now on it has a deadline that does not move with each byte.
    func awaitRest() {
        guard phase != .receiving else { return extendForBody() }
        guard !reader.isBetweenMessages else { return }
        phase = .receiving
        bodyBytesPaid = 0
        deadline = loopServer.loop.now + loopServer.server.configuration.headerDeadline
    }

    /// Each second of the slowest permitted rate buys one second more.
    func extendForBody() {
        let rate = loopServer.server.configuration.bodyBytesPerSecondMin
        let seconds = (reader.bodyBytesReceived - Int(bodyBytesPaid)) / rate
        guard seconds > 0 else { return }
        bodyBytesPaid += Int32(truncatingIfNeeded: seconds * rate)
        deadline = deadline + .seconds(seconds)
    }
}

// Answering.
extension ServerConnection {
    func begin(_ request: Request, keepAlive: Bool) {
        phase = .responding
        isHandling = true
        deadline = loopServer.handlerDeadline
        requestCount &+= 1
        loopServer.requestCount &+= 1
        let keepAlive = keepAlive && Int(requestCount) < loopServer.server.configuration.requestsPerConnectionMax
        let connection = LoopBound(self, on: loopServer.loop)
        let context = RequestContext(
            peer: peer, isSecure: loopServer.server.isSecure, arrivedAt: loopServer.loop.now, connection: connection)
        let method = request.method
        switch loopServer.server.dispatcher(request, context) {
        case .reply(let reply):
            finish(reply, to: method, keepAlive: keepAlive)
        case .work(let work):
            // Started here and now: a task that never waits has answered when this returns.
            Task.immediate(executorPreference: loopServer.loop) {
                connection.value.finish(await work(), to: method, keepAlive: keepAlive)
            }
        }
    }

    func finish(_ reply: Reply, to method: Method, keepAlive: Bool) {
        isHandling = false
        if phase == .unheard { return close() }
        // Answered in the handler's place, or cut off at the end of a drain.
        guard phase == .responding else { return dues.giveUpRequest() }
        if case .held(let held) = reply { return hold(HeldRequest(held, to: method, keepAlive: keepAlive)) }
        phase = .idle
        deadline = loopServer.idleDeadline
        var keepAlive = keepAlive
        if isRefused { keepAlive = staysRefused() && keepAlive } else { refusals = 0 }
        // Within `parse`, its caller sends what is gathered and goes on with what is left.
        guard !isWorking else { return write(reply, to: method, keepAlive: keepAlive) }
        do {
            try work {
                self.write(reply, to: method, keepAlive: keepAlive)
                self.parseKept()
            }
            try takeKept()
            if isCurious { try wait(for: .readable) }
        } catch {
            giveUp()
        }
    }

    /// Keeps a request until its reply is there.
    func hold(_ request: HeldRequest) {
        phase = .holding
        // Where older answers are stuck, their deadline goes on.
        if unsent.isEmpty { deadline = Monotonic(nanoseconds: .max) }
        held = request
        if loopServer.isDraining { return wake(.draining) }
        if request.reply.signal.value.watch(over: self) { return wake(.signaled) }
        request.wait(for: self, on: loopServer.loop)
        // Within `parse` the client's next bytes are wanted already.
        guard !isWorking, isCurious else { return }
        do {
            try wait(for: .readable)
        } catch {
            giveUp()
        }
    }

    /// Has the answer to the held request made.
    func wake(_ reason: HeldReply.Reason) {
        guard phase == .holding, let held else { return }
        releaseHeld()
        phase = .responding
        isHandling = true
        if unsent.isEmpty { deadline = loopServer.handlerDeadline }
        let connection = LoopBound(self, on: loopServer.loop)
        let (answer, method, keepAlive) = (held.reply.answer, held.method, held.keepAlive)
        // Not here and now: the caller that gives the signal may be in the middle of answering another connection, and
        // thousands may be woken at once.
        Task(executorPreference: loopServer.loop) {
            let reply = await answer(reason)
            if reason == .draining, case .held = reply { return connection.value.close() }
            connection.value.finish(reply, to: method, keepAlive: keepAlive)
        }
    }

    func releaseHeld() {
        held?.release()
        held = nil
    }

    func write(_ reply: Reply, to method: Method, keepAlive: Bool) {
        dues.answer()
        switch reply {
        case .response(let response):
            closesWhenSent = !keepAlive || loopServer.isDraining
            let isLarge =
                response.body.count > LoopServer.copiedBodyBytesMax && method != .head && !response.status.forbidsBody
            if isLarge { loopServer.largeBody = response.body }
            MessageSerializer.append(
                response, answering: isLarge ? .head : method, date: loopServer.dateValue,
                connection: closesWhenSent ? .close : reader.announcesKeepAlive ? .keepAlive : .unstated,
                to: &loopServer.outbox)
        case .held: preconditionFailure("a held reply has nothing to write")
        case .raw(let bytes):
            closesWhenSent = true
            loopServer.outbox.append(contentsOf: bytes)
        }
    }

    /// Answers in the place of a handler and ends the connection: after what cannot be read as a request, it is not
    /// known where the next one begins.
    func refuse(_ fault: MessageFault) {
        let response = loopServer.server.refusal(fault)
        closesWhenSent = true
        phase = .idle
        guard !isWorking else { return append(response) }
        do {
            try work { self.append(response) }
        } catch {
            giveUp()
        }
    }

    func append(_ refusal: Response) {
        MessageSerializer.append(
            refusal, answering: .get, date: loopServer.dateValue, connection: .close, to: &loopServer.outbox)
    }
}
