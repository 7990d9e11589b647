import COpenSSL
import HTTP
import TestSupport
import Testing

@testable import Transport

@Suite(.timeLimit(.minutes(1))) struct TLSTests {
    /// A certificate, and whether the client trusts the authority that issued it.
    struct Flaw: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let names: String
        var validFrom = -3600
        var until = 3600
        var isSelfSigned = false
        var isTrusted = true
    }

    @Test(arguments: [
        Flaw(testDescription: "another host", names: "DNS:example.org"),
        Flaw(testDescription: "another address", names: "IP:127.0.0.2"),
        Flaw(testDescription: "a name that says it is an address", names: "DNS:127.0.0.1"),
        Flaw(testDescription: "expired", names: "IP:127.0.0.1", until: -60),
        Flaw(testDescription: "not yet valid", names: "IP:127.0.0.1", validFrom: 1800),
        Flaw(testDescription: "self-signed", names: "IP:127.0.0.1", isSelfSigned: true),
        Flaw(testDescription: "issued by nobody we trust", names: "IP:127.0.0.1", isTrusted: false),
    ])
    func `a server that cannot prove who it is sees no byte of the request`(_ flaw: Flaw) async throws {
        let authority = try TestAuthority()
        let identity = try authority.issue(
            flaw.names, validFrom: flaw.validFrom, until: flaw.until, isSelfSigned: flaw.isSelfSigned)
        // The other authority has the same name: only its signature tells it apart.
        let trusted = flaw.isTrusted ? authority : try TestAuthority()
        for version in [TLS1_2_VERSION, TLS1_3_VERSION] {
            let (outcome, bytesSeen) = try await exchange(with: identity, trusting: trusted, version: version)
            #expect(outcome == .notSent)
            #expect(bytesSeen == 0)
        }
    }

    @Test func `the same exchange with the right certificate carries a request`() async throws {
        let authority = try TestAuthority()
        let identity = try authority.issue("IP:127.0.0.1")
        for version in [TLS1_2_VERSION, TLS1_3_VERSION] {
            let (outcome, bytesSeen) = try await exchange(with: identity, trusting: authority, version: version)
            #expect(outcome == .answerLost)
            #expect(bytesSeen > 0)
        }
    }

    @Test(arguments: [
        ("DNS:payments.example.org", true), ("DNS:*.example.org", true), ("DNS:pay*.example.org", false),
        ("DNS:*ments.example.org", false), ("DNS:p*s.example.org", false), ("DNS:*.org", false),
        ("DNS:*.payments.example.org", false),
    ])
    func `a wildcard stands for a whole label, and for one alone`(names: String, isGood: Bool) async throws {
        let authority = try TestAuthority()
        let (outcome, bytesSeen) = try await exchange(
            with: try authority.issue(names), trusting: authority, version: TLS1_3_VERSION,
            host: "payments.example.org")
        #expect(outcome == (isGood ? .answerLost : .notSent))
        #expect((bytesSeen > 0) == isGood)
    }

    /// RFC 6066 §3: a name, and never an address.
    @Test(arguments: ["payments.example.org", "127.0.0.1"])
    func `the server is told which name is meant, so that it can show the certificate for it`(
        _ host: String
    ) async throws {
        let authority = try TestAuthority()
        let isName = host != "127.0.0.1"
        let identity = try authority.issue(isName ? "DNS:\(host)" : "IP:\(host)")
        let context = try TLSContext.server(certificateChain: identity.certificateFile, privateKey: identity.keyFile)
        let trust = try TLSContext.client(extraAuthorities: authority.certificateFile)
        let listener = try RawListener()
        async let told = onThread { () throws -> String? in
            let connection = try listener.accept()
            let session = SSL_new(context.pointer)
            defer { SSL_free(session) }
            // The socket blocks, so no call has to be repeated.
            guard SSL_set_fd(session, connection.descriptor) == 1, SSL_accept(session) == 1 else {
                throw SocketFailure("no handshake")
            }
            return SSL_get_servername(session, TLSEXT_NAMETYPE_host_name).map { String(cString: $0) }
        }
        let client = Client(
            origin: .loopback(.https, host: host, port: 443), tls: trust,
            configuration: .resolving(to: [listener.port]))
        _ = try await withLoop { loop in await ScriptedUpstream(client: client, loop: loop).outcome() }
        #expect(try await told == (isName ? host : nil))
    }

    @Test func `an address that stays silent leaves time for the one behind it`() async throws {
        let authority = try TestAuthority()
        let identity = try authority.issue("DNS:payments.example.org")
        let context = try TLSContext.server(certificateChain: identity.certificateFile, privateKey: identity.keyFile)
        let trust = try TLSContext.client(extraAuthorities: authority.certificateFile)
        let silent = try #require(SilentListener())
        try await RunningServer.run(tls: context, handler: echoPath) { server in
            var configuration = ClientConfiguration.resolving(to: [silent.port, server.port])
            configuration.connectDeadline = .seconds(4)
            let client = Client(
                origin: .loopback(.https, host: "payments.example.org", port: 443), tls: trust,
                configuration: configuration)
            let upstream = ScriptedUpstream(client: client, loop: server.loop)
            #expect(await upstream.outcome(of: Request(.get, "/1")) == .answered(200, "/1"))
            #expect(silent.takeConnections() == 1)
        }
    }

    @Test(arguments: [TLS1_VERSION, TLS1_1_VERSION])
    func `a server that speaks nothing newer than TLS 1.1 sees no byte of the request`(_ version: Int32) async throws {
        let authority = try TestAuthority()
        let identity = try authority.issue("IP:127.0.0.1")
        let (outcome, bytesSeen) = try await exchange(with: identity, trusting: authority, version: version)
        #expect(outcome == .notSent)
        #expect(bytesSeen == 0)
        // It is the client that refuses: one that would have it gets through to the same server.
        let lax = try TLSContext.client(extraAuthorities: authority.certificateFile)
        allow(only: version, in: lax)
        let (laxOutcome, laxBytesSeen) = try await exchange(
            with: identity, trusting: authority, version: version, as: lax)
        #expect(laxOutcome == .answerLost)
        #expect(laxBytesSeen > 0)
    }

    @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func `requests and large bodies go both ways over TLS, and the next connection resumes`(
        _ version: Int32
    ) async throws {
        let authority = try TestAuthority()
        let identity = try authority.issue("DNS:localhost")
        let context = try TLSContext.server(certificateChain: identity.certificateFile, privateKey: identity.keyFile)
        allow(only: version, in: context)
        let trust = try TLSContext.client(extraAuthorities: authority.certificateFile)
        let handler: Server.Handler = { request, context in
            request.target.path == "/closing"
                ? .raw(Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok".utf8))
                : .response(Response(context.isSecure ? .ok : .badRequest, body: request.body))
        }
        let configure: @Sendable (inout ServerConfiguration) -> Void = { $0.message.bodyBytesMax = 1_000_000 }
        try await RunningServer.run(tls: context, configure: configure, handler: handler) { server in
            let client = Client(origin: .loopback(.https, host: "localhost", port: server.port), tls: trust)
            let upstream = ScriptedUpstream(client: client, loop: server.loop)
            let text = String(repeating: "0123456789", count: 90_000)
            let request = Request(.post, "/", body: Array(text.utf8))
            // Both ends are on one loop, so each has to give way whenever the other has to go on.
            await withTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask(executorPreference: server.loop) {
                        #expect(await upstream.outcome(of: request) == .answered(200, text))
                    }
                }
            }
            #expect(resumptions(in: context) == 0)
            #expect(await upstream.outcome() == .answered(200, ""))
            let first = Client(origin: .loopback(.https, host: "localhost", port: server.port), tls: trust)
            let single = ScriptedUpstream(client: first, loop: server.loop)
            for number in 0..<5 {
                // The handler hangs up behind its answer, so each request needs a connection of its own.
                #expect(await single.outcome(of: Request(.get, "/closing")) == .answered(200, "ok"))
                #expect(resumptions(in: context) == number)
            }
        }
    }

    @Test func `a replaced certificate serves the next connection, and the one that stands keeps its own`() async throws
    {
        let authority = try TestAuthority()
        let old = try authority.issue("DNS:localhost")
        let new = try authority.issue("DNS:replaced.example")
        let context = try TLSContext.server(certificateChain: old.certificateFile, privateKey: old.keyFile)
        let trust = try TLSContext.client(extraAuthorities: authority.certificateFile)
        try await RunningServer.run(tls: context, handler: echoPath) { server in
            let origin = URL.Origin.loopback(.https, host: "localhost", port: server.port)
            let standing = ScriptedUpstream(client: Client(origin: origin, tls: trust), loop: server.loop)
            #expect(await standing.outcome(of: Request(.get, "/1")) == .answered(200, "/1"))
            server.replaceTLS(
                try TLSContext.server(certificateChain: new.certificateFile, privateKey: new.keyFile))
            #expect(await standing.outcome(of: Request(.get, "/2")) == .answered(200, "/2"))
            // The new certificate is another host's, so that it can be told from the old one.
            let next = ScriptedUpstream(client: Client(origin: origin, tls: trust), loop: server.loop)
            #expect(await next.outcome(of: Request(.get, "/3")) == .notSent)
        }
    }

    @Test func `a body that the end of the connection ends needs TLS's own end`() async throws {
        let authority = try TestAuthority()
        let identity = try authority.issue("IP:127.0.0.1")
        for isCut in [false, true] {
            let answer = "HTTP/1.1 200 OK\r\n\r\nhello"
            let (outcome, _) = try await exchange(
                with: identity, trusting: authority, version: TLS1_3_VERSION, answer: answer, isCut: isCut)
            #expect(outcome == (isCut ? .answerLost : .answered(200, "hello")))
        }
    }

    /// One request to a server that counts the bytes inside TLS that it sees, answers, and ends.
    private func exchange(
        with identity: TestAuthority.Identity, trusting authority: TestAuthority, version: Int32, answer: String = "",
        isCut: Bool = false, as client: TLSContext? = nil, host: String = "127.0.0.1"
    ) async throws -> (Outcome, bytesSeen: Int) {
        let context = try TLSContext.server(certificateChain: identity.certificateFile, privateKey: identity.keyFile)
        allow(only: version, in: context)
        let trust = try client ?? TLSContext.client(extraAuthorities: authority.certificateFile)
        let listener = try RawListener()
        async let seen = onThread { () throws -> Int in
            let connection = try listener.accept()
            // The socket blocks, so no call has to be repeated.
            let session = try TLSSession(server: context)
            try session.attach(to: connection.descriptor)
            guard (try? session.handshake()) == .moved(0) else { return 0 }
            var buffer = [UInt8](repeating: 0, count: 65_536)
            guard case .moved(let count)? = try? buffer.withUnsafeMutableBytes({ try session.read(into: $0) }) else {
                return 0
            }
            if !answer.isEmpty { _ = try Array(answer.utf8).withUnsafeBytes { try session.write($0) } }
            if !isCut { session.finishWriting() }
            connection.finishWriting()
            return count
        }
        let outcome = try await withLoop { loop in
            var configuration = ClientConfiguration.resolving(to: [listener.port])
            configuration.connectDeadline = .seconds(60)
            let client = Client(
                origin: .loopback(.https, host: host, port: 443), tls: trust, configuration: configuration)
            return await ScriptedUpstream(client: client, loop: loop).outcome()
        }
        return (outcome, try await seen)
    }
}

/// `SSL_CTX_set_min_proto_version` and `…_max_…`, which are macros.
private func allow(only version: Int32, in context: TLSContext) {
    // The server is as lax as can be, so that it is the client who refuses what is older than TLS 1.2.
    if version < TLS1_2_VERSION { SSL_CTX_set_cipher_list(context.pointer, "ALL:@SECLEVEL=0") }
    SSL_CTX_ctrl(context.pointer, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(version), nil)
    SSL_CTX_ctrl(context.pointer, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(version), nil)
}

/// `SSL_CTX_sess_hits`, which is a macro.
private func resumptions(in context: TLSContext) -> Int {
    SSL_CTX_ctrl(context.pointer, SSL_CTRL_SESS_HIT, 0, nil)
}
