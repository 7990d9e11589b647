import Glibc
import Transport

/// One loop's share of a server: what it accepts from, its connections, and the buffers that they share.
///
/// The buffers are shared because a loop does one thing at a time: a connection needs one of its own only while a
/// request is partial or an answer unsent, so that ten thousand idle ones cost next to nothing.
final class LoopServer: EventHandler {
    let server: Server
    let loop: EventLoop
    /// Where received bytes land. Valid until the next read on this loop.
    let inbox = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)
    /// Answers of the connection that is being worked on, sent together.
    ///
    /// Like the fields below, which every request changes, it is not checked for exclusive access at run time: it
    /// belongs to one thread, and what writes into it or sends it calls nothing that comes back here.
    @exclusivity(unchecked)
    var outbox: [UInt8] = []
    /// A body that goes behind them: the last answer's, if it is too large to be copied.
    @exclusivity(unchecked)
    var largeBody: [UInt8] = []
    private(set) var isDraining = false
    /// The deadlines that every request sets, in nanoseconds.
    private let idleInterval: Int64
    private let handlerInterval: Int64

    /// Answers gathered before they are sent, in bytes. One may be longer; another is not begun before it is sent.
    ///
    /// Without it a client that pipelines small requests for large answers could fill the memory at once.
    static let outboxBytesMax = 16_384

    /// The longest body that is copied in front of the next answer. A longer one is sent from where it lies, so that
    /// thousands who read the same document slowly hold it once.
    static let copiedBodyBytesMax = 16_384

    /// Connections that are told at a time that they are too many. Past it they are only closed.
    private static let turnedAwayMax = 256

    /// Connections accepted at a time: in a storm of them those that are open still get their turn.
    private static let acceptedMax = 16
    /// Handshakes that are worked on at a time, likewise: each takes a fraction of a millisecond.
    private static let greetingsMax = 4
    /// Overdue connections that are closed at a time, likewise.
    private static let overdueMax = 32
    /// The greatest number that can be waiting when none joins them.
    private static let waitingMax = Int(Listener.backlog)

    /// Connections whose end leaves enough behind to look through the memory for it.
    private static let crowdMin = 1_024
    /// Requests that do, and how many may come within a second all the same: so many, or this part of what came in the
    /// worst second.
    private static let floodMin: UInt64 = 10_000
    private static let calmMax: UInt64 = 20
    private static let calmPart: UInt64 = 8

    /// Looks around after which memory is given back once more: what a flood has begun takes its time to end.
    private static let looksUntilAgain = 12

    private static let sweepPause = Duration.seconds(1)
    /// The code that replaces a server waits for its end.
    private static let drainingSweepPause = Duration.milliseconds(100)

    private var listener: Listener?
    private var registration: Registration?
    private(set) var connections: [ServerConnection] = []
    @exclusivity(unchecked)
    private var date = HTTPDate()
    private var sweeper: LoopTimer?
    /// Connections that have more requests than were answered in this turn.
    private var line: [ServerConnection] = []
    /// Connections that may begin to shake hands, beyond those of this turn.
    private var greetingLine: [ServerConnection] = []
    /// The turn of the loop, by its time, and the handshakes that were worked on in it.
    private var greetings = (turn: Monotonic.now(), count: 0)
    /// Connections whose deadline had passed at the last check, and that have yet to be closed.
    private var overdue: [ServerConnection] = []
    /// The most connections since memory was last given back.
    private var connectionsPeak = 0
    /// Requests that were begun and connections that were opened, in all; until the last look around; until memory was
    /// last given back.
    @exclusivity(unchecked)
    var requestCount: UInt64 = 0
    private var requestCountSeen: UInt64 = 0
    private var requestCountRestored: UInt64 = 0
    /// The most of them between two looks around since memory was last given back.
    private var requestPeak: UInt64 = 0
    private var looksUntilAgain = 0
    /// Connections that were too many and have yet to take that in.
    private var turnedAwayCount = 0
    private var drained: CheckedContinuation<Void, Never>?

    init(server: Server, loop: EventLoop) {
        self.server = server
        self.loop = loop
        idleInterval = server.configuration.idleDeadline.wholeNanoseconds
        handlerInterval = server.configuration.handlerDeadline.wholeNanoseconds
    }

    deinit {
        inbox.deallocate()
    }

    func accept(from listener: Listener) throws {
        precondition(self.listener == nil, "a server has one listener")
        self.listener = listener
        registration = try listener.register(on: loop, handler: self)
        sweep()
    }

    /// New connections are waiting.
    func handle(_ readiness: Readiness) {
        acceptUpTo(Self.acceptedMax)
    }

    /// Takes in so many connections at most.
    private func acceptUpTo(_ count: Int) {
        for _ in 0..<count {
            do {
                guard let listener, let (stream, peer) = try listener.accept() else { return }
                open(stream, from: peer)
            } catch {
                // No descriptor or no memory left. The event would come again at once and for ever, so look away.
                return pauseAccepting()
            }
        }
    }

    /// The present value of the `date` field.
    var dateValue: [UInt8] { date.value(at: loop.now) }

    /// Until when a connection without a request may stand.
    var idleDeadline: Monotonic { loop.now.later(byNanoseconds: idleInterval) }

    /// Until when a handler that begins now may be waited for.
    var handlerDeadline: Monotonic { loop.now.later(byNanoseconds: handlerInterval) }

    func remove(_ connection: ServerConnection) {
        if connection.isAdmitted { server.admission.release(connection.peer) } else { turnedAwayCount -= 1 }
        guard let last = connections.popLast() else { return }
        if last !== connection {
            last.position = connection.position
            connections[Int(connection.position)] = last
        }
        if isDraining, connections.isEmpty { finishDraining() }
    }

    /// Returns when no connection is left, and no handler at work for one that is gone.
    func drain(within deadline: Duration) async {
        isDraining = true
        if listener?.ignoreNewcomers() == true {
            // Clients that were connecting.
            acceptUpTo(Self.waitingMax)
        } else {
            stopAccepting()
        }
        for connection in connections { connection.closeIfIdle() }
        sweeper?.cancel()
        sweep()
        let lastCall = loop.schedule(after: server.configuration.drainGrace) { self.stopAccepting() }
        let cutOff = loop.schedule(after: deadline) { [self] in
            stopAccepting()
            for connection in connections { connection.close() }
        }
        while !connections.isEmpty {
            await withCheckedContinuation { drained = $0 }
            acceptUpTo(Self.waitingMax)
        }
        cutOff.cancel()
        lastCall.cancel()
        stopAccepting()
        sweeper?.cancel()
    }

    private func stopAccepting() {
        if let registration { loop.deregister(registration) }
        registration = nil
        listener = nil
    }

    private func finishDraining() {
        drained?.resume()
        drained = nil
    }

    private func open(_ stream: ByteStream, from peer: IPAddress) {
        var fault = server.admission.admit(peer)
        if fault == Admission.full, makeRoom() { fault = server.admission.admit(peer) }
        if fault == Admission.fullForAddress, makeRoom(of: peer) { fault = server.admission.admit(peer) }
        if let fault { return turnAway(stream, from: peer, fault) }
        do {
            if let context = server.tls { try stream.startTLS(TLSSession(server: context)) }
            let connection = ServerConnection(stream: stream, peer: peer, loopServer: self)
            try add(connection)
            requestCount &+= 1
            if isDraining { connection.closeIfIdle() }
        } catch {
            // Without memory for a session or a registration there is nothing to tell the client either; the
            // stream closes as it goes out of scope.
            server.admission.release(peer)
        }
    }

    /// Tells the client of a connection too many why it is closed. A handshake for that would cost more than it is
    /// worth.
    private func turnAway(_ stream: ByteStream, from peer: IPAddress, _ fault: MessageFault) {
        guard !server.isSecure, turnedAwayCount < Self.turnedAwayMax else { return }
        let connection = ServerConnection(stream: stream, peer: peer, loopServer: self, isAdmitted: false)
        // Not even room to say no; the stream closes as it goes out of scope.
        guard (try? add(connection)) != nil else { return }
        turnedAwayCount += 1
        connection.refuse(fault)
    }

    private func add(_ connection: ServerConnection) throws {
        try connection.register()
        connection.position = Int32(connections.count)
        connections.append(connection)
    }

    private func pauseAccepting() {
        if let registration { loop.deregister(registration) }
        registration = nil
        loop.schedule(after: server.configuration.acceptPause) { [self] in
            guard let listener else { return }  // Drained meanwhile.
            registration = try? listener.register(on: loop, handler: self)
            // epoll itself is out of memory: nothing is lost but another pause.
            if registration == nil { pauseAccepting() }
        }
    }

    /// Has a connection go on with what it keeps, in the next turn.
    func takeNext(_ connection: ServerConnection) {
        line.append(connection)
        guard line.count == 1 else { return }
        loop.schedule(after: .zero) { [self] in
            let batch = line
            line = []
            for connection in batch { connection.takeTurn() }
        }
    }

    /// Whether a connection may go on with its handshake in this turn. If not, it is told to in one of the next ones:
    /// a client that begins thousands of handshakes has others served in between.
    func mayGreet(_ connection: ServerConnection) -> Bool {
        if takeGreetings(1) == 1 { return true }
        greetingLine.append(connection)
        if greetingLine.count == 1 { greetInNextTurn() }
        return false
    }

    /// The latest first: where more come than there is time for, most of those that have waited have gone.
    private func greetInNextTurn() {
        loop.schedule(after: .zero) { [self] in
            let batch = greetingLine.suffix(takeGreetings(greetingLine.count))
            greetingLine.removeLast(batch.count)
            if !greetingLine.isEmpty { greetInNextTurn() }
            for connection in batch.reversed() { connection.greetInTurn() }
        }
    }

    /// Takes up to so many of the handshakes of this turn.
    private func takeGreetings(_ count: Int) -> Int {
        if greetings.turn != loop.now { greetings = (loop.now, 0) }
        let taken = min(count, Self.greetingsMax - greetings.count)
        greetings.count += taken
        return taken
    }

    /// Looks now and then for connections whose deadline has passed: cheaper than a timer for each of them.
    private func sweep() {
        sweeper = loop.schedule(after: isDraining ? Self.drainingSweepPause : Self.sweepPause) { [self] in
            let now = Monotonic.now()
            overdue = connections.filter { $0.deadline <= now }
            greetingLine.removeAll { $0.phase != .greeting }
            closeOverdue()
        }
    }

    /// Deals with some of them, and in the next turn of the loop with more: a client that opens thousands at once has
    /// their deadlines pass at once, and others must not notice.
    private func closeOverdue() {
        for connection in overdue.suffix(Self.overdueMax) {
            overdue.removeLast()
            // It may have got on meanwhile.
            if connection.deadline <= loop.now { connection.deadlinePassed() }
        }
        guard overdue.isEmpty else {
            sweeper = loop.schedule(after: .zero) { self.closeOverdue() }
            return
        }
        overdue = []
        giveMemoryBack()
        sweep()
    }

    /// Returns the memory of thousands of connections to the system when most of them are gone, and that
    /// of thousands of requests when few come any more: a flood on a few connections leaves as much.
    private func giveMemoryBack() {
        connectionsPeak = max(connectionsPeak, connections.count)
        let isEmptier = connectionsPeak >= Self.crowdMin && connections.count < connectionsPeak / 4
        let recent = requestCount - requestCountSeen
        requestPeak = max(requestPeak, recent)
        let isCalm = recent < max(Self.calmMax, requestPeak / Self.calmPart)
        requestCountSeen = requestCount
        if isEmptier || isCalm && requestCount - requestCountRestored >= Self.floodMin {
            looksUntilAgain = Self.looksUntilAgain
        } else {
            guard looksUntilAgain > 0 else { return }
            looksUntilAgain -= 1
            guard looksUntilAgain == 0 else { return }
        }
        requestCountRestored = requestCount
        requestPeak = recent
        connectionsPeak = connections.count
        connections = connections.map(\.self)  // A smaller array.
        // No task waits for it, and it takes some milliseconds: not on the loop's thread. The task itself is the
        // loop's: one without an executor would have the runtime set up its own threads, and their descriptors, for
        // this alone.
        Task(executorPreference: loop) { await BlockingThreads.shared.run { FreedMemory.giveBack() } }
    }
}

/// The time of day as the `date` field wants it (RFC 9110 §5.6.7), written anew at most once a second.
private struct HTTPDate {
    private var text: [UInt8] = []
    private var writtenAt = Monotonic(nanoseconds: .min / 2)

    mutating func value(at now: Monotonic) -> [UInt8] {
        if now - writtenAt >= .milliseconds(500) {
            writtenAt = now
            text = Self.text(of: time(nil))
        }
        return text
    }

    private static func text(of moment: time_t) -> [UInt8] {
        var moment = moment
        var parts = tm()
        gmtime_r(&moment, &parts)
        func padded(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let weekday = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][Int(parts.tm_wday)]
        let month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][
            Int(parts.tm_mon)]
        let day = "\(weekday), \(padded(parts.tm_mday)) \(month) \(parts.tm_year + 1900)"
        return Array("\(day) \(padded(parts.tm_hour)):\(padded(parts.tm_min)):\(padded(parts.tm_sec)) GMT".utf8)
    }
}
