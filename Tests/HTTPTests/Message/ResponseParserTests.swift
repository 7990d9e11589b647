import HTTP
import Testing

/// The result of an answer: "200 [body] open", "200 [body] close", "until close [body]", "…" or "refused".
struct ResponseParserTests {
    @Test(arguments: [
        // RFC 9112 §4: version, code and phrase, one space between.
        "HTTP/1.1 200\r\n\r\n", "HTTP/1.1  200 OK\r\n\r\n", "HTTP/1.1 200OK\r\n\r\n", "HTTP/1.1\r\n\r\n",
        " HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 +20 OK\r\n\r\n", "HTTP/1.1 20x OK\r\n\r\n",
        "HTTP/1.1 x00 OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n", "HTTP/1.1 000 OK\r\n\r\n", "HTTP/1.1 600 OK\r\n\r\n", "HTTP/1.1 999 OK\r\n\r\n",
        "HTTP/1.1\t200 OK\r\n\r\n",
        "HTTP/1.1 200\tOK\r\n\r\n", "HTTP/1.1 200 O\u{0}K\r\n\r\n", "HTTP/1.1 200 O\rK\r\n\r\n",
        "HTTP/1.1 200 \u{7F}\r\n\r\n",
        "http/1.1 200 OK\r\n\r\n", "HTTP/2 200 OK\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1 200 OK\r\n\r\n",
        "HTTP/1.10 200 OK\r\n\r\n",
        "ICY 200 OK\r\n\r\n", "HTTP/1.1 200 OK\n\n", "HTTP/1.1 200 OK\nX: y\r\n\r\n", "<html>", "\u{15}\u{3}", "{}",
        "\r\nHTTP/1.1 200 OK\r\n\r\n",
        "\n",
        // RFC 9112 §5: fields as in requests.
        "HTTP/1.1 200 OK\r\nX : y\r\n\r\n", "HTTP/1.1 200 OK\r\n X: y\r\n\r\n", "HTTP/1.1 200 OK\r\nX: y\r\n z\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: \u{0}\r\n\r\n", "HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n", "HTTP/1.1 200 OK\r\nX: y\n\r\n",
        "HTTP/1.1 200 OK\r\nX\r\n\r\n",
        // RFC 9112 §6.1 and §6.3: one length.
        answer("Content-Length: 2\r\nContent-Length: 2", "ab"), answer("Content-Length: 1\r\nContent-Length: 2", "ab"),
        answer("Content-Length: 2, 2", "ab"), answer("Content-Length: +2", "ab"), answer("Content-Length: -1", ""),
        answer("Content-Length:", ""), answer("Content-Length: 9223372036854775808", ""),
        answer("Content-Length: 2\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
        answer("Transfer-Encoding: chunked\r\nContent-Length: 2", "0\r\n\r\n"), answer("Transfer-Encoding: gzip", "a"),
        answer("Transfer-Encoding: gzip, chunked", "0\r\n\r\n"),
        answer("Transfer-Encoding: chunked, gzip", "0\r\n\r\n"),
        answer("Transfer-Encoding: identity", "a"), answer("Transfer-Encoding:", "a"),
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        // RFC 9112 §7.1: chunks as in requests.
        answer("Transfer-Encoding: chunked", "x\r\n"), answer("Transfer-Encoding: chunked", "1\nab"),
        answer("Transfer-Encoding: chunked", "1\r\nabc\r\n"), answer("Transfer-Encoding: chunked", "0\r\nX\r\n\r\n"),
        // RFC 9110 §15.2: the interim ones are few, have no body, and do not switch the protocol.
        String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 9), "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\nContent-Length: 1\r\n\r\n",
        "HTTP/1.1 100 Continue\r\nTransfer-Encoding: chunked\r\n\r\n",
    ])
    func `nonsense is no answer`(message: String) { expect(message, "refused") }

    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", "200 [ab] open"),
        ("HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", "200 [] open"),
        ("HTTP/1.1 422 \t\u{E9} a!\r\ncontent-length:1\r\n\r\na", "422 [a] open"),
        ("HTTP/1.9 599 x\r\nContent-Length: 1\r\n\r\na", "599 [a] open"),
        (
            answer("Transfer-Encoding: Chunked", "1;x=y\r\na\r\n2\r\nbc\r\n0\r\nContent-Length: 9\r\n\r\n"),
            "200 [abc] open"
        ),
        // RFC 9112 §9.3: whether there may be another.
        (answer("Content-Length: 1\r\nConnection: close", "a"), "200 [a] close"),
        (answer("Content-Length: 1\r\nConnection: x, CLOSE", "a"), "200 [a] close"),
        ("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", "200 [a] close"),
        ("HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\na", "200 [a] open"),
        // RFC 9112 §6.3, rule 1: these end with their heads.
        ("HTTP/1.1 204 No Content\r\n\r\n", "204 [] open"),
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "304 [] open"),
        ("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", "204 [] open"),
        // A body that may not come might come all the same, and pass for the next answer.
        ("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", "204 [] close"),
        ("HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", "204 [] close"),
        // RFC 9110 §15.2: interim answers are passed over.
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", "200 [a] open"),
        ("HTTP/1.1 102 x\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 204 x\r\n\r\n", "204 [] open"),
        (String(repeating: "HTTP/1.1 199 \r\n\r\n", count: 8) + "HTTP/1.1 204 x\r\n\r\n", "204 [] open"),
        // RFC 9112 §6.3, rule 8: until the connection closes, if nothing else ends it.
        ("HTTP/1.1 200 OK\r\n\r\n", "until close []"),
        ("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\nab\r\n\r\n", "until close [ab\r\n\r\n]"),
        ("HTTP/1.0 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "until close [HTTP/1.1 200 OK\r\n\r\n]"),
        // RFC 9112 §8: cut short in its head or its body, it is none.
        ("", "…"), ("H", "…"), ("HTTP/1.1 200 OK\r\n", "…"), ("HTTP/1.1 200 OK\r\nX: y\r\n", "…"),
        ("HTTP/1.1 200 OK\r\nX: y\r\n\r", "…"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na", "…"), ("HTTP/1.1 100 Continue\r\n\r\n", "…"),
        (answer("Transfer-Encoding: chunked", "1\r\na\r\n"), "…"),
        (answer("Transfer-Encoding: chunked", "0\r\n"), "…"), (answer("Transfer-Encoding: chunked", "5\r\nab"), "…"),
    ])
    func `an answer ends where its length or its connection does`(message: String, outcome: String) {
        expect(message, outcome)
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "200 [] open"), ("HTTP/1.1 200 OK\r\n\r\n", "200 [] open"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "200 [] open"),
        ("HTTP/1.0 404 x\r\n\r\n", "404 [] close"),
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "200 [] open"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", "refused"),
    ])
    func `the answer to HEAD has no body, whatever it announces`(message: String, outcome: String) {
        expect(message, outcome, method: .head)
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "refused"),
        (answer("Transfer-Encoding: chunked", "3\r\nabc\r\n2\r\n"), "refused"),
        ("HTTP/1.1 200 OK\r\n\r\nabcde", "refused"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd", "200 [abcd] open"),
        ("HTTP/1.1 200 OK\r\n\r\nabcd", "until close [abcd]"),
        ("HTTP/1.1 200 OK\r\nXXXXXXXXXXXXX: yyyyyyyyyyyyyyyyyy\r\n", "refused"),
        ("HTTP/1.1 200 OK\r\nA:\r\nB:\r\nC:\r\n", "refused"), ("HTTP/1.1 200 A phrase too long\r\n", "refused"),
    ])
    func `an answer past its limits is refused`(message: String, outcome: String) {
        var limits = MessageLimits()
        limits.bodyBytesMax = 4
        limits.headerBytesMax = 30
        limits.headerCountMax = 2
        limits.startLineBytesMax = 20
        expect(message, outcome, limits: limits)
    }

    @Test func `what comes behind an answer is left, and then refused`() {
        let message = bytes("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP/1.1 200 OK\r\n\r\n")
        message.withUnsafeBytes { bytes in
            var input = bytes
            var parser = ResponseParser(requestMethod: .get)
            #expect(throws: Never.self) { try parser.next(from: &input) }
            #expect(input.count == 19)
            #expect(throws: MessageFault.self) { try parser.next(from: &input) }
            #expect(throws: MessageFault.self) { try parser.end() }
        }
    }

    @Test func `every fault of an upstream is a bad gateway's`() {
        for message in [
            "\u{0}", answer("Content-Length: 70000", ""), answer("Transfer-Encoding: gzip", ""), "HTTP/2.0 200 OK\r\n",
        ] {
            bytes(message).withUnsafeBytes { bytes in
                var input = bytes
                var parser = ResponseParser(requestMethod: .get)
                let fault = #expect(throws: MessageFault.self) { try parser.next(from: &input) }
                #expect(fault?.status == .badGateway)
            }
        }
    }

    @Test func `an answer's fields are its final head's`() throws {
        let message = bytes(
            "HTTP/1.1 103 Early\r\nX: 1\r\n\r\nHTTP/1.1 200 OK\r\nX: 2\r\nContent-Length: 0\r\nHost: ,\r\n\r\n")
        try message.withUnsafeBytes { bytes in
            var input = bytes
            var parser = ResponseParser(requestMethod: .get)
            guard case .response(let response, _) = try parser.next(from: &input) else { throw NoRequest() }
            #expect(response.headers.values("x") == ["2"])
        }
    }
}

