import HTTP
import Synchronization
import TestSupport
import Testing
import Transport

@Suite(.timeLimit(.minutes(1))) struct HeldReplyTests {
    @Test func `a held reply is given when its signal is given, and the connection goes on`() async throws {
        let waiting = Waiting()
        try await RunningServer.run(handler: waiting.handler) { server in
            let client = try server.connect()
            try client.send(get("/wait"))
            await waiting.isClaimed.pass()
            try await waiting.wake(on: server.loop)
            try client.send(get("/next", closing: true))
            let answers = try await onThread { try client.receiveToEnd() }
            #expect(transcript(answers) == ["200 signaled", "200 /next"])
        }
    }

    @Test func `HEAD is held alike, and answered without a body`() async throws {
        let waiting = Waiting()
        try await RunningServer.run(handler: waiting.handler) { server in
            let client = try server.connect()
            try client.send("HEAD /wait HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            await waiting.isClaimed.pass()
            try await waiting.wake(on: server.loop)
            let answer = try await onThread { try client.receiveToEnd() }
            #expect(answer.contains("content-length: 8"))
            #expect(answer.hasSuffix("\r\n\r\n"))
        }
    }

    @Test func `a signal that was given before its reply was held wakes it all the same`() async throws {
        let waiting = Waiting(ringsFirst: true)
        try await RunningServer.run(handler: waiting.handler) { server in
            let answer = try await server.answer(to: get("/wait", closing: true))
            #expect(transcript(answer) == ["200 signaled"])
        }
    }

    @Test func `a signal that is given while the answer is made is heard when the reply is held again`() async throws {
        let signals = Box<LoopBound<WakeSignal>?>(nil)
        let (atWork, gate) = (Gate(), Gate())
        let handler: Server.Handler = { _, _ in
            guard let loop = EventLoop.current else { return .raw([]) }
            let signal = LoopBound(WakeSignal(), on: loop)
            signals.update { $0 = signal }
            signal.value.wake()
            return .held(
                HeldReply(signal: signal, until: .now() + .seconds(60)) { _ in
                    atWork.open()
                    await gate.pass()
                    return .held(
                        HeldReply(signal: signal, until: .now() + .seconds(60)) { _ in
                            .response(Response(.ok, body: Array("again".utf8)))
                        })
                })
        }
        try await RunningServer.run(handler: handler) { server in
            let client = try server.connect()
            try client.send(get("/wait", closing: true))
            await atWork.pass()
            try await server.loop.task { signals.value?.value.wake() }.value
            gate.open()
            let answer = try await onThread { try client.receiveToEnd() }
            #expect(transcript(answer) == ["200 again"])
        }
    }

    @Test func `a signal may be given from the middle of another connection's answer`() async throws {
        let waiting = Waiting()
        let handler: Server.Handler = { request, context in
            if request.target.path == "/wait" { return await waiting.handler(request, context) }
            if request.target.path == "/ring" { waiting.signal.value?.value.wake() }
            return await echoPath(request, context)
        }
        try await RunningServer.run(handler: handler) { server in
            let client = try server.connect()
            try client.send(get("/wait", closing: true))
            await waiting.isClaimed.pass()
            let answers = try await server.answer(to: get("/before") + get("/ring") + get("/after", closing: true))
            #expect(transcript(answers) == ["200 /before", "200 /ring", "200 /after"])
            let answer = try await onThread { try client.receiveToEnd() }
            #expect(transcript(answer) == ["200 signaled"])
        }
    }

    @Test func `a held reply is given when its time is up`() async throws {
        let waiting = Waiting(for: .milliseconds(1))
        try await RunningServer.run(handler: waiting.handler) { server in
            let answer = try await server.answer(to: get("/wait", closing: true))
            #expect(transcript(answer) == ["200 timeIsUp"])
        }
    }

    @Test func `requests behind a held one wait for their turn`() async throws {
        let waiting = Waiting()
        try await RunningServer.run(handler: waiting.handler) { server in
            let client = try server.connect()
            try client.send(get("/wait") + get("/second"))
            await waiting.isClaimed.pass()
            // Sent apart: read while the first is held, or left in the kernel behind the second.
            try client.send(get("/third", closing: true))
            _ = try await server.answer(to: get("/other", closing: true))
            #expect(waiting.paths == ["/wait", "/other"])
            try await waiting.wake(on: server.loop)
            let answers = try await onThread { try client.receiveToEnd() }
            #expect(transcript(answers) == ["200 signaled", "200 /second", "200 /third"])
        }
    }

    @Test func `a held request that is followed by nonsense is answered before it`() async throws {
        let waiting = Waiting()
        try await RunningServer.run(handler: waiting.handler) { server in
            let client = try server.connect()
            try client.send(get("/wait") + "NON SENSE\r\n\r\n")
            await waiting.isClaimed.pass()
            try await waiting.wake(on: server.loop)
            let lines = transcript(try await onThread { try client.receiveToEnd() })
            #expect(lines.count == 2)
            #expect(lines.first == "200 signaled")
            #expect(lines.last?.hasPrefix("400 ") == true)
        }
    }

    @Test func `draining gives every held reply at once, and closes`() async throws {
        let waiting = Waiting()
        try await RunningServer.run(handler: waiting.handler) { server in
            let client = try server.connect()
            try client.send(get("/wait"))
            await waiting.isClaimed.pass()
            let draining = server.loop.task { await server.drain() }
            await server.loop.comeToRest()
            #expect(waiting.reasons == [.draining], "a held reply waits on while its server drains")
            // Where it does, the test need not wait with it.
            try await waiting.wake(on: server.loop)
            let answer = try await onThread { try client.receiveToEnd() }
            #expect(transcript(answer) == ["200 draining"])
            #expect(answer.contains("\r\nconnection: close\r\n"))
            client.hangUp()
            try await draining.value
        }
    }

    @Test func `what would be held while the server drains is asked for at once`() async throws {
        let waiting = Waiting()
        let (isBegun, gate) = (Gate(), Gate())
        let handler: Server.Handler = { request, context in
            isBegun.open()
            await gate.pass()
            return await waiting.handler(request, context)
        }
        try await RunningServer.run(handler: handler) { server in
            let client = try server.connect()
            try client.send(get("/wait"))
            await isBegun.pass()
            let draining = server.loop.task { await server.drain() }
            await server.loop.comeToRest()
            gate.open()
            await server.loop.comeToRest()
            #expect(waiting.reasons == [.draining], "a reply is held though its server drains")
            try await waiting.wake(on: server.loop)
            let answer = try await onThread { try client.receiveToEnd() }
            #expect(transcript(answer) == ["200 draining"])
            client.hangUp()
            try await draining.value
        }
    }

    @Test func `a reply that holds on while the server drains hangs up`() async throws {
        let waiting = Waiting(holdsOn: true)
        try await RunningServer.run(handler: waiting.handler) { server in
            let client = try server.connect()
            try client.send(get("/wait"))
            await waiting.isClaimed.pass()
            let draining = server.loop.task { await server.drain() }
            await server.loop.comeToRest()
            #expect(waiting.reasons == [.draining], "a held reply waits on while its server drains")
            try await waiting.wake(on: server.loop)
            let answer = try await onThread { try client.receiveToEnd() }
            #expect(answer.isEmpty)
            try await draining.value
        }
    }

    @Test(arguments: HangUp.allCases)
    fileprivate func `a client that hangs up is let go of at once, with all that its reply kept`(
        how: HangUp
    ) async throws {
        let waiting = Waiting()
        try await RunningServer.run(handler: waiting.handler) { server in
            let client = try server.connect()
            try client.send(get("/wait"))
            await waiting.isClaimed.pass()
            switch how {
            case .close: client.hangUp()
            case .finish: client.finishWriting()
            case .reset: client.reset()
            }
            await waiting.isLetGo.pass()
            #expect(waiting.reasons == [])
        }
    }

    @Test func `a held reply is left alone until the client has taken the answers before it`() async throws {
        let waiting = Waiting()
        let large = [UInt8](repeating: UInt8(ascii: "x"), count: 4_000_000)
        let handler: Server.Handler = { request, context in
            request.target.path == "/large"
                ? .response(Response(.ok, body: large)) : await waiting.handler(request, context)
        }
        try await RunningServer.run(handler: handler) { server in
            let client = try server.connect(receiveBufferBytes: 4_096)
            try client.send(get("/large") + get("/wait", closing: true))
            async let received = onThread { try client.receiveToEnd() }
            await waiting.isClaimed.pass()
            try await waiting.wake(on: server.loop)
            #expect(try await received.hasSuffix("\r\n\r\nsignaled"))
        }
    }
}

/// The ways in which a client goes away.
private enum HangUp: CaseIterable {
    case close, finish, reset
}

/// A handler that holds `/wait` and answers everything else with its path; and what the test sees of it.
private final class Waiting: Sendable {
    let isClaimed = Gate()
    let isLetGo = Gate()
    let signal = Box<LoopBound<WakeSignal>?>(nil)
    private let time: Duration
    private let ringsFirst: Bool
    private let holdsOn: Bool
    private let seen = Mutex<(paths: [String], reasons: [HeldReply.Reason])>(([], []))

    /// `holdsOn`: whether it goes on holding, whatever it is asked.
    init(for time: Duration = .seconds(60), ringsFirst: Bool = false, holdsOn: Bool = false) {
        self.time = time
        self.ringsFirst = ringsFirst
        self.holdsOn = holdsOn
    }

    var paths: [String] { seen.withLock { $0.paths } }
    var reasons: [HeldReply.Reason] { seen.withLock { $0.reasons } }

    /// Gives the signal on the loop to which it belongs.
    func wake(on loop: EventLoop) async throws {
        try await loop.task { [signal] in signal.value?.value.wake() }.value
    }

    var handler: Server.Handler {
        { [self] request, context in
            seen.withLock { $0.paths.append(request.target.path) }
            guard request.target.path == "/wait", let loop = EventLoop.current else {
                return await echoPath(request, context)
            }
            let signal = LoopBound(WakeSignal(), on: loop)
            self.signal.update { $0 = signal }
            let kept = Kept(isLetGo)
            if ringsFirst { signal.value.wake() }
            isClaimed.open()
            return held(signal, keeping: kept)
        }
    }

    private func held(_ signal: LoopBound<WakeSignal>, keeping kept: Kept) -> Reply {
        .held(
            HeldReply(signal: signal, until: .now() + time) { [self] reason in
                seen.withLock { $0.reasons.append(reason) }
                return holdsOn
                    ? held(signal, keeping: kept) : .response(Response(.ok, body: Array("\(reason)".utf8)))
            })
    }
}

/// Signals when it is released.
private final class Kept: Sendable {
    private let isLetGo: Gate

    init(_ isLetGo: Gate) {
        self.isLetGo = isLetGo
    }

    deinit {
        isLetGo.open()
    }
}
