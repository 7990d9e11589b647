import HTTP
import TestSupport
import Testing
import Transport

/// Requests that do not come to their end are held in memory: so many bytes of one owner, and so many in all.
@Suite(.timeLimit(.minutes(1))) struct SlowSenderTests {
    private static let length = 40_000
    private static let piece = String(repeating: "x", count: 30_000)
    private static let begun = "POST /whole HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n\r\n" + piece
    private static let rest = String(repeating: "y", count: 10_000)

    /// Sends a request but for its last bytes, and waits until the server holds them.
    private func begin(
        _ text: String, holding bytes: Int, of server: RunningServer, from host: UInt8
    ) async throws -> RawConnection {
        let held = server.unfinishedBytes
        let client = try server.connect(from: host)
        try await onThread { try client.send(text) }
        while server.unfinishedBytes < held + bytes { await Task.yield() }
        return client
    }

    private func beginBody(of server: RunningServer, from host: UInt8) async throws -> RawConnection {
        try await begin(Self.begun, holding: Self.length, of: server, from: host)
    }

    private func finish(_ client: RawConnection) async throws {
        let answer = try await onThread {
            try client.send(Self.rest)
            return try client.receive(through: "/whole")
        }
        #expect(answer.hasPrefix("HTTP/1.1 200 "))
    }

    private func isRefused(_ client: RawConnection) async throws {
        let answer = try await onThread { try client.receive(through: "\r\n\r\n") }
        #expect(answer.hasPrefix("HTTP/1.1 503 "))
    }

    @Test func `past an owner's bytes his oldest unfinished request is refused, and nobody else's`() async throws {
        let configure: @Sendable (inout ServerConfiguration) -> Void = { $0.unfinishedBytesPerOwnerMax = 100_000 }
        try await RunningServer.run(configure: configure, handler: echoPath) { server in
            let other = try await beginBody(of: server, from: 3)
            let first = try await beginBody(of: server, from: 2)
            let second = try await beginBody(of: server, from: 2)
            let third = try server.connect(from: 2)
            try await onThread {
                try third.send(Self.begun)
            }
            try await isRefused(first)
            for client in [second, third, other] { try await finish(client) }
            while server.unfinishedBytes > 0 { await Task.yield() }
        }
    }

    @Test func `past the bytes of all those are refused whose owner has most`() async throws {
        let configure: @Sendable (inout ServerConfiguration) -> Void = { $0.unfinishedBytesMax = 100_000 }
        try await RunningServer.run(configure: configure, handler: echoPath) { server in
            let modest = try await beginBody(of: server, from: 3)
            let greedy = try await beginBody(of: server, from: 2)
            let greedier = try server.connect(from: 2)
            try await onThread {
                try greedier.send(Self.begun)
            }
            try await isRefused(greedy)
            for client in [modest, greedier] { try await finish(client) }
        }
    }

    @Test func `heads count as bodies do`() async throws {
        let configure: @Sendable (inout ServerConfiguration) -> Void = { $0.unfinishedBytesPerOwnerMax = 40_000 }
        let head = "GET /" + String(repeating: "x", count: 15_000)
        try await RunningServer.run(configure: configure, handler: echoPath) { server in
            let first = try await begin(head, holding: 15_000, of: server, from: 2)
            let second = try await begin(head, holding: 15_000, of: server, from: 2)
            let third = try server.connect(from: 2)
            try await onThread { try third.send(head) }
            try await isRefused(first)
            for client in [second, third] {
                _ = try await onThread {
                    try client.send("/whole HTTP/1.1\r\nHost: a\r\n\r\n")
                    return try client.receive(through: "/whole")
                }
            }
        }
    }

    @Test func `what waits behind a held answer counts too, and goes with its connection`() async throws {
        let handler: Server.Handler = { request, context in
            guard request.target.path == "/held", let loop = EventLoop.current else {
                return await echoPath(request, context)
            }
            let signal = LoopBound(WakeSignal(), on: loop)
            return .held(HeldReply(signal: signal, until: .now() + .seconds(3_600)) { _ in .response(Response(.ok)) })
        }
        let configure: @Sendable (inout ServerConfiguration) -> Void = { $0.unfinishedBytesPerOwnerMax = 50_000 }
        let text = get("/held") + String(repeating: get("/whole"), count: 500)
        try await RunningServer.run(configure: configure, handler: handler) { server in
            let first = try await begin(text, holding: 10_000, of: server, from: 2)
            let second = try await begin(text, holding: 10_000, of: server, from: 2)
            try await onThread {
                let third = try server.connect(from: 2)
                try third.send("POST /whole HTTP/1.1\r\nHost: a\r\nContent-Length: 45000\r\n\r\n" + Self.piece)
                for client in [first, second] { #expect((try? client.receiveToEnd()) ?? "" == "") }
                try third.send(String(repeating: "y", count: 15_000))
                _ = try third.receive(through: "/whole")
            }
            while server.unfinishedBytes > 0 { await Task.yield() }
        }
    }
}