private func answer(_ line: String, _ body: String) -> String { "HTTP/1.1 200 OK\r\n\(line)\r\n\r\n\(body)" }

private func expect(
    _ message: String, _ outcome: String, method: Method = .get, limits: MessageLimits = MessageLimits(),
    sourceLocation: SourceLocation = #_sourceLocation
) {
    for pieces in waysToCut(bytes(message)) {
        let got = responseOutcome(of: pieces, method: method, limits: limits)
        #expect(got == outcome, "\(message.debugDescription) as \(pieces.map(\.count))", sourceLocation: sourceLocation)
        if got != outcome { return }
    }
}

private func responseOutcome(of pieces: [ArraySlice<UInt8>], method: Method, limits: MessageLimits) -> String {
    var parser = ResponseParser(requestMethod: method, limits: limits)
    for piece in pieces {
        let outcome = piece.withUnsafeBytes { bytes -> String? in
            var input = bytes
            do throws(MessageFault) {
                guard case .response(let response, let keepAlive) = try parser.next(from: &input) else { return nil }
                return "\(response.status.code) [\(text(response.body))] \(keepAlive ? "open" : "close")"
            } catch {
                return "refused"
            }
        }
        if let outcome { return outcome }
    }
    do throws(MessageFault) {
        return "until close [\(text(try parser.end().body))]"
    } catch {
        return "…"
    }
}
