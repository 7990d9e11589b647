import HTTP
import Testing

struct FieldTests {
    @Test(arguments: [
        // RFC 9112 §5: a token, a colon, a value.
        Row("RFC 9112 §5", head("X"), "400"),
        Row("RFC 9112 §5", head("nocolon here"), "400"),
        Row("RFC 9112 §5", head(": v"), "400"),
        Row("RFC 9112 §5", head("=: v"), "400"),
        Row("RFC 9110 §5.1", head("X A: v"), "400"),
        Row("RFC 9110 §5.1", head("X\u{0}: v"), "400"),
        Row("RFC 9110 §5.1", head("X\u{7F}: v"), "400"),
        Row("RFC 9110 §5.1", head("X\u{E9}: v"), "400"),
        Row("RFC 9110 §5.1", head("X@Y: v"), "400"),
        Row("RFC 9110 §5.1", head("X/Y: v"), "400"),
        Row("RFC 9110 §5.1", head("\"X\": v"), "400"),
        Row("RFC 9110 §5.1", head("(X): v"), "400"),
        Row("RFC 9110 §5.1", head("X,Y: v"), "400"),
        Row("RFC 9110 §5.1", head("X;: v"), "400"),
        Row("RFC 9110 §5.1", head("[X]: v"), "400"),
        Row("RFC 9110 §5.1", head("{X}: v"), "400"),
        Row("RFC 9110 §5.1", head("X\\: v"), "400"),
        Row("RFC 9110 §5.1", head("X\u{A0}: v"), "400"),
        Row("RFC 9110 §5.1", head("\u{EF}\u{BB}\u{BF}X: v"), "400"),
        Row("RFC 9110 §5.1", head("X\u{B}: v"), "400"),
        Row("RFC 9110 §5.1", head("X\r: v"), "400"),
        Row("RFC 9112 §5", head("GET / HTTP/1.1"), "400"),
        Row("RFC 9112 §5.1", head("X : v"), "400"),
        Row("RFC 9112 §5.1", "GET / HTTP/1.1\r\nHost : a\r\n\r\n", "400"),
        Row("RFC 9112 §5.1", "GET / HTTP/1.1\r\nHost\t: a\r\n\r\n", "400"),
        Row("RFC 9112 §5.1", head("X\t: v"), "400"),
        // RFC 9110 §5.5: no control character but the tab, wherever in the value.
        Row("RFC 9110 §5.5", head("X: \u{0}"), "400"),
        Row("RFC 9110 §5.5", head("X: a\u{0}b"), "400"),
        Row("RFC 9110 §5.5", head("X:\u{0}"), "400"),
        Row("RFC 9110 §5.5", head("X: \u{1B}[31m"), "400"),
        Row("RFC 9110 §5.5", head("X: \u{B}a"), "400"),
        Row("RFC 9110 §5.5", head("X: a\u{C}"), "400"),
        Row("RFC 9110 §5.5", head("X: \u{1}"), "400"),
        Row("RFC 9110 §5.5", head("X: 1234567\u{8}"), "400"),
        Row("RFC 9110 §5.5", head("X: 12345678\u{B}"), "400"),
        Row("RFC 9110 §5.5", head("X: \u{C}12345678901234567"), "400"),
        Row("RFC 9110 §5.5", head("X: 1234567890123456\u{1F}"), "400"),
        Row("RFC 9110 §5.5", head("X: \t\t\t\t\t\t\t\t\u{1B}\t\t\t\t\t\t\t"), "400"),
        Row("RFC 9110 §5.5", head("X: 123\u{7F}4567890"), "400"),
        Row("RFC 9110 §5.5", head("X: \u{80}\u{80}\u{80}\u{7F}\u{80}\u{80}\u{80}\u{80}"), "400"),
        // RFC 9112 §2.2: lines end with CRLF, and nothing else does.
        Row("RFC 9112 §2.2", head("X: a\rb"), "400"),
        Row("RFC 9112 §2.2", head("X: a\r"), "400"),
        Row("RFC 9112 §2.2", head("X: a\nY: b"), "400"),
        Row("RFC 9112 §2.2", head("X: a\n"), "400"),
        Row("RFC 9112 §2.2", "GET / HTTP/1.1\r\nHost: a\r\n\n", "400"),
        Row("RFC 9112 §2.2", "GET / HTTP/1.1\r\nHost: a\n\r\n", "400"),
        Row("RFC 9112 §2.2", "GET / HTTP/1.1\r\nHost: a\r\n\r\r\n", "400"),
        // RFC 9112 §5.2 and §2.2: no folded lines, no white space before the first.
        Row("RFC 9112 §5.2", head("X: a\r\n b"), "400"),
        Row("RFC 9112 §5.2", head("X: a\r\n\tb"), "400"),
        Row("RFC 9112 §5.2", head("X: a\r\n "), "400"),
        Row("RFC 9112 §5.2", head("X:\r\n a"), "400"),
        Row("RFC 9112 §5.2", "GET / HTTP/1.1\r\nHost:\r\n a\r\n\r\n", "400"),
        Row("RFC 9112 §5.2", "GET / HTTP/1.1\r\nHost: a\r\n Host: b\r\n\r\n", "400"),
        Row("RFC 9112 §5.2", head("X: a\r\n \r\n b"), "400"),
        Row("RFC 9112 §2.2", "GET / HTTP/1.1\r\n \r\nHost: a\r\n\r\n", "400"),
        Row("RFC 9112 §2.2", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", "400"),
        Row("RFC 9112 §2.2", "GET / HTTP/1.1\r\n\tX: b\r\nHost: a\r\n\r\n", "400"),
    ])
    func `a field line against the grammar is refused`(row: Row) { expect(row) }

    @Test(arguments: [
        ("X:", ""), ("X: ", ""), ("X: \t ", ""), ("X:a", "a"), ("X:\t a b \t", "a b"), ("X: a\tb", "a\tb"),
        ("X: :", ":"),
        ("X: a: b", "a: b"), ("X: \"a, b\"", "\"a, b\""), ("x: A", "A"),
        ("X: 12345678901234567\t", "12345678901234567"), ("X:::", "::"), ("X: =?utf-8?q?a?=", "=?utf-8?q?a?="),
        ("X: a\\b", "a\\b"), ("X: <!--#exec-->", "<!--#exec-->"), ("X: {\"a\":1}", "{\"a\":1}"),
    ])
    func `a value is what stands between the white space`(line: String, value: String) throws {
        #expect(try request(head(line)).headers["x"] == value)
    }

    @Test func `octets above ASCII stay as they came`() throws {
        #expect(try fields(head("X: \u{80}\u{C3}\u{A9}\u{FF}")) == ["Host=a", "X=\u{80}\u{C3}\u{A9}\u{FF}"])
    }

    @Test func `every field is there, in order, spelled as it came`() throws {
        let message = "GET / HTTP/1.1\r\nB: 1\r\nHOST: a\r\nb: 2\r\nA!#$%&'*+-.^_`|~09z:3\r\n\r\n"
        #expect(try fields(message) == ["B=1", "HOST=a", "b=2", "A!#$%&'*+-.^_`|~09z=3"])
    }

    @Test func `a field is found by its whole name`() throws {
        let headers = try request(head("X: 1\r\nX: 2\r\nXX: 3")).headers
        #expect(headers.values("x") == ["1", "2"])
        #expect(headers.contains("xx"))
        #expect(headers["xxx"] == nil)
        #expect(headers.count == 4)
    }

    @Test func `fields are the same whatever way they are cut`() {
        let get = "GET http://b/ HTTP/1.1\r\nX: 1\r\nHost: a\r\nYy:\t2 \r\n\r\n"
        let put = "PUT / HTTP/1.1\r\nHost: c\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nZ: 3\r\n\r\n"
        for pieces in waysToCut(bytes(get + put)) {
            var feeder = RequestFeeder()
            for piece in pieces { feeder.feed(piece) }
            #expect(
                feeder.requests.map { fields($0.headers) } == [
                    ["X=1", "Host=b", "Yy=2"], ["Host=c", "Transfer-Encoding=chunked"],
                ])
        }
    }

    private func fields(_ message: String) throws -> [String] {
        try fields(request(message).headers)
    }

    private func fields(_ headers: Headers) -> [String] {
        var fields: [String] = []
        func collect(name: ArraySlice<UInt8>, value: ArraySlice<UInt8>) {
            fields.append("\(text(name))=\(text(value))")
        }
        headers.forEach(collect)
        return fields
    }
}

/// A request with this field line behind its Host.
private func head(_ line: String) -> String { "GET / HTTP/1.1\r\nHost: a\r\n\(line)\r\n\r\n" }
