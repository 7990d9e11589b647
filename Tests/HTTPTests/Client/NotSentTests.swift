import HTTP
import TestSupport
import Testing
import Transport

@Suite(.timeLimit(.minutes(1))) struct NotSentTests {
    private func outcome(
        at origin: URL.Origin, tls: TLSContext? = nil, deadline: Duration = .seconds(20),
        configuration: ClientConfiguration = ClientConfiguration()
    ) async throws -> Outcome {
        try await withLoop { loop in
            let client = Client(origin: origin, tls: tls, configuration: configuration)
            return await ScriptedUpstream(client: client, loop: loop).outcome(deadline: deadline)
        }
    }

    @Test func `a refused connection sends nothing`() async throws {
        // Bound and released: no process listens there.
        let port = try RawListener().port
        let outcome = try await outcome(at: .loopback(port: port))
        #expect(outcome == .notSent)
    }

    @Test func `a name without address sends nothing`() async throws {
        let host = String(repeating: "x", count: 63) + "." + String(repeating: "y", count: 64)
        let outcome = try await outcome(at: .loopback(host: host, port: 80))
        #expect(outcome == .notSent)
    }

    @Test func `a server that has moved is asked for anew after one request that was not sent`() async throws {
        let (old, new) = (Box<RawListener?>(try RawListener()), try RawListener())
        let oldPort = try #require(old.value?.port)
        let hasMoved = Box(false)
        var configuration = ClientConfiguration()
        configuration.resolutionLifetime = .seconds(3600)
        configuration.resolve = { (_, _) async throws(ResolutionError) in
            let port = hasMoved.value ? new.port : oldPort
            return [SocketAddress(numericHost: "127.0.0.1", port: port)].compactMap(\.self)
        }
        let client = Client(origin: .loopback(host: "payments.example.org", port: 80), configuration: configuration)
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\n"
        let outcomes = try await withLoop { loop in
            let upstream = ScriptedUpstream(client: client, loop: loop)
            async let first: Void = onThread {
                try old.value?.accept().answerOne(with: answer + "old")
                old.update { $0 = nil }
            }
            var outcomes = [await upstream.outcome()]
            try await first
            hasMoved.update { $0 = true }
            async let second: Void = onThread { try new.accept().answerOne(with: answer + "new") }
            outcomes.append(await upstream.outcome())
            outcomes.append(await upstream.outcome())
            if outcomes.last == .notSent { try RawConnection(port: new.port).send("\r\n\r\n") }
            try await second
            return outcomes
        }
        #expect(outcomes == [.answered(200, "old"), .notSent, .answered(200, "new")])
    }

    @Test func `a deadline that has passed already sends nothing, also on an open connection`() async throws {
        let outcomes = try await ScriptedUpstream.run { listener in
            let connection = try listener.accept()
            try connection.answerOne(with: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            let rest = try connection.receive()
            if !rest.isEmpty { throw SocketFailure("a request came all the same") }
        } body: { upstream in
            [await upstream.outcome(), await upstream.outcome(deadline: .zero)]
        }
        #expect(outcomes == [.answered(200, ""), .notSent])
    }

    @Test func `https without anybody to trust sends nothing`() async throws {
        let listener = try RawListener()
        let outcome = try await outcome(at: .loopback(.https, port: listener.port))
        #expect(outcome == .notSent)
    }

    @Test func `a server that does not go on with the handshake has the connect deadline, and is sent nothing`()
        async throws
    {
        let listener = try RawListener()
        var configuration = ClientConfiguration()
        configuration.connectDeadline = .milliseconds(10)
        let client = Client(
            origin: .loopback(.https, port: listener.port), tls: try .client(), configuration: configuration)
        try await withLoop { loop in
            let isOver = Gate()
            let request = loop.task {
                let outcome = await ScriptedUpstream(client: client, loop: loop).outcome(deadline: .seconds(3600))
                isOver.open()
                return outcome
            }
            // The client has begun its handshake, so its time runs.
            let connection = try await onThread {
                let connection = try listener.accept()
                _ = try connection.receive()
                return connection
            }
            // Begun later on the same loop, and longer: this ends second, however late both of them are.
            try await loop.sleep(for: .milliseconds(20))
            await loop.comeToRest()
            #expect(isOver.isOpen, "a handshake goes on when the connect deadline is over")
            connection.hangUp()
            #expect(try await request.value == .notSent)
        }
    }

    @Test(arguments: ["HTTP/1.1 400 Bad Request\r\n\r\n", "", "\u{16}\u{3}\u{3}\0\u{2}xx"])
    func `a server that speaks no TLS is sent nothing`(_ answer: String) async throws {
        let listener = try RawListener()
        async let playing: Void = onThread {
            let connection = try listener.accept()
            _ = try connection.receive()
            try connection.send(answer)
            connection.finishWriting()
            // The client may end in whatever way it likes.
            while let rest = try? connection.receive(), !rest.isEmpty {
                if String(decoding: rest, as: UTF8.self).contains("HTTP/1.1") { throw SocketFailure("a request came") }
            }
        }
        let outcome = try await outcome(at: .loopback(.https, port: listener.port), tls: try .client())
        try await playing
        #expect(outcome == .notSent)
    }
}
