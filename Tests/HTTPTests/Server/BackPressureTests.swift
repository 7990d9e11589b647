import Glibc
import HTTP
import TestSupport
import Testing
import Transport

@Suite(.timeLimit(.minutes(1))) struct BackPressureTests {
    private static let large = [UInt8](repeating: UInt8(ascii: "x"), count: 3_000_000)

    @Test func `a client that reads late gets every answer whole and in order`() async throws {
        let gate = Gate()
        let handler: Server.Handler = { request, _ in
            if request.target.path == "/gated" { await gate.pass() }
            return .response(Response(.ok, body: Self.large + Array(request.target.path.utf8)))
        }
        try await RunningServer.run(handler: handler) { server in
            let client = try server.connect(receiveBufferBytes: 4096)
            try client.send(get("/1") + get("/gated") + get("/3") + get("/gated") + get("/5", closing: true))
            // The first answer has begun and cannot be over.
            _ = try await onThread { try client.receive(through: "\r\n\r\n") }
            gate.open()
            let rest = try await onThread { try client.receiveToEnd() }
            let ends = rest.split(separator: "HTTP/1.1 200 OK").map { $0.suffix(8).drop { $0 == "x" } }
            #expect(ends == ["/1", "/gated", "/3", "/gated", "/5"])
            #expect(rest.utf8.count { $0 == UInt8(ascii: "x") } == 5 * Self.large.count)
        }
    }

    @Test func `a large answer to HEAD has no body, and what comes behind it is in its place`() async throws {
        let handler: Server.Handler = { request, _ in
            .response(request.target.path == "/none" ? Response(.noContent) : Response(.ok, body: Self.large))
        }
        let text = "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n" + get("/none") + get("/", closing: true)
        let answers = try await RunningServer.run(handler: handler) { try await $0.answer(to: text) }
        let heads = answers.split(separator: "HTTP/1.1 ").map { $0.prefix(6) }
        #expect(heads == ["200 OK", "204 No", "200 OK"])
        #expect(answers.ranges(of: "content-length: 3000000").count == 2)
        #expect(answers.utf8.count { $0 == UInt8(ascii: "x") } == Self.large.count)
    }

    @Test func `an answer that comes while others are stuck goes behind them`() async throws {
        let handler: Server.Handler = { request, context in
            // At work when the answer before it is sent, and done when the network has not taken all of that yet.
            if request.target.path == "/late" {
                await Task.yield()
                return await echoPath(request, context)
            }
            return .response(Response(.ok, body: [UInt8](repeating: UInt8(ascii: "x"), count: 60_000)))
        }
        try await RunningServer.run(handler: handler) { server in
            let client = try server.connect(receiveBufferBytes: 4096)
            try client.send((0..<100).map { _ in get("/") + get("/late") }.joined() + get("/", closing: true))
            let answers = try await onThread { try client.receiveToEnd() }
            let lines = transcript(answers).map { $0.prefix(9) }
            #expect(lines == (0..<100).flatMap { _ in ["200 xxxxx", "200 /late"] } + ["200 xxxxx"])
        }
    }

    @Test func `a client that does not read has no more than a few large answers made for it`() async throws {
        let count = Box(0)
        let handler: Server.Handler = { _, _ in
            count.update { $0 += 1 }
            return .response(Response(.ok, body: Self.large))
        }
        try await RunningServer.run(handler: handler) { server in
            let client = try server.connect(receiveBufferBytes: 4096)
            try client.send((0..<11).map { _ in get("/") }.joined())
            _ = try await onThread { try client.receive(through: "\r\n\r\n") }
            // What the kernel's buffers hold of them is not ours to say; it is a few megabytes.
            #expect((1...4).contains(count.value))
            try client.send(get("/", closing: true))
            _ = try await onThread { try client.receiveToEnd() }
            #expect(count.value == 12)
        }
    }

    @Test func `a client that does not take its answer is closed`() async throws {
        let handler: Server.Handler = { _, _ in .response(Response(.ok, body: Self.large)) }
        let configure: @Sendable (inout ServerConfiguration) -> Void = { $0.writeDeadline = .milliseconds(100) }
        try await RunningServer.run(configure: configure, handler: handler) { server in
            let client = try server.connect(receiveBufferBytes: 4096)
            try client.send(get("/") + get("/") + get("/"))
            // The client reads nothing until the server has given up: then draining has nothing to wait for.
            _ = try await onThread { try client.receive(through: "\r\n\r\n") }
            await server.drain()
            let rest = try? await onThread { try client.receiveToEnd() }
            #expect(rest?.utf8.count ?? 0 < Self.large.count)
        }
    }

    @Test func `a client that reads a byte now and then is closed all the same`() async throws {
        let handler: Server.Handler = { _, _ in .response(Response(.ok, body: Self.large)) }
        let configure: @Sendable (inout ServerConfiguration) -> Void = { $0.writeDeadline = .milliseconds(100) }
        try await RunningServer.run(configure: configure, handler: handler) { server in
            let client = try server.connect(receiveBufferBytes: 4096)
            try client.send(get("/") + get("/") + get("/"))
            let (received, hasGivenUp) = (Box(0), Box(false))
            async let reading: Void = onThread {
                // Ends by the server's closing, or never. What the kernel holds when the server has given up is read at
                // once: at a byte now and then it would take a minute.
                while let bytes = try? client.receive(bytesMax: hasGivenUp.value ? 65_536 : 1), !bytes.isEmpty {
                    received.update { $0 += bytes.count }
                    if !hasGivenUp.value { _ = poll(nil, 0, 5) }
                }
            }
            await server.drain()
            hasGivenUp.update { $0 = true }
            try await reading
            #expect(received.value < 100_000)
        }
    }

    @Test func `the write deadline counts from the answer's beginning, however steadily a client takes bytes`()
        async throws
    {
        let large = [UInt8](repeating: UInt8(ascii: "x"), count: 64 << 20)
        let handler: Server.Handler = { _, _ in .response(Response(.ok, body: large)) }
        let configure: @Sendable (inout ServerConfiguration) -> Void = {
            $0.writeDeadline = .milliseconds(500)
            $0.unsentBytesMax = 1 << 40
            $0.unsentBytesPerOwnerMax = 1 << 40
        }
        try await RunningServer.run(configure: configure, handler: handler) { server in
            let client = try server.connect()
            try client.send(get("/", closing: true))
            let received = try await onThread {
                var received = 0
                // So slowly that the whole answer takes ten times the deadline at least, and never silent for as long.
                while let bytes = try? client.receive(), !bytes.isEmpty {
                    received += bytes.count
                    _ = poll(nil, 0, 5)
                }
                return received
            }
            #expect(received < large.count, "a reader of some bytes at a time has bought time with each of them")
        }
    }
}
