import COpenSSL
import HTTP
import TestSupport
import Testing

@testable import Transport

/// The server's end of TLS refuses old versions and weak ciphers, tried with a client that would accept anything.
@Suite(.timeLimit(.minutes(1))) struct TLSOfferTests {
    /// All that a client offers.
    struct Offer: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var version = TLS1_2_VERSION
        var ciphers = "ALL:eNULL:@SECLEVEL=0"
        var suites = "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256"
        var groups = "X25519:P-256"
        var takesTickets = true
    }

    @Test(arguments: [
        Offer(testDescription: "TLS 1.0", version: TLS1_VERSION),
        Offer(testDescription: "TLS 1.1", version: TLS1_1_VERSION),
        Offer(testDescription: "CBC", ciphers: "ECDHE+AES+SHA384:ECDHE+AES+SHA256:ECDHE+AES+SHA"),
        Offer(testDescription: "CCM with a short tag", ciphers: "ECDHE+AESCCM8"),
        Offer(testDescription: "a key that the certificate's would give away", ciphers: "kRSA:@SECLEVEL=0"),
        Offer(testDescription: "Diffie-Hellman without curves", ciphers: "DHE:@SECLEVEL=0"),
        Offer(testDescription: "nobody's certificate", ciphers: "aNULL:@SECLEVEL=0"),
        Offer(testDescription: "no encryption", ciphers: "eNULL:@SECLEVEL=0"),
        Offer(testDescription: "CCM with TLS 1.3", version: TLS1_3_VERSION, suites: "TLS_AES_128_CCM_8_SHA256"),
        Offer(testDescription: "a costly group", version: TLS1_3_VERSION, groups: "ffdhe8192"),
        Offer(testDescription: "a costly curve", version: TLS1_3_VERSION, groups: "P-521"),
        Offer(testDescription: "a curve that few have", groups: "X448"),
    ])
    func `what is weak, or costs the server more than others, is not agreed to`(_ offer: Offer) async throws {
        try await TLSPeer.meet(offer) { peer in
            #expect(!peer.greet())
        }
    }

    @Test(arguments: [
        (Offer(testDescription: "TLS 1.2"), "ECDHE-ECDSA-AES256-GCM-SHA384"),
        (
            Offer(testDescription: "weak ones first", ciphers: "ECDHE+AES+SHA:ECDHE+AESGCM:@SECLEVEL=0"),
            "ECDHE-ECDSA-AES256-GCM-SHA384"
        ),
        (
            Offer(testDescription: "without fast AES", ciphers: "ECDHE+CHACHA20:ECDHE+AESGCM"),
            "ECDHE-ECDSA-CHACHA20-POLY1305"
        ),
        (
            Offer(testDescription: "the server's order", ciphers: "ECDHE+AESGCM+AES128:ECDHE+AESGCM+AES256"),
            "ECDHE-ECDSA-AES256-GCM-SHA384"
        ),
        (Offer(testDescription: "TLS 1.3", version: TLS1_3_VERSION), "TLS_AES_256_GCM_SHA384"),
        (Offer(testDescription: "P-256 alone", version: TLS1_3_VERSION, groups: "P-256"), "TLS_AES_256_GCM_SHA384"),
        (Offer(testDescription: "P-384 alone", version: TLS1_3_VERSION, groups: "P-384"), "TLS_AES_256_GCM_SHA384"),
    ])
    func `the server chooses among what is strong`(_ offer: Offer, _ cipher: String) async throws {
        try await TLSPeer.meet(offer) { peer in
            #expect(peer.greet())
            #expect(peer.cipher == cipher)
        }
    }

    @Test func `whoever wants a second handshake on a connection gets none`() async throws {
        try await TLSPeer.meet(Offer(testDescription: "TLS 1.2")) { peer in
            #expect(peer.greet())
            #expect(!peer.greetAgain())
        }
    }

    @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func `nothing is kept of the sessions of clients that take no tickets`(_ version: Int32) async throws {
        let offer = Offer(testDescription: "no tickets", version: version, takesTickets: false)
        let kept = try await TLSPeer.meet(offer) { #expect($0.greet()) }
        #expect(kept == 0)
    }

    @Test(arguments: [[], [0x16], Array("\u{16}\u{3}\u{1}\u{1}\u{0}\u{1}".utf8)] as [[UInt8]])
    func `a handshake that does not get on is closed, a byte now and then or not`(_ beginning: [UInt8]) async throws {
        let context = try TLSPeer.serverContext()
        let configure: @Sendable (inout ServerConfiguration) -> Void = { $0.headerDeadline = .milliseconds(100) }
        try await RunningServer.run(tls: context, configure: configure, handler: echoPath) { server in
            let client = try server.connect()
            let answer = try await onThread {
                try client.send(beginning)
                while !client.hasSomethingToRead(within: .milliseconds(10)) {
                    if !beginning.isEmpty { try? client.send([0]) }
                }
                return (try? client.receive()) ?? []
            }
            // The end, or a reset, or the alert that says why. An answer in the clear is none of them.
            #expect(answer.first == nil || answer.first == UInt8(SSL3_RT_ALERT))
        }
    }

    @Test func `whoever shakes hands when draining begins has a request answered`() async throws {
        try await RunningServer.run(tls: TLSPeer.serverContext(), handler: echoPath) { server in
            let client = try server.connect()
            let draining = server.loop.task { await server.drain() }
            // The loop does one thing after the other: when this one is done, draining has put its own in line.
            _ = try await server.loop.task {}.value
            _ = try await server.loop.task {}.value
            try await onThread {
                let peer = try TLSPeer(Offer(testDescription: "late"), client)
                #expect(peer.greet())
                client.hangUp()
            }
            try await draining.value
        }
    }

    @Test func `behind the handshake the first byte has its deadline too`() async throws {
        let configure: @Sendable (inout ServerConfiguration) -> Void = { $0.headerDeadline = .milliseconds(100) }
        try await TLSPeer.meet(Offer(testDescription: "silent"), configure: configure) { peer in
            #expect(peer.shakeHands())
            #expect(peer.hearsTheEnd())
        }
    }
}

