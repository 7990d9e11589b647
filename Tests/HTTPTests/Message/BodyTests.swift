import HTTP
import Testing

struct BodyTests {
    @Test(arguments: [
        "", " ", "+7", "-7", "7.0", "7e0", "0x7", "7h", "7 7", "7,7", "7, 7", "7;", "\"7\"", "7\u{0}", "\u{B2}",
        "seven",
        "7\t\u{B}", "1_000", "7.", "0b1", "0o7", "7L", "0x", "\u{EF}\u{BC}\u{97}", "7\u{A0}", "\u{7}", "7-", "7/8",
        "NaN", "inf",
        "7\r\n 8", "18446744073709551616", "18446744073709551623", String(repeating: "9", count: 200),
        "9223372036854775808",
        "99999999999999999999999999999999999999999999999999",
    ])
    func `a length that is not digits, or beyond all numbers, is refused`(length: String) {
        expect(Row("RFC 9110 §8.6", post("Content-Length: \(length)", "1234567"), "400"))
    }

    @Test(arguments: [
        // Twice, alike or not (RFC 9112 §6.3, rule 5).
        Row("RFC 9112 §6.3", post("Content-Length: 1\r\nContent-Length: 1", "a"), "400"),
        Row("RFC 9112 §6.3", post("Content-Length: 1\r\nX: y\r\ncontent-length: 2", "ab"), "400"),
        Row("RFC 9112 §6.3", post("Content-Length: 0\r\nContent-Length: 0", ""), "400"),
        Row("RFC 9112 §6.3", post("content-length: 0\r\nCONTENT-LENGTH: 7", "1234567"), "400"),
        Row("RFC 9112 §6.3", post("Content-Length: 7, 8", "1234567"), "400"),
        // Both lengths (RFC 9112 §6.1).
        Row("RFC 9112 §6.1", post("Content-Length: 5\r\nTransfer-Encoding: chunked", "0\r\n\r\n"), "400"),
        Row("RFC 9112 §6.1", post("Transfer-Encoding: chunked\r\nContent-Length: 5", "0\r\n\r\n"), "400"),
        Row("RFC 9112 §6.1", post("Transfer-Encoding: gzip\r\nContent-Length: 5", "12345"), "400"),
        Row("RFC 9112 §6.1", post("Content-Length: 0\r\nTransfer-Encoding: chunked", "0\r\n\r\n"), "400"),
        Row("RFC 9112 §6.1", post("Content-Length: 6\r\nTransfer-Encoding: chunked", "0\r\n\r\nG"), "400"),
        Row("RFC 9112 §6.1", post("Transfer-Encoding: identity\r\nContent-Length: 7", "1234567"), "400"),
        Row("RFC 9112 §6.1", post("Transfer-Encoding: chunked\r\nX: y\r\ncontent-length: 3", "0\r\n\r\n"), "400"),
        // One of them under a name that another reader might repair (RFC 9112 §2.2, §5, §5.1, §5.2).
        Row("RFC 9112 §5.1", post("Content-Length : 7", "1234567"), "400"),
        Row("RFC 9112 §5.1", post("Content-Length: 5\r\nTransfer-Encoding : chunked", "0\r\n\r\n"), "400"),
        Row("RFC 9112 §5.1", post("Content-Length: 5\r\nTransfer-Encoding\t: chunked", "0\r\n\r\n"), "400"),
        Row("RFC 9112 §5", post("Content-Length: 5\r\nTransfer\u{0}-Encoding: chunked", "0\r\n\r\n"), "400"),
        Row("RFC 9112 §5", post("Content-Length: 5\r\nTransfer-Encoding\u{B}: chunked", "0\r\n\r\n"), "400"),
        Row("RFC 9112 §2.2", post("Content-Length: 5\r\nX: a\rTransfer-Encoding: chunked", "0\r\n\r\n"), "400"),
        Row("RFC 9112 §2.2", post("Content-Length: 5\r\nX: a\nTransfer-Encoding: chunked", "0\r\n\r\n"), "400"),
        Row("RFC 9112 §5.2", post("Content-Length: 5\r\n Transfer-Encoding: chunked", "0\r\n\r\n"), "400"),
        Row("RFC 9112 §5.2", post("X: a\r\n Content-Length: 5", "12345"), "400"),
        Row("RFC 9112 §5.2", post("X: a\r\n\tContent-Length: 5", "12345"), "400"),
        // RFC 9112 §6.1: HTTP/1.0 knows no codings.
        Row("RFC 9112 §6.1", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"),
        Row("RFC 9112 §6.1", "POST / HTTP/1.0\r\nTransfer-Encoding: gzip\r\n\r\n0\r\n\r\n", "400"),
        Row(
            "RFC 9112 §6.1",
            "POST / HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 5\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"),
    ])
    func `a body with two ends is refused`(row: Row) { expect(row) }

    @Test(arguments: [
        ("", "400"), (",", "400"), ("chunked,", "400"), (",chunked", "400"), ("gzip,,chunked", "400"),
        ("chunked;q=1", "400"),
        ("chunked ;a", "400"), ("chunked chunked", "400"), ("\"chunked\"", "400"), ("'chunked'", "400"),
        ("chunk ed", "400"),
        ("chunked\u{A0}", "400"), ("\u{A0}chunked", "400"), ("chunked\u{B}", "400"), ("\u{C}chunked", "400"),
        ("chunked\u{0}", "400"), ("chunked/1", "400"), ("=chunked", "400"), ("chunked:", "400"),
        ("chunked, chunked", "400"), ("chunked,chunked", "400"), ("chunked, gzip", "400"), ("chunked, identity", "400"),
        ("gzip, chunked, gzip", "400"), ("chunked\r\nTransfer-Encoding: chunked", "400"),
        ("chunked\r\nTransfer-Encoding: identity", "400"), ("chunked\r\nTransfer-Encoding:", "400"),
        ("gzip\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: gzip", "400"),
        // Without chunked at the end there is none to be found (RFC 9112 §6.3, rule 4), with it this server does not
        // undo the others (§6.1).
        ("gzip", "400"), ("identity", "400"), ("xchunked", "400"), ("chunkedx", "400"), ("chunke", "400"),
        ("x-chunked", "400"), ("chunked_", "400"), ("chunked.", "400"), ("gzip, deflate", "400"),
        ("gzip, chunked", "501"), ("gzip\r\nTransfer-Encoding: chunked", "501"), ("cow, chunked", "501"),
        ("identity, chunked", "501"), ("chunke, chunked", "501"), ("GZIP,\tCHUNKED", "501"),
        ("[chunked]", "400"), ("chunked;", "400"), ("chunked=1", "400"), ("chunked\r\n ", "400"),
        ("\r\n chunked", "400"),
    ])
    func `a coding that is not chunked, alone and once, is refused`(codings: String, status: String) {
        expect(Row("RFC 9112 §6.1", post("Transfer-Encoding: \(codings)", "0\r\n\r\n"), status))
    }

    @Test(arguments: [
        Row("RFC 9112 §6.3", post("Content-Length: 0", ""), "POST / [] open"),
        Row("RFC 9110 §8.6", post("Content-Length: 0003", "abc"), "POST / [abc] open"),
        Row("RFC 9112 §6.3", post("X: y", ""), "POST / [] open"),
        Row("RFC 9112 §6.3", post("Content-Length: 3", "ab"), "…"),
        Row("RFC 9112 §6.3", post("Content-Length: 3", "abc\r\n"), "POST / [abc] open"),
        Row("RFC 9112 §6.3", post("Content-Length: 3", "abcGET"), "POST / [abc] open, …"),
        Row("RFC 9112 §6.3", post("Content-Length: 3", "abc\u{0}"), "POST / [abc] open, 400"),
        Row("RFC 9112 §6.3", post("Content-Length: 4", "\r\n\r\n"), "POST / [\r\n\r\n] open"),
        // What looks like a request in a body is the body.
        Row(
            "RFC 9112 §6.3",
            post("Content-Length: 28", "GET /x HTTP/1.1\r\nHost: b\r\n\r\n") + post("Content-Length: 1", "c"),
            "POST / [GET /x HTTP/1.1\r\nHost: b\r\n\r\n] open, POST / [c] open"),
        Row(
            "RFC 9112 §6.3", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello" + post("X: y", ""),
            "GET / [hello] open, POST / [] open"),
        Row(
            "RFC 9112 §7.1",
            "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + post("X: y", ""),
            "GET / [hello] open, POST / [] open"),
        Row("RFC 9110 §9.3.2", "HEAD / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\na", "HEAD / [a] open"),
        Row("RFC 9110 §10.1.4", post("TE: chunked\r\nTrailer: X", ""), "POST / [] open"),
        Row("RFC 9112 §9.3", "POST / HTTP/1.0\r\n\r\nab", "POST / [] close, …"),
        Row("RFC 9110 §9.3.1", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab", "GET / [ab] open"),
        Row("RFC 9112 §9.3", "POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\nab", "POST / [ab] close"),
        Row("RFC 9110 §5.1", post("Content_Length: 3\r\nTransfer_Encoding: chunked", ""), "POST / [] open"),
        Row(
            "RFC 9110 §8.6", post("content-length:\t2", "ab") + post("Content-Length: 1", "c"),
            "POST / [ab] open, POST / [c] open"),
        Row("RFC 9112 §7.1", post("Transfer-Encoding:\tCHUNKED ", "1\r\na\r\n0\r\n\r\n"), "POST / [a] open"),
        Row(
            "RFC 9112 §7.1", post("tRANSFER-eNCODING: chunked", "0\r\n\r\n") + post("Content-Length: 1", "b"),
            "POST / [] open, POST / [b] open"),
    ])
    func `a body ends where its one length says`(row: Row) { expect(row) }
}

struct ChunkedBodyTests {
    @Test(arguments: [
        // The size (RFC 9112 §7.1).
        ("\r\n", "400"), (" 1\r\na\r\n0\r\n\r\n", "400"), ("\t1\r\n", "400"), ("+1\r\n", "400"), ("-1\r\n", "400"),
        ("0x1\r\n", "400"), ("1h\r\n", "400"), ("g\r\n", "400"), ("1_0\r\n", "400"), ("1.0\r\n", "400"),
        ("\"1\"\r\n", "400"),
        ("1\u{0}\r\n", "400"), ("\u{B9}\r\n", "400"), ("1 \r\n", "400"), ("1\t\r\n", "400"), ("1 a=b\r\n", "400"),
        ("FFFFFFFFFFFFFFFF\r\n", "413"), ("8000000000000000\r\n", "413"), ("10000000000000000\r\n", "413"),
        ("10000000000000001\r\n", "413"), ("FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF1\r\n", "413"),
        ("0_1\r\n", "400"), ("-0\r\n\r\n", "400"), ("+0\r\n\r\n", "400"), ("0 \r\n\r\n", "400"),
        ("0x0\r\n\r\n", "400"), ("0.0\r\n\r\n", "400"), ("1,\r\n", "400"), ("1:\r\n", "400"), ("1#\r\n", "400"),
        ("1\u{A0}\r\n", "400"), ("\u{EF}\u{BC}\u{91}\r\n", "400"), ("1\u{B}\r\n", "400"), ("1\u{C}\r\n", "400"),
        (";a\r\n", "400"), ("1 1\r\n", "400"), ("100000000\r\n", "413"), ("7FFFFFFFFFFFFFFFF\r\n", "413"),
        ("00000000000000000000FFFFFFFF\r\n", "413"),
        // Its line ends with CRLF.
        ("1\na\r\n0\r\n\r\n", "400"), ("1\r\r\na\r\n", "400"), ("1\ra\r\n", "400"), ("0\n\r\n", "400"),
        ("0\r\n\n", "400"),
        // The data is as long as it says and followed by CRLF.
        ("1\r\nab\r\n0\r\n\r\n", "400"), ("2\r\na\r\n0\r\n\r\n", "400"), ("1\r\na\n0\r\n\r\n", "400"),
        ("1\r\naXX0\r\n\r\n", "400"), ("1\r\na0\r\n\r\n", "400"), ("1\r\na\r0\r\n\r\n", "400"), ("1\r\na\r\r\n", "400"),
        // Extensions (RFC 9112 §7.1.1).
        ("1;\r\n", "400"), ("1;;a\r\n", "400"), ("1;=b\r\n", "400"), ("1;a=\r\n", "400"), ("1;a==b\r\n", "400"),
        ("1;a b\r\n", "400"),
        ("1;a=b c\r\n", "400"), ("1;a=\"b\r\n", "400"), ("1;a=\"b\"c\r\n", "400"), ("1;a=\"b\\\r\n", "400"),
        ("1;a=\"\u{1}\"\r\n", "400"), ("1;a=\"\\\u{1}\"\r\n", "400"), ("1;a=\"\\\u{7F}\"\r\n", "400"),
        ("1;a\u{0}\r\n", "400"),
        ("1;a\rb\r\n", "400"), ("1;a=\"b\"\"c\"\r\n", "400"), ("1;a,b\r\n", "400"), ("1;(a)\r\n", "400"),
        ("1;a \r\n", "400"), ("1;\u{E9}=b\r\n", "400"), ("1;a=\u{80}\r\n", "400"), ("1;a='b c'\r\n", "400"),
        ("1;a=\"\r\n\"\r\na\r\n", "400"), ("1;a=\"\n\"\r\na\r\n", "400"), ("1;a\nGET / HTTP/1.1\r\n", "400"),
        ("1; \r\n", "400"), ("1;a=\"b\";\r\n", "400"), ("0;\r\n\r\n", "400"),
        ("1;a=b \r\n", "400"), ("1;a;\r\n", "400"),
        // Trailers are fields (RFC 9112 §7.1.2).
        ("0\r\nX\r\n\r\n", "400"), ("0\r\nX : y\r\n\r\n", "400"), ("0\r\n: y\r\n\r\n", "400"),
        ("0\r\n X: y\r\n\r\n", "400"),
        ("0\r\nX: y\r\n z\r\n\r\n", "400"),
        ("0\r\nX: y\r\n\tz\r\n\r\n", "400"), ("0\r\nX\u{E9}: y\r\n\r\n", "400"), ("0\r\nX: \u{7F}\r\n\r\n", "400"),
        ("0\r\n \r\n\r\n", "400"), ("0\r\n\r\r\n", "400"), ("0\n\n", "400"), ("0\r\nX: y\n\r\n", "400"),
        ("0\r\nX: \u{0}\r\n\r\n", "400"),
        ("0\r\nX: a\rb\r\n\r\n", "400"), ("0\r\nGET / HTTP/1.1\r\n\r\n", "400"),
    ])
    func `chunks against the grammar are refused`(chunks: String, status: String) {
        expect(Row("RFC 9112 §7.1", post("Transfer-Encoding: chunked", chunks), status))
    }

    @Test(arguments: [
        ("0\r\n\r\n", ""), ("00000000000000000000000\r\n\r\n", ""), ("1\r\na\r\n0\r\n\r\n", "a"),
        ("0000000000000000000000001\r\na\r\n0\r\n\r\n", "a"), ("A\r\n0123456789\r\n0\r\n\r\n", "0123456789"),
        ("a\r\n0123456789\r\n1\r\n!\r\n0\r\n\r\n", "0123456789!"), ("0B\r\n01234567890\r\n0\r\n\r\n", "01234567890"),
        ("5\r\n0\r\n\r\n\r\n0\r\n\r\n", "0\r\n\r\n"), ("2\r\n\r\n\r\n0\r\n\r\n", "\r\n"),
        ("1\r\n\u{0}\r\n0\r\n\r\n", "\u{0}"),
        ("1;a\r\nx\r\n0\r\n\r\n", "x"), ("1;a=b;c;d=e\r\nx\r\n0;f\r\n\r\n", "x"),
        ("1 ; a = b ;\tc\r\nx\r\n0\r\n\r\n", "x"),
        ("1;a=\"\"\r\nx\r\n0\r\n\r\n", "x"), ("1;a=\"b;c=\\\"d\\\\\t\u{E9}\";e\r\nx\r\n0\r\n\r\n", "x"),
        // Trailers are dropped: none of them says anything about the message (RFC 9110 §6.5.1).
        ("0\r\nX: y\r\nZ:\r\n\r\n", ""), ("0\r\nContent-Length: 9\r\nTransfer-Encoding: gzip\r\nHost: \r\n\r\n", ""),
        ("0\r\nConnection: close\r\nExpect: x\r\n\r\n", ""),
    ])
    func `chunks become the body they were made of`(chunks: String, body: String) {
        let next = post("Content-Length: 1", "z")
        expect(
            Row(
                "RFC 9112 §7.1", post("Transfer-Encoding: chunked", chunks) + next,
                "POST / [\(body)] open, POST / [z] open"))
    }

    @Test(arguments: [
        "", "1", "1\r", "1\r\n", "1\r\na", "1\r\na\r", "1\r\na\r\n", "0", "0\r\n", "0\r\n\r", "0\r\nX: y\r\n",
    ])
    func `a chunked body without its end is not whole`(chunks: String) {
        expect(Row("RFC 9112 §8", post("Transfer-Encoding: chunked", chunks), "…"))
    }

    @Test func `trailers do not become headers`() throws {
        let headers = try request(post("Transfer-Encoding: chunked", "0\r\nX: y\r\nHost: b\r\n\r\n")).headers
        #expect(headers.count == 2)
        #expect(headers["host"] == "a")
    }
}

/// A request with this field line behind its Host, and this behind its head.
private func post(_ line: String, _ body: String) -> String {
    "POST / HTTP/1.1\r\nHost: a\r\n\(line)\r\n\r\n\(body)"
}
