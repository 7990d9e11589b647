import HTTP
import Testing

/// A stream of requests beside its requests: its connection, its expectations, its ends.
struct StreamTests {
    @Test(arguments: [
        ("1.1", "X: y", "open"), ("1.1", "Connection: keep-alive", "open"), ("1.1", "Connection: closed", "open"),
        ("1.1", "Connection: close-not", "open"), ("1.1", "Connection: \"close\"", "open"),
        ("1.1", "Connection:", "open"),
        ("1.1", "Connection: Upgrade, HTTP2-Settings", "open"), ("1.1", "Proxy-Connection: close", "open"),
        ("1.1", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk", "open"),
        ("1.1", "Connection: Upgrade\r\nUpgrade: websocket", "open"), ("1.1", "Upgrade: h2c", "open"),
        ("1.1", "TE: chunked, trailers", "open"), ("1.1", "Keep-Alive: timeout=0, max=1", "open"),
        ("1.1", "Connection: host, content-length", "open"), ("1.1", "Connection: close", "close"),
        ("1.1", "connection:CLOSE", "close"), ("1.1", "Connection: foo, ClOsE", "close"),
        ("1.1", "Connection: ,\t,close ,", "close"),
        ("1.1", "Connection: close, keep-alive", "close"),
        ("1.1", "Connection: keep-alive\r\nConnection: close", "close"),
        ("1.1", "Connection: close\r\nConnection: keep-alive", "close"), ("1.2", "Connection: close", "close"),
        ("1.0", "X: y", "close"), ("1.0", "Connection: close", "close"),
        ("1.0", "Connection: keep-alive, close", "close"),
        ("1.0", "Connection: foo", "close"), ("1.0", "Connection: keep-alive", "open"),
        ("1.0", "Connection: foo,Keep-Alive", "open"),
        ("1.0", "Connection: foo\r\nConnection: KEEP-ALIVE", "open"),
    ])
    func `the connection stays open when both ends want it to`(version: String, line: String, outcome: String) {
        expect(Row("RFC 9112 §9.3", "GET / HTTP/\(version)\r\nHost: a\r\n\(line)\r\n\r\n", "GET / [] \(outcome)"))
    }

    @Test(arguments: [
        ("1.0", "keep-alive", true), ("1.0", "close", false), ("1.1", "keep-alive", false), ("1.1", "x", false),
    ])
    func `only HTTP/1.0 is told that it stays open`(version: String, option: String, isTold: Bool) {
        var feeder = RequestFeeder()
        feeder.feed(bytes("GET / HTTP/\(version)\r\nHost: a\r\nConnection: \(option)\r\n\r\n"))
        #expect(feeder.parser.announcesKeepAlive == isTold)
        feeder.feed(bytes("GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
        #expect(!feeder.parser.announcesKeepAlive)
    }

    @Test func `requests in one piece come out one after the other`() {
        let get = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"
        let post = "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nbb"
        let chunked = "PUT /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nc\r\n0\r\n\r\n"
        let three = "GET /a [] open, POST /b [bb] open, PUT /c [c] open"
        expect(Row("RFC 9112 §9.3.2", get + post + chunked, three))
        expect(Row("RFC 9112 §9.3.2", get + post + chunked + get + post + chunked, "\(three), \(three)"))
        expect(Row("RFC 9112 §9.3.2", get + post + "X", "GET /a [] open, POST /b [bb] open, …"))
        let head = "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"
        expect(Row("RFC 9110 §9.3.2", head + get, "HEAD / [] open, GET /a [] open"))
        let forty = [String](repeating: "GET /a [] open", count: 40).joined(separator: ", ")
        expect(Row("RFC 9112 §9.3.2", String(repeating: get, count: 40), forty))
        expect(Row("RFC 9112 §2.2", get + "\r" + get, "GET /a [] open, 400"))
        expect(Row("RFC 9112 §2.2", get + "\n" + get, "GET /a [] open, 400"))
        expect(Row("RFC 9112 §2.2", get + " " + get, "GET /a [] open, 400"))
        expect(Row("RFC 9112 §9.3.2", get + post + "\u{7F}" + get, "GET /a [] open, POST /b [bb] open, 400"))
    }

    @Test(arguments: [
        ("", true), ("\r\n", true), ("\r\n\r\n", true), ("\r", false), ("\r\n\r", false), ("G", false),
        ("GET / HTTP/1.1\r\n", false),
        ("GET / HTTP/1.1\r\nHost: a\r\n", false), ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", true),
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n\r\n", true), ("GET / HTTP/1.1\r\nHost: a\r\n\r\nG", false),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\na", true),
    ])
    func `a stream may end where no request is begun`(message: String, mayEnd: Bool) {
        for pieces in waysToCut(bytes(message)) {
            var feeder = RequestFeeder()
            for piece in pieces { feeder.feed(piece) }
            #expect(feeder.parser.isBetweenMessages == mayEnd)
        }
    }

    @Test(arguments: [
        "\u{0}", "\u{16}", "\n", " ", "{", "\u{80}", "GET / HTTP/1.1\n", "G T / HTTP/1.1\r\n", "GET / HTTP/2.0\r\n",
        "GET * HTTP/1.1\r\n", "GET / HTTP/1.1\r\n \r\n", "GET / HTTP/1.1\r\nX : y\r\n", "GET / HTTP/1.1\r\nHost: a\n",
        "GET / HTTP/1.1\r\nHost:\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n",
        "GET / HTTP/1.1\r\nContent-Length: x\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n",
        "GET / HTTP/1.1\r\nTransfer-Encoding: chunked, x\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\n",
        "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX\r\n",
    ])
    func `a fault is told with its line, and never before`(prefix: String) {
        expect(Row("RFC 9112 §2.2", prefix, prefix.contains("2.0") ? "505" : "400"))
        expect(
            Row("RFC 9112 §2.2", String(prefix.unicodeScalars.dropLast()), prefix.unicodeScalars.count > 2 ? "…" : ""))
    }

    @Test func `what is not whole is no fault wherever it stops`() {
        let message =
            "POST /a?b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;a=\"b\"\r\na\r\n0\r\nX: y\r\n\r\n"
        for end in 1..<message.unicodeScalars.count {
            let prefix = String(String.UnicodeScalarView(message.unicodeScalars.prefix(end)))
            expect(Row("RFC 9112 §2.2", prefix, "…"))
        }
    }

    @Test func `after a fault nothing is read any more`() {
        var feeder = RequestFeeder()
        feeder.feed(bytes("GET / HTTP/1.1\n"))
        feeder.feed(bytes("GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
        #expect(feeder.outcome == ["400", "400"])
    }

    @Test func `the body received is counted as it comes`() {
        var feeder = RequestFeeder()
        #expect(feeder.parser.bodyBytesReceived == 0)
        feeder.feed(bytes("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab"))
        #expect(feeder.parser.bodyBytesReceived == 2)
        feeder.feed(bytes("c\r\n1\r\nd\r\n"))
        #expect(feeder.parser.bodyBytesReceived == 4)
        feeder.feed(bytes("0\r\n\r\n"))
        #expect(feeder.parser.bodyBytesReceived == 0)
    }

    @Test(arguments: [
        ("Expect: 100-continue\r\nContent-Length: 1", "", "continue"),
        ("expect: 100-CONTINUE\r\nContent-Length: 1", "", "continue"),
        ("Expect: 100-continue\r\nTransfer-Encoding: chunked", "", "continue"),
        // Some of the body is there: it is not waited for.
        ("Expect: 100-continue\r\nContent-Length: 2", "a", ""),
        ("Expect: 100-continue\r\nContent-Length: 0", "", "POST"),
        ("Expect: 100-continue\r\nX: y", "", "POST"), ("Content-Length: 1", "", ""),
        ("Expect: 100-continue, x\r\nContent-Length: 1", "", "417"),
        ("Expect: 200-maybe\r\nContent-Length: 1", "", "417"),
        ("Expect: 100-continue;q=1\r\nContent-Length: 1", "", "417"),
        ("Expect: \"100-continue\"\r\nContent-Length: 1", "", "417"),
        ("Expect: 100-continue 100-continue\r\nContent-Length: 1", "", "417"),
        ("Expect: x\r\nX: y", "", "417"),
        // A list, of which empty elements are nothing (RFC 9110 §5.6.1.2).
        ("Expect: ,100-continue ,\t100-Continue\r\nContent-Length: 1", "", "continue"),
        ("Expect:\r\nContent-Length: 1", "", ""), ("Expect: ,\r\nX: y", "", "POST"),
        ("Expect: 100-continue\r\nExpect: x\r\nContent-Length: 1", "", "417"),
        ("Expect: 100-continue\r\nContent-Length: 70000", "", "413"),
        ("Expect: 100-continue\r\nTransfer-Encoding: gzip", "", "400"),
        ("Expect: 100-continue\r\nTransfer-Encoding: gzip, chunked", "", "501"),
    ])
    func `100 Continue is for whoever waits for it, and not before a refusal`(
        lines: String, body: String, outcome: String
    ) {
        #expect(expectation("POST / HTTP/1.1\r\nHost: a\r\n\(lines)\r\n\r\n\(body)") == outcome)
    }

    @Test func `HTTP/1.0 is not told to continue`() {
        let line = "Expect: 100-continue\r\nContent-Length: 1\r\n\r\n"
        #expect(expectation("POST / HTTP/1.0\r\n\(line)") == "")
        #expect(expectation("POST / HTTP/1.0\r\n\(line)a") == "POST")
    }

    @Test func `100 Continue is said once`() {
        var parser = RequestParser()
        let head = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
        var events: [String] = []
        for piece in [head, "", "a", "", "b"] { events.append(event(piece, &parser)) }
        #expect(events == ["continue", "", "", "", "POST"])
    }

    private func expectation(_ message: String) -> String {
        var parser = RequestParser()
        return event(message, &parser)
    }

    private func event(_ piece: String, _ parser: inout RequestParser) -> String {
        bytes(piece).withUnsafeBytes { bytes in
            var input = bytes
            do throws(MessageFault) {
                switch try parser.next(from: &input) {
                case .needsMore: return ""
                case .expectsContinue: return "continue"
                case .request(let request, _): return request.method.rawValue
                }
            } catch {
                return "\(error.status.code)"
            }
        }
    }
}
