import HTTP
import TestSupport
import Testing
import Transport

@Suite(.timeLimit(.minutes(1))) struct RefusalTests {
    @Test func `a refusal reaches a client that is still sending`() async throws {
        try await RunningServer.run(handler: echoPath) { server in
            let client = try server.connect()
            try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\n")
            let answer = try await onThread {
                try client.send([UInt8](repeating: 0x78, count: 8_000_000))
                client.finishWriting()
                return try client.receiveToEnd()
            }
            #expect(answer.hasPrefix("HTTP/1.1 413 "))
            #expect(transcript(answer) == ["413 the body is too long"])
            #expect(answer.contains("\r\nconnection: close\r\n"))
        }
    }

    @Test(arguments: [
        "G", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: a\r\nX:",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
    ])
    func `a request that does not get on is refused with 408`(_ beginning: String) async throws {
        let configure: @Sendable (inout ServerConfiguration) -> Void = { $0.headerDeadline = .milliseconds(100) }
        let answers = try await RunningServer.run(configure: configure, handler: echoPath) {
            try await $0.answer(to: get("/before") + beginning)
        }
        #expect(transcript(answers) == ["200 /before", "408 the request did not arrive in time"])
    }

    @Test func `a byte now and then does not put off the deadline`() async throws {
        let configure: @Sendable (inout ServerConfiguration) -> Void = { $0.headerDeadline = .milliseconds(200) }
        try await RunningServer.run(configure: configure, handler: echoPath) { server in
            let client = try server.connect()
            let answer = try await onThread {
                // The server answers and goes on reading, so sending never fails before its answer is here.
                try client.send("GET / HTTP/1.1\r\nHost: a\r\nX: ")
                while !client.hasSomethingToRead(within: .milliseconds(10)) { try client.send("x") }
                client.finishWriting()
                return try client.receiveToEnd()
            }
            #expect(transcript(answer) == ["408 the request did not arrive in time"])
        }
    }

    @Test func `a body that comes fast enough may take longer than the header section`() async throws {
        let configure: @Sendable (inout ServerConfiguration) -> Void = {
            $0.headerDeadline = .milliseconds(500)
            $0.bodyBytesPerSecondMin = 10
        }
        let handler: Server.Handler = { request, _ in .response(Response(.ok, body: request.body)) }
        try await RunningServer.run(configure: configure, handler: handler) { server in
            let client = try server.connect()
            let start = Monotonic.now()
            let answer = try await onThread {
                try client.send("POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 80\r\n\r\n")
                // Nothing comes back meanwhile, so this waits for its time and for nothing else.
                for _ in 0..<8 {
                    try client.send("0123456789")
                    if client.hasSomethingToRead(within: .milliseconds(250)) { break }
                }
                return try client.receiveToEnd()
            }
            #expect(transcript(answer) == ["200 " + String(repeating: "0123456789", count: 8)])
            #expect(Monotonic.now() - start > .milliseconds(1500))
        }
    }

    @Test func `an idle connection is closed without a word`() async throws {
        let configure: @Sendable (inout ServerConfiguration) -> Void = { $0.idleDeadline = .milliseconds(100) }
        let answers = try await RunningServer.run(configure: configure, handler: echoPath) {
            try await $0.answer(to: get("/one"))
        }
        #expect(transcript(answers) == ["200 /one"])
    }

    @Test func `a connection on which nothing ever comes is closed without a word`() async throws {
        let configure: @Sendable (inout ServerConfiguration) -> Void = { $0.headerDeadline = .milliseconds(100) }
        let answers = try await RunningServer.run(configure: configure, handler: echoPath) {
            try await $0.answer(to: "")
        }
        #expect(answers.isEmpty)
    }

    @Test func `a body that comes too slowly is refused although it goes on`() async throws {
        let configure: @Sendable (inout ServerConfiguration) -> Void = {
            $0.headerDeadline = .milliseconds(200)
            $0.bodyBytesPerSecondMin = 10_000
        }
        try await RunningServer.run(configure: configure, handler: echoPath) { server in
            let client = try server.connect()
            let answer = try await onThread {
                try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n")
                while !client.hasSomethingToRead(within: .milliseconds(10)) { try client.send("x") }
                client.finishWriting()
                return try client.receiveToEnd()
            }
            #expect(transcript(answer) == ["408 the request did not arrive in time"])
        }
    }

    @Test func `the bytes of a fast beginning buy time once, and those that drip in behind it none`() async throws {
        let configure: @Sendable (inout ServerConfiguration) -> Void = {
            $0.headerDeadline = .milliseconds(200)
            $0.bodyBytesPerSecondMin = 10_000
        }
        try await RunningServer.run(configure: configure, handler: echoPath) { server in
            let client = try server.connect()
            let answer = try await onThread {
                try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n")
                try client.send([UInt8](repeating: 0x78, count: 10_000))
                // The beginning is worth a second.
                let end = Monotonic.now() + .seconds(5)
                while Monotonic.now() < end, !client.hasSomethingToRead(within: .milliseconds(10)) {
                    try client.send("x")
                }
                client.finishWriting()
                return try client.receiveToEnd()
            }
            #expect(transcript(answer) == ["408 the request did not arrive in time"])
        }
    }

    @Test func `a client that never ends is not listened to for ever`() async throws {
        let configure: @Sendable (inout ServerConfiguration) -> Void = { $0.lingerDeadline = .milliseconds(100) }
        try await RunningServer.run(configure: configure, handler: echoPath) { server in
            let client = try server.connect()
            let answer = try await onThread {
                try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 80000000\r\n\r\n")
                let answer = try client.receiveToEnd()
                // Ends by the server's closing, or never.
                while (try? client.send([UInt8](repeating: 0x78, count: 1000))) != nil {}
                return answer
            }
            #expect(transcript(answer) == ["413 the body is too long"])
        }
    }

    @Test func `a handler that does not answer is answered for, and its work goes on`() async throws {
        let (isBegun, gate, isDone) = (Gate(), Gate(), Gate())
        let handler: Server.Handler = { request, context in
            isBegun.open()
            await gate.pass()
            isDone.open()
            return await echoPath(request, context)
        }
        let configure: @Sendable (inout ServerConfiguration) -> Void = { $0.handlerDeadline = .milliseconds(100) }
        try await RunningServer.run(configure: configure, handler: handler) { server in
            let client = try server.connect()
            try client.send(get("/late") + get("/behind"))
            await isBegun.pass()
            client.finishWriting()
            let answer = try await onThread { try client.receiveToEnd() }
            #expect(transcript(answer) == ["503 the request takes long and is still being worked on"])
            #expect(answer.contains("\r\nconnection: close\r\n"))
            client.hangUp()
            // It counts until it is done: draining waits for it.
            server.loop.schedule(after: .milliseconds(100)) { gate.open() }
            await server.drain()
            #expect(isDone.isOpen)
        }
    }

    @Test func `a held reply has no deadline but its own, and its answer one like any other`() async throws {
        let gate = Gate()
        let handler: Server.Handler = { _, _ in
            guard let loop = EventLoop.current else { return .raw([]) }
            return .held(
                HeldReply(signal: LoopBound(WakeSignal(), on: loop), until: .now() + .milliseconds(1500)) { _ in
                    await gate.pass()
                    return .raw([])
                })
        }
        let configure: @Sendable (inout ServerConfiguration) -> Void = { $0.handlerDeadline = .milliseconds(10) }
        try await RunningServer.run(configure: configure, handler: handler) { server in
            let start = Monotonic.now()
            let answer = try await server.answer(to: get("/"))
            #expect(transcript(answer) == ["503 the request takes long and is still being worked on"])
            #expect(Monotonic.now() - start >= .milliseconds(1500))
            gate.open()
        }
    }

    @Test func `a handler may take longer than any other deadline`() async throws {
        let configure: @Sendable (inout ServerConfiguration) -> Void = {
            $0.headerDeadline = .milliseconds(10)
            $0.idleDeadline = .milliseconds(10)
            $0.writeDeadline = .milliseconds(10)
        }
        let handler: Server.Handler = { request, context in
            // Longer than the server takes to look at its deadlines, once a second.
            try? await EventLoop.current?.sleep(for: .milliseconds(1200))
            return await echoPath(request, context)
        }
        let answers = try await RunningServer.run(configure: configure, handler: handler) {
            try await $0.answer(to: get("/slow", closing: true))
        }
        #expect(transcript(answers) == ["200 /slow"])
    }
}
