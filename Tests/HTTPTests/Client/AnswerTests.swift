import HTTP
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct AnswerTests {
    private static let whole = [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
            + "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    ]

    @Test(arguments: whole)
    func `an answer that is cut is never complete, wherever it is cut`(_ answer: String) async throws {
        let cuts = 0..<answer.utf8.count
        let outcomes = try await ScriptedUpstream.run { listener in
            for cut in cuts {
                let connection = try listener.accept()
                try connection.answerOne(with: String(answer.prefix(utf8Count: cut)))
            }
        } body: { upstream in
            var outcomes: [Outcome] = []
            for _ in cuts { outcomes.append(await upstream.outcome()) }
            return outcomes
        }
        #expect(outcomes == cuts.map { _ in .answerLost })
    }

    /// An end in order is what completes some answers; a reset completes none.
    @Test(arguments: whole + ["HTTP/1.1 200 OK\r\n\r\nhello", "HTTP/1.0 200 OK\r\nX: y\r\n\r\nhello"])
    func `an answer that a reset breaks off is never complete`(_ answer: String) async throws {
        let isWhole = Self.whole.contains(answer)
        let cuts = 0..<answer.utf8.count + (isWhole ? 0 : 1)
        let outcomes = try await ScriptedUpstream.run { listener in
            for cut in cuts {
                let connection = try listener.accept()
                try connection.answerOne(with: String(answer.prefix(utf8Count: cut)))
                connection.reset()
            }
        } body: { upstream in
            var outcomes: [Outcome] = []
            for _ in cuts { outcomes.append(await upstream.outcome()) }
            return outcomes
        }
        #expect(outcomes == cuts.map { _ in .answerLost })
    }

    @Test(arguments: whole + ["HTTP/1.1 200 OK\r\n\r\nhello", "HTTP/1.0 200 OK\r\n\r\nhello"])
    func `a whole answer is taken, also when it comes byte by byte`(_ answer: String) async throws {
        let outcomes = try await ScriptedUpstream.run { listener in
            for inOneGo in [true, false] {
                let connection = try listener.accept()
                try connection.receive(through: "\r\n\r\n")
                if inOneGo {
                    try connection.send(answer)
                } else {
                    for byte in answer.utf8 { try connection.send([byte]) }
                }
                connection.hangUp()
            }
        } body: { upstream in
            let first = await upstream.outcome()
            // The connection is gone or about to go: the second request must not be sent into it.
            await upstream.client.closeIdle(on: upstream.loop)
            return [first, await upstream.outcome()]
        }
        #expect(outcomes == [.answered(200, "hello"), .answered(200, "hello")])
    }

    /// A text that is repeated many times, named because a megabyte makes no readable test name.
    struct Flood: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let beginning: String
        var repeated = ""
        var count = 0

        var text: String { beginning + String(repeating: repeated, count: count) }
    }

    @Test(arguments: [
        Flood(testDescription: "announced length", beginning: "HTTP/1.1 200 OK\r\nContent-Length: 1048577\r\n\r\n"),
        Flood(
            testDescription: "announced chunk",
            beginning: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n100001\r\n"),
        Flood(
            testDescription: "body until close", beginning: "HTTP/1.1 200 OK\r\n\r\n", repeated: "x", count: 1_048_577),
        Flood(testDescription: "fields", beginning: "HTTP/1.1 200 OK\r\n", repeated: "X: y\r\n", count: 200),
        Flood(testDescription: "one field", beginning: "HTTP/1.1 200 OK\r\nX: ", repeated: "y", count: 20_000),
        Flood(testDescription: "status line", beginning: "HTTP/1.1 200 ", repeated: "y", count: 20_000),
        Flood(
            testDescription: "interim answers", beginning: "",
            repeated: "HTTP/1.1 103 Early Hints\r\n\r\n", count: 100),
        Flood(
            testDescription: "chunk extensions", beginning: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            repeated: "1;xxxxxxx\r\ny\r\n", count: 9000),
    ])
    func `an answer past all bounds is given up before it ends`(_ flood: Flood) async throws {
        let outcome = try await ScriptedUpstream.run { listener in
            let connection = try listener.accept()
            try connection.receive(through: "\r\n\r\n")
            // The client may have hung up before the last byte; that is what is wanted.
            try? connection.send(flood.text)
            _ = try? connection.receive()
        } body: {
            await $0.outcome()
        }
        #expect(outcome == .answerLost)
    }

    @Test(arguments: [
        Flood(
            testDescription: "announced length", beginning: "HTTP/1.1 200 OK\r\nContent-Length: 20000000\r\n\r\n",
            repeated: "x", count: 20_000_000),
        Flood(
            testDescription: "chunks", beginning: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            repeated: "10000\r\n" + String(repeating: "x", count: 65_536) + "\r\n", count: 305),
        Flood(
            testDescription: "until close", beginning: "HTTP/1.1 200 OK\r\n\r\n", repeated: "x", count: 20_000_000),
        Flood(testDescription: "fields", beginning: "HTTP/1.1 200 OK\r\n", repeated: "X: y\r\n", count: 3_400_000),
    ])
    func `whoever sends 20 MB is hung up on before they are sent`(_ flood: Flood) async throws {
        let isHungUpOn = Box(false)
        let outcome = try await ScriptedUpstream.run { listener in
            let connection = try listener.accept()
            try connection.receive(through: "\r\n\r\n")
            do { try connection.send(flood.text) } catch { isHungUpOn.update { $0 = true } }
        } body: {
            await $0.outcome()
        }
        // Told apart first: a failure must not print 20 MB.
        let isLost = outcome == .answerLost
        #expect(isLost)
        #expect(isHungUpOn.value)
    }

    @Test(arguments: ["SSH-2.0-OpenSSH_9.2\r\n", "HTTP/2 200 OK\r\n\r\n", "<html>", "\r\n\r\n\r\n\r\n", "\0"])
    func `nonsense is a lost answer`(_ answer: String) async throws {
        let outcome = try await ScriptedUpstream.run { listener in
            try listener.accept().answerOne(with: answer)
        } body: {
            await $0.outcome()
        }
        #expect(outcome == .answerLost)
    }

    @Test(arguments: [
        ("HTTP/1.1 200 ", "x"), ("HTTP/1.1 200 OK\r\nX: ", "x"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", "x"), ("HTTP/1.1 200 OK\r\n\r\n", "x"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "0"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\n", "x"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ", "x"),
    ])
    func `a byte now and then does not put off the deadline`(_ beginning: String, byte: String) async throws {
        let outcome = try await ScriptedUpstream.run { listener in
            let connection = try listener.accept()
            try connection.answerOne(with: beginning)
            // The reading side gets the client's end and nothing else.
            while !connection.hasSomethingToRead(within: .milliseconds(10)) { try connection.send(byte) }
        } body: {
            await $0.outcome(deadline: .milliseconds(200))
        }
        #expect(outcome == .timedOut)
    }

    @Test func `no answer is no answer in time`() async throws {
        let outcome = try await ScriptedUpstream.run { listener in
            let connection = try listener.accept()
            try connection.receive(through: "\r\n\r\n")
            _ = try connection.receive()
        } body: {
            await $0.outcome(deadline: .milliseconds(50))
        }
        #expect(outcome == .timedOut)
    }

    @Test func `a connection that is reset after the request is a lost answer`() async throws {
        let outcome = try await ScriptedUpstream.run { listener in
            let connection = try listener.accept()
            try connection.receive(through: "\r\n\r\n")
            connection.reset()
        } body: {
            await $0.outcome()
        }
        #expect(outcome == .answerLost)
    }

    @Test(arguments: [false, true])
    func `an answer given before the request was whole is taken`(_ readsOn: Bool) async throws {
        let outcome = try await ScriptedUpstream.run { listener in
            let connection = try listener.accept()
            try connection.answerOne(with: "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig")
            // Letting go of it with bytes unread resets the connection, and the client cannot send the rest.
            guard readsOn else { return }
            connection.finishWriting()
            while case let rest = try connection.receive(), !rest.isEmpty {}
        } body: { upstream in
            await upstream.outcome(of: Request(.post, "/", body: [UInt8](repeating: 0x78, count: 12_000_000)))
        }
        #expect(outcome == .answered(413, "big"))
    }
}

extension String {
    fileprivate func prefix(utf8Count: Int) -> String { String(decoding: utf8.prefix(utf8Count), as: UTF8.self) }
}
