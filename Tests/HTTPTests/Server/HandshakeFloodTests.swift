import COpenSSL
import Glibc
import HTTP
import TestSupport
import Testing

@testable import Transport

/// Clients that begin handshakes by the thousand keep no other waiting for all of them.
@Suite(.timeLimit(.minutes(1))) struct HandshakeFloodTests {
    @Test func `handshakes that are begun at once have others on the loop served in between`() async throws {
        try await RunningServer.run(tls: serverContext(), handler: echoPath) { server in
            let hello = try clientHello()
            let clients = try (0..<64).map { _ in try server.connect() }
            let begun = Counter()
            let plain = HTTP.Server(refusal: { Response($0.status) }) { _, _ in
                begun.count = clients.count { $0.hasSomethingToRead(within: .zero) }
                return .response(Response(.ok))
            }
            let listener = try Listener(at: #require(SocketAddress(numericHost: "127.0.0.1", port: 0)))
            try await plain.listen(to: listener, on: [server.loop])
            let other = try RawConnection(port: listener.address.port)
            // Each turn accepts some of them.
            for _ in 0..<16 { try await server.loop.sleep(for: .milliseconds(1)) }
            try await server.loop.task {
                for client in clients { try client.send(hello) }
                try other.send(get("/"))
            }.value
            _ = try await onThread { try other.receive(through: "\r\n\r\n") }
            #expect((1...4).contains(begun.count))
            // All of them are served in the end, and those that have gone meanwhile are no matter.
            for client in clients.suffix(8) { client.reset() }
            for client in clients.prefix(56) { #expect(try await onThread { try !client.receive().isEmpty }) }
            await plain.drain(loops: [server.loop], within: .zero)
        }
    }

    @Test func `an address has so many handshakes, another one has its own, and a proxy's are not counted`()
        async throws
    {
        let configure: @Sendable (inout ServerConfiguration) -> Void = {
            $0.handshakeRatePerAddress = 1
            $0.isProxy = { $0 == IPAddress("127.0.0.3") }
        }
        try await RunningServer.run(tls: serverContext(), configure: configure, handler: echoPath) { server in
            let hello = try clientHello()
            func begun(_ count: Int, from host: UInt8) async throws -> [Bool] {
                try await onThread {
                    let clients = try (0..<count).map { _ in try server.connect(from: host) }
                    return clients.map { client in
                        do {
                            try client.send(hello)
                            return try !client.receive().isEmpty
                        } catch {
                            return false
                        }
                    }
                }
            }
            let (start, first) = (Monotonic.now(), try await begun(30, from: 2))
            // Five, and one for each second that this took.
            let passed = Int((Monotonic.now() - start).components.seconds) + 1
            #expect(first.prefix(5).allSatisfy(\.self) && (5...5 + passed).contains(first.count(where: \.self)))
            // Connections without a word take no handshake from others behind the same address.
            let silent = try (0..<40).map { _ in try server.connect(from: 4) }
            #expect(try await begun(5, from: 4).allSatisfy(\.self))
            for client in silent { client.reset() }
            #expect(try await begun(30, from: 3).allSatisfy(\.self))
        }
    }

    @Test(arguments: [(updates: 40, isAnswered: true), (updates: 100, isAnswered: false)])
    func `a client that changes its keys again and again is hung up on`(updates: Int, isAnswered: Bool) async throws {
        try await RunningServer.run(tls: serverContext(), handler: echoPath) { server in
            let client = try server.connect()
            let answer = try await onThread { try Self.answer(over: client, after: updates) }
            #expect(answer.hasPrefix("HTTP/1.1 200 OK") == isAnswered, "\(answer)")
        }
    }

    /// Sends a request behind so many changes of the key (RFC 8446 §4.6.3), and returns the answer; nothing where the
    /// server has hung up.
    private static func answer(over client: RawConnection, after updates: Int) throws -> String {
        let context = try #require(SSL_CTX_new(TLS_client_method()))
        defer { SSL_CTX_free(context) }
        let ssl = try #require(SSL_new(context))
        defer { SSL_free(ssl) }
        #expect(SSL_set_fd(ssl, client.descriptor) == 1 && SSL_connect(ssl) == 1)
        for _ in 0..<updates {
            guard SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED) == 1, SSL_do_handshake(ssl) == 1 else { return "" }
        }
        let request = Array(get("/").utf8)
        _ = SSL_write(ssl, request, Int32(request.count))
        var answer = [UInt8](repeating: 0, count: 16_384)
        let count = SSL_read(ssl, &answer, Int32(answer.count))
        return String(decoding: answer.prefix(Int(max(0, count))), as: UTF8.self)
    }

    private func serverContext() throws -> TLSContext {
        let authority = try TestAuthority()
        // Its files are gone with it.
        defer { withExtendedLifetime(authority) {} }
        let identity = try authority.issue("DNS:localhost")
        return try TLSContext.server(certificateChain: identity.certificateFile, privateKey: identity.keyFile)
    }

    /// The first bytes that a client sends.
    private func clientHello() throws -> [UInt8] {
        let context = try #require(SSL_CTX_new(TLS_client_method()))
        defer { SSL_CTX_free(context) }
        let ssl = try #require(SSL_new(context))
        defer { SSL_free(ssl) }
        let sent = try #require(BIO_new(BIO_s_mem()))
        SSL_set_bio(ssl, BIO_new(BIO_s_mem()), sent)
        SSL_set_connect_state(ssl)
        #expect(SSL_do_handshake(ssl) < 0)
        var hello = [UInt8](repeating: 0, count: 16_384)
        let count = BIO_read(sent, &hello, Int32(hello.count))
        return Array(hello.prefix(Int(count)))
    }

    /// Written on the server's loop, read when it has answered.
    private final class Counter: @unchecked Sendable {
        var count = 0
    }
}
