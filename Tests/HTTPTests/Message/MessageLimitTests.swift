import HTTP
import Testing

struct MessageLimitTests {
    @Test(arguments: [
        // "GET /aaa HTTP/1.1" is 17 bytes.
        Row("RFC 9112 §3", "GET /aaaa HTTP/1.1\r\nHost: a\r\n\r\n", "414"),
        Row("RFC 9112 §3", "GET /aaaa HTTP/1.1\r\r\n", "414"),
        Row("RFC 9112 §3", String(repeating: "M", count: 19), "414"),
        Row("RFC 9112 §3", "\r\nGET /aaaa HTTP/1.1\r\n", "414"),
        Row("RFC 9112 §3", "GET /\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}", "414"),
        Row("RFC 9112 §3", "GET /aa\u{0} HTTP/1.1\r\n", "400"),
        Row("RFC 9112 §3", String(repeating: "M", count: 18), "…"),
        Row("RFC 9112 §3", "GET /aaa HTTP/1.1\r\nHost: a\r\n\r\n", "GET /aaa [] open"),
        Row("RFC 9112 §3", "\r\nGET /aaa HTTP/1.1\r\nHost: a\r\n\r\n", "GET /aaa [] open"),
        Row(
            "RFC 9112 §3",
            "\u{1}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}", "400"),
    ])
    func `a request line has its longest length`(row: Row) {
        expect(row, limits: limits { $0.startLineBytesMax = 17 })
    }

    @Test(arguments: [
        // "Host: a" and its end are 9 bytes.
        Row("RFC 6585 §5", "GET / HTTP/1.1\r\nHost: a\r\nX: 3456\r\n\r\n", "431"),
        Row("RFC 6585 §5", "GET / HTTP/1.1\r\nHost: a\r\nX: 34567", "431"),
        Row("RFC 6585 §5", "GET / HTTP/1.1\r\nHost: a\r\nX: 345\r\nY:\r\n", "431"),
        Row("RFC 6585 §5", "GET / HTTP/1.1\r\nHost: a\r\nX: 345\r\nY:", "431"),
        Row("RFC 6585 §5", "GET / HTTP/1.1\r\nHost: a\r\nX: 345\n", "400"),
        Row("RFC 6585 §5", "GET / HTTP/1.1\r\nHost: a\r\nX: 345\r\n\r", "…"),
        Row("RFC 6585 §5", "GET / HTTP/1.1\r\nHost: a\r\nX: 345\r\n\r\n", "GET / [] open"),
        // 37 bytes in the head, and as many in the trailers.
        Row("RFC 9112 §7.1.2", chunked("0\r\nX: 3456789012345678901234567890123456"), "431"),
        Row("RFC 9112 §7.1.2", chunked("0\r\nX: 3456789012\r\nY: 345678901234567890\r\n\r\n"), "431"),
        Row("RFC 9112 §7.1.2", chunked("0\r\nX: 3456789012\r\nY: 34567890123456789\r\nZ\n"), "400"),
        Row("RFC 9112 §7.1.2", chunked("0\r\nX: 3456789012\r\nY: 34567890123456789\r\n\r\n"), "POST / [] open"),
    ])
    func `the fields together have their longest length`(row: Row) {
        let isChunked = row.message.contains("chunked")
        expect(row, limits: limits { $0.headerBytesMax = isChunked ? 37 : 17 })
    }

    @Test(arguments: [
        Row("RFC 6585 §5", "GET / HTTP/1.1\r\nHost: a\r\nA:\r\nB:\r\nC:\r\n\r\n", "431"),
        Row("RFC 6585 §5", "GET / HTTP/1.1\r\nA:\r\nB:\r\nC:\r\nD:\r\n", "431"),
        Row("RFC 6585 §5", "GET / HTTP/1.1\r\nHost: a\r\nA:\r\nB:\r\n\r\n", "GET / [] open"),
        Row("RFC 9112 §7.1.2", chunked("0\r\nA:\r\nB:\r\nC:\r\nD:\r\n"), "431"),
        Row("RFC 9112 §7.1.2", chunked("0\r\nA:\r\nB:\r\nC:\r\n\r\n"), "POST / [] open"),
    ])
    func `fields are not more than so many`(row: Row) {
        expect(row, limits: limits { $0.headerCountMax = 3 })
    }

    @Test(arguments: [
        // Before it is read: there is no body in these (RFC 9110 §15.5.14).
        Row("RFC 9110 §15.5.14", length("5"), "413"),
        Row("RFC 9110 §15.5.14", length("10737418240"), "413"),
        Row("RFC 9110 §15.5.14", length("9223372036854775807"), "413"),
        Row("RFC 9110 §15.5.14", chunked("5\r\n"), "413"),
        Row("RFC 9110 §15.5.14", chunked("4\r\nabcd\r\n1\r\n"), "413"),
        Row("RFC 9110 §15.5.14", chunked("3\r\nabc\r\n2\r\n"), "413"),
        Row("RFC 9110 §15.5.14", chunked("7FFFFFFFFFFFFFFF\r\n"), "413"),
        Row("RFC 9110 §15.5.14", chunked("1\r\na\r\n7FFFFFFFFFFFFFFF\r\n"), "413"),
        Row("RFC 9110 §15.5.14", length("4") + "abcd", "POST / [abcd] open"),
        Row("RFC 9110 §15.5.14", chunked("3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n"), "POST / [abcd] open"),
    ])
    func `a body has its longest length, announced or not`(row: Row) {
        expect(row, limits: limits { $0.bodyBytesMax = 4 })
    }

    @Test(arguments: [
        Row("RFC 9112 §7.1.1", chunked("1;a=b\r\nx\r\n0\r\n\r\n"), "413"),
        Row("RFC 9112 §7.1.1", chunked("1\r\nx\r\n1\r\ny\r\n0;a\r\n"), "413"),
        Row("RFC 9112 §7.1.1", chunked("1\r\nx\r\n1\r\ny\r\n1\r\nz\r\n0\r\n"), "413"),
        Row("RFC 9112 §7.1.1", chunked("000000000"), "413"),
        Row("RFC 9112 §7.1.1", chunked("1;aaa"), "…"),
        Row("RFC 9112 §7.1.1", chunked("1\r\nx\r\n1\r\ny\r\n0\r\n\r\n"), "POST / [xy] open"),
    ])
    func `what stands around chunks has its longest length`(row: Row) {
        expect(row, limits: limits { $0.chunkOverheadBytesMax = 9 })
    }

    @Test func `a request line of 8000 bytes and a field of 4000 are within the usual limits`() {
        let path = "/" + String(repeating: "a", count: 7_985)
        let message = "GET \(path) HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 4_000))\r\n\r\n"
        expect(Row("RFC 9112 §3", message, "GET \(path) [] open"))
    }
}

private func limits(_ change: (inout MessageLimits) -> Void) -> MessageLimits {
    var limits = MessageLimits()
    change(&limits)
    return limits
}

private func length(_ length: String) -> String { "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n\r\n" }

private func chunked(_ chunks: String) -> String {
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)"
}