/// A client that blocks, and agrees to whatever it is told to.
private final class TLSPeer {
    private let context: OpaquePointer
    private let ssl: OpaquePointer
    private let connection: RawConnection

    /// Has a client talk to a server, on a thread. Gives the sessions that the server keeps.
    @discardableResult
    static func meet(
        _ offer: TLSOfferTests.Offer, configure: @escaping @Sendable (inout ServerConfiguration) -> Void = { _ in },
        _ body: @escaping @Sendable (TLSPeer) throws -> Void
    ) async throws -> Int {
        let context = try serverContext()
        try await RunningServer.run(tls: context, configure: configure, handler: echoPath) { server in
            try await onThread { try body(TLSPeer(offer, server.connect())) }
        }
        return SSL_CTX_ctrl(context.pointer, SSL_CTRL_SESS_NUMBER, 0, nil)
    }

    static func serverContext() throws -> TLSContext {
        let authority = try TestAuthority()
        // Its files are gone with it.
        defer { withExtendedLifetime(authority) {} }
        let identity = try authority.issue("DNS:localhost")
        return try TLSContext.server(certificateChain: identity.certificateFile, privateKey: identity.keyFile)
    }

    init(_ offer: TLSOfferTests.Offer, _ connection: RawConnection) throws {
        self.connection = connection
        context = try #require(SSL_CTX_new(TLS_client_method()))
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(offer.version), nil)
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(offer.version), nil)
        // A client that could not even offer it would prove nothing.
        try #require(SSL_CTX_set_cipher_list(context, offer.ciphers) == 1)
        try #require(SSL_CTX_set_ciphersuites(context, offer.suites) == 1)
        try #require(copenssl_set_groups(context, offer.groups) == 1)
        if !offer.takesTickets { SSL_CTX_set_options(context, 1 << 14) }  // SSL_OP_NO_TICKET, a macro.
        ssl = try #require(SSL_new(context))
        SSL_set_fd(ssl, connection.descriptor)
        SSL_set_connect_state(ssl)
    }

    deinit {
        // A session whose end was not said would be forgotten in any case.
        SSL_shutdown(ssl)
        SSL_free(ssl)
        SSL_CTX_free(context)
    }

    /// Shakes hands and has a request answered: with TLS 1.3 a client is done before the server has agreed.
    func greet() -> Bool { shakeHands() && isAnswered() }

    func shakeHands() -> Bool {
        ERR_clear_error()
        return SSL_do_handshake(ssl) == 1
    }

    /// The same once more on the same connection.
    func greetAgain() -> Bool {
        SSL_renegotiate(ssl) == 1 && greet()
    }

    var cipher: String { String(cString: SSL_CIPHER_get_name(SSL_get_current_cipher(ssl))) }

    private func isAnswered() -> Bool {
        let request = Array(get("/").utf8)
        guard SSL_write(ssl, request, Int32(request.count)) > 0 else { return false }
        var answer = [UInt8](repeating: 0, count: 16_384)
        let count = SSL_read(ssl, &answer, Int32(answer.count))
        return count > 0 && answer.starts(with: "HTTP/1.1 200".utf8)
    }

    /// Waits for what comes next: whether it is the end of the connection.
    func hearsTheEnd() -> Bool {
        var byte: UInt8 = 0
        return connection.hasSomethingToRead(within: .seconds(20)) && SSL_read(ssl, &byte, 1) <= 0
    }
}
