import Glibc
import HTTP
import TestSupport
import Testing

/// Where answers end on a socket, and what that means for the connection: the parser's promises, kept by the client.
@Suite(.timeLimit(.minutes(1))) struct FramingTests {
    /// An answer with the rule it is about, and whether the next request may go on the same connection.
    struct Case: Sendable, CustomTestStringConvertible {
        let rule: String
        let method: Method
        let answer: String
        let outcome: Outcome
        let isKept: Bool

        init(_ rule: String, _ answer: String, _ outcome: Outcome, isKept: Bool, to method: Method = .get) {
            self.rule = rule
            self.method = method
            self.answer = answer
            self.outcome = outcome
            self.isKept = isKept
        }

        var testDescription: String { "\(rule): \(method) \(answer.debugDescription)" }
    }

    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    @Test(arguments: [
        // No body, whatever the fields say.
        Case("RFC 9112 §6.3, rule 1", head("Content-Length: 5"), .answered(200, ""), isKept: true, to: .head),
        Case("RFC 9112 §6.3, rule 1", head("Transfer-Encoding: chunked"), .answered(200, ""), isKept: true, to: .head),
        Case("RFC 9112 §6.3, rule 1", head("X: y"), .answered(200, ""), isKept: true, to: .head),
        Case("RFC 9110 §15.3.5", "HTTP/1.1 204 No Content\r\n\r\n", .answered(204, ""), isKept: true),
        Case(
            "RFC 9110 §15.4.5", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", .answered(304, ""),
            isKept: true),
        Case(
            "RFC 9110 §8.6", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", .answered(204, ""),
            isKept: false),
        // One body with one end.
        Case("RFC 9112 §6.2", head("Content-Length: 2") + "ab", .answered(200, "ab"), isKept: true),
        Case(
            "RFC 9112 §7.1", head("Transfer-Encoding: chunked") + "1;a=b\r\na\r\n1\r\nb\r\n0\r\nX: y\r\n\r\n",
            .answered(200, "ab"), isKept: true),
        Case(
            "RFC 9112 §9.6", head("Connection: close\r\nContent-Length: 0"), .answered(200, ""), isKept: false),
        Case("RFC 9112 §9.3", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", .answered(200, ""), isKept: false),
        // Interim answers are no answers, and no end.
        Case("RFC 9110 §15.2", "HTTP/1.1 100 Continue\r\n\r\n" + ok, .answered(200, "ok"), isKept: true),
        Case(
            "RFC 9110 §15.2", "HTTP/1.1 102 Processing\r\nX: y\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n" + ok,
            .answered(200, "ok"), isKept: true),
        Case("RFC 9110 §15.2.2", "HTTP/1.1 101 Switching Protocols\r\n\r\n" + ok, .answerLost, isKept: false),
        Case(
            "RFC 9110 §15.2", "HTTP/1.1 100 Continue\r\nContent-Length: 1\r\n\r\na" + ok, .answerLost, isKept: false),
        // Two ends are none.
        Case("RFC 9112 §6.3", head("Content-Length: 2\r\nContent-Length: 2") + "ab", .answerLost, isKept: false),
        Case("RFC 9112 §6.3", head("Content-Length: 1\r\nContent-Length: 2") + "ab", .answerLost, isKept: false),
        Case("RFC 9112 §6.3", head("Content-Length: 2, 2") + "ab", .answerLost, isKept: false),
        Case("RFC 9112 §6.3", head("Content-Length: 1, 2") + "ab", .answerLost, isKept: false),
        Case(
            "RFC 9112 §6.1", head("Content-Length: 2\r\nTransfer-Encoding: chunked") + "2\r\nab\r\n0\r\n\r\n",
            .answerLost, isKept: false),
        Case(
            "RFC 9112 §6.1", head("Transfer-Encoding: chunked\r\nContent-Length: 2") + "2\r\nab\r\n0\r\n\r\n",
            .answerLost, isKept: false),
        Case("RFC 9112 §6.1", head("Transfer-Encoding: gzip, chunked") + "0\r\n\r\n", .answerLost, isKept: false),
        Case("RFC 9112 §6.1", head("Transfer-Encoding: gzip") + "ab", .answerLost, isKept: false),
        Case("RFC 9112 §7.1", head("Transfer-Encoding: chunked") + "2\r\nabc\r\n0\r\n\r\n", .answerLost, isKept: false),
        Case("RFC 9112 §5.2", head("X: y\r\n z\r\nContent-Length: 0"), .answerLost, isKept: false),
        // Bytes behind an answer would be read as the next one.
        Case("RFC 9112 §6.3", head("Content-Length: 2") + "abc", .answered(200, "ab"), isKept: false),
        Case("RFC 9112 §6.3", "HTTP/1.1 204 No Content\r\n\r\nx", .answered(204, ""), isKept: false),
        Case(
            "RFC 9112 §6.3, rule 1", head("Content-Length: 2") + "ab", .answered(200, ""), isKept: false, to: .head),
        Case(
            "RFC 9112 §7.1", head("Transfer-Encoding: chunked") + "0\r\n\r\n\r\n", .answered(200, ""), isKept: false),
    ])
    func `an answer has one end, and only a connection without doubt carries the next`(_ row: Case) async throws {
        let outcomes = try await ScriptedUpstream.run { listener in
            let first = try listener.accept()
            try first.answerOne(with: row.answer)
            try (row.isKept ? first : listener.accept()).answerOne(with: Self.ok)
        } body: { upstream in
            [await upstream.outcome(of: Request(row.method, "/")), await upstream.outcome()]
        }
        #expect(outcomes == [row.outcome, .answered(200, "ok")])
    }

    @Test(arguments: ["HTTP/1.1 200 OK\r\n\r\nab", "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\nab"])
    func `an answer that only the connection's end ends is whole with it, and takes it along`(
        _ answer: String
    ) async throws {
        let outcomes = try await ScriptedUpstream.run { listener in
            let first = try listener.accept()
            try first.answerOne(with: answer)
            first.finishWriting()
            try listener.accept().answerOne(with: Self.ok)
        } body: { upstream in
            [await upstream.outcome(), await upstream.outcome()]
        }
        #expect(outcomes == [.answered(200, "ab"), .answered(200, "ok")])
    }

    @Test func `a connection that was reset at rest is not used again`() async throws {
        let isAnswered = Gate()
        let isReset = Gate()
        let outcomes = try await ScriptedUpstream.run { listener in
            let first = try listener.accept()
            try first.answerOne(with: Self.ok)
            while !isAnswered.isOpen { sched_yield() }
            first.reset()
            isReset.open()
            try listener.accept().answerOne(with: Self.ok)
        } body: { upstream in
            let first = await upstream.outcome()
            isAnswered.open()
            // The loop stands still until the reset, so it cannot have heard of it by an event.
            while !isReset.isOpen { sched_yield() }
            return [first, await upstream.outcome()]
        }
        #expect(outcomes == [.answered(200, "ok"), .answered(200, "ok")])
    }

    private static func head(_ line: String) -> String { "HTTP/1.1 200 OK\r\n\(line)\r\n\r\n" }
}
