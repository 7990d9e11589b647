import HTTP
import TestSupport
import Testing
import Transport

/// Answers that clients do not read are held in memory: so many bytes of one owner, and so many in all.
@Suite(.timeLimit(.minutes(1))) struct SlowReaderTests {
    /// More than the kernel's buffers hold of it.
    private static let large = [UInt8](repeating: UInt8(ascii: "x"), count: 8_000_000)

    private final class Permit: Sendable {
        let count: Box<Int>

        init(_ count: Box<Int>) {
            self.count = count
            count.update { $0 += 1 }
        }

        deinit { count.update { $0 -= 1 } }
    }

    /// The path names the owner of the answer; the answer is large unless the owner wants a small one.
    private let handler: Server.Handler = { request, context in
        let owner = UInt64(request.target.path.dropFirst()) ?? 0
        context.setOwner(owner)
        return .response(Response(.ok, body: owner == 9 ? [] : Self.large))
    }

    private func get(_ owner: Int) -> String { "GET /\(owner) HTTP/1.1\r\nHost: a\r\n\r\n" }

    private func slowReader(_ owner: Int, of server: RunningServer) async throws -> RawConnection {
        let client = try server.connect(receiveBufferBytes: 4096)
        try client.send(get(owner))
        _ = try await onThread { try client.receive(through: "\r\n\r\n") }
        return client
    }

    /// Whether the whole answer comes.
    private func readsAll(_ client: RawConnection) async -> Bool {
        let readsAll = try? await onThread {
            var count = 0
            while count < Self.large.count {
                guard let bytes = try? client.receive(bytesMax: 1 << 20), !bytes.isEmpty else { return false }
                count += bytes.count
            }
            return true
        }
        return readsAll ?? false
    }

    @Test func `past an owner's bytes the one who has taken longest is hung up on, and nobody else's`() async throws {
        let configure: @Sendable (inout ServerConfiguration) -> Void = { $0.unsentBytesPerOwnerMax = 20_000_000 }
        try await RunningServer.run(configure: configure, handler: handler) { server in
            let other = try await slowReader(2, of: server)
            var clients: [RawConnection] = []
            for _ in 0..<4 { clients.append(try await slowReader(1, of: server)) }
            #expect(await !readsAll(clients[0]))
            for client in clients[2...] { #expect(await readsAll(client)) }
            #expect(await readsAll(other))
        }
    }

    @Test func `past the bytes of all those are hung up on whose owner has most`() async throws {
        let configure: @Sendable (inout ServerConfiguration) -> Void = {
            $0.unsentBytesMax = 20_000_000
            $0.unsentBytesPerOwnerMax = 1 << 40
        }
        try await RunningServer.run(configure: configure, handler: handler) { server in
            var clients: [RawConnection] = []
            for owner in [1, 2, 2] { clients.append(try await slowReader(owner, of: server)) }
            #expect(await !readsAll(clients[1]))
            for client in [clients[0], clients[2]] { #expect(await readsAll(client)) }
        }
    }

    @Test func `what was kept for a request is let go of when its answer has left, or its client`() async throws {
        let kept = Box(0)
        let handler: Server.Handler = { request, context in
            context.keep(Permit(kept))
            return .response(Response(.ok, body: request.target.path == "/9" ? [] : Self.large))
        }
        let configure: @Sendable (inout ServerConfiguration) -> Void = { $0.unsentBytesPerOwnerMax = 20_000_000 }
        try await RunningServer.run(configure: configure, handler: handler) { server in
            let small = try server.connect()
            try small.send(get(9))
            _ = try await onThread { try small.receive(through: "\r\n\r\n") }
            #expect(kept.value == 0)
            let slow = try await slowReader(1, of: server)
            #expect(kept.value == 1)
            #expect(await readsAll(slow))
            // The last byte has left before it could be read, and the server notices it in the same turn.
            while kept.value > 0 { await Task.yield() }
            let gone = try await slowReader(1, of: server)
            #expect(kept.value == 1)
            // Broken off: a client that has only ended its own side may still take its answer.
            gone.reset()
            while kept.value > 0 { await Task.yield() }
        }
    }
}
