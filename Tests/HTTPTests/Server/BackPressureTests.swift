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

    @Test func `answers behind one that is stuck wait for it`() async throws {
        let isBegun = Gate()
        let gate = Gate()
        let handler: Server.Handler = { request, _ in
            guard request.target.path == "/gated" else {
                return .response(Response(.ok, body: [UInt8](repeating: UInt8(ascii: "x"), count: 60_000)))
            }
            isBegun.open()
            await gate.pass()
            return .response(Response(.ok, body: Array("gated".utf8)))
        }
        try await RunningServer.run(handler: handler) { server in
            let client = try server.connect(receiveBufferBytes: 4096)
            // Each answer is small enough to be gathered with the next, and together they are more than the kernel holds.
            for _ in 0..<200 { try client.send(get("/") + get("/")) }
            try client.send(get("/gated"))
            let received = try await onThread {
                try client.receive(through: "\r\n\r\n")
                var received = 0
                while !isBegun.isOpen { received += try client.receive(bytesMax: 4096).count }
                return received
            }
            gate.open()
            try client.send(get("/", closing: true))
            let rest = try await onThread { try client.receiveToEnd() }
            #expect(received > 0)
            #expect(rest.contains("gatedHTTP/1.1 200 OK"))
            #expect(rest.hasSuffix("x"))
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
            // Nobody reads until the server has given up: then draining has nothing to wait for.
            _ = try await onThread { try client.receive(through: "\r\n\r\n") }
            await server.drain()
            let rest = try? await onThread { try client.receiveToEnd() }
            #expect(rest?.utf8.count ?? 0 < Self.large.count)
        }
    }

    @Test func `a client that does not take its answer is not kept for the handler at work behind it`() async throws {
        let isBegun = Gate()
        let gate = Gate()
        let isDone = Gate()
        let handler: Server.Handler = { request, _ in
            if request.target.path == "/gated" {
                isBegun.open()
                await gate.pass()
                isDone.open()
            }
            return .response(Response(.ok, body: [UInt8](repeating: 0x78, count: 30_000)))
        }
        let configure: @Sendable (inout ServerConfiguration) -> Void = { $0.writeDeadline = .milliseconds(100) }
        try await RunningServer.run(configure: configure, handler: handler) { server in
            let client = try server.connect(receiveBufferBytes: 4096)
            try client.send(get("/") + get("/gated"))
            await isBegun.pass()
            gate.open()
            await isDone.pass()
            client.hangUp()
            await server.drain()
        }
    }
}
