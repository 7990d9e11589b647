import HTTP
import Testing

struct HostTests {
    @Test(arguments: [
        Row("RFC 9112 §3.2", "GET / HTTP/1.1\r\n\r\n", "400"),
        Row("RFC 9112 §3.2", "GET / HTTP/1.1\r\nX: a\r\n\r\n", "400"),
        Row("RFC 9112 §3.2", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "400"),
        Row("RFC 9112 §3.2", "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\nhOST: b\r\n\r\n", "400"),
        Row("RFC 9112 §3.2", "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", "400"),
        Row("RFC 9112 §3.2", "GET / HTTP/1.0\r\nHost: a b\r\n\r\n", "400"),
        Row("RFC 9112 §3.2.2", "GET http://a/ HTTP/1.1\r\n\r\n", "400"),
        Row("RFC 9112 §3.2.2", "GET http://a/ HTTP/1.1\r\nHost: b/c\r\n\r\n", "400"),
        Row("RFC 9112 §3.2", "OPTIONS * HTTP/1.1\r\n\r\n", "400"),
        Row("RFC 9112 §3.2", "GET / HTTP/1.9\r\n\r\n", "400"),
        Row("RFC 9112 §3.2", "GET / HTTP/1.1\r\nX-Host: a\r\n\r\n", "400"),
        Row("RFC 9112 §3.2.2", "GET http://a/ HTTP/1.1\r\nHost:\r\n\r\n", "400"),
        Row("RFC 9112 §3.2.2", "GET http://a/ HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "400"),
        Row("RFC 9112 §3.2.2", "GET http://a/ HTTP/1.1\r\nHost: other.example\r\n\r\n", "GET / [] open"),
        Row(
            "RFC 9112 §3.2", "GET / HTTP/1.1\r\n" + String(repeating: "X: y\r\n", count: 30) + "Host: a\r\n\r\n",
            "GET / [] open"),
        Row("RFC 9112 §3.2", "GET / HTTP/1.0\r\n\r\n", "GET / [] close"),
        Row("RFC 9112 §3.2.2", "GET http://a/ HTTP/1.0\r\n\r\n", "GET / [] close"),
    ])
    func `HTTP/1.1 names one host, exactly once`(row: Row) { expect(row) }

    @Test(arguments: [
        "a\tb", "a\u{0}", "a\u{A0}", "a;b@c", "a]", "a:[::1]", "a:80/", "a:80?", "a:\u{B2}", "a:0x50", "a,a", "a, a",
        "\"a\"",
        "[::1]:80:80", "[::1] :80", "[ ::1]", "[::1%]", "[::1/64]", "[::1]:+1", "*:b", "", " ", ":", ":80", "a b",
        "a, b", "a,b", "a/", "a/b", "a?b", "a#b", "a\\b", "u@a", "u:p@a", "http://a", "a:b",
        "a:8a",
        "a:+80", "a: 80", "a :80", "a:80 80", "a:80:80", "a:65536", "a:99999999999999999999", "a\"", "<a>", "{a}",
        "a|b", "a^b",
        "a`b", "a[b", "a%", "a%4", "a%zz", "\u{E9}", "[", "[]", "[:]", "[::1", "::1", "1::2", "[::1]a", "[::1]:b",
        "[::1]]", "a[::1]", "[[::1]]", "[::1%eth0]", "[::1%25eth0]", "[::1]:65536", "[1.2.3.4]", "[v1.a]",
        "[fe80::1::2]",
        "[1:2:3:4:5:6:7]", "[1:2:3:4:5:6:7:8:9]", "[1:2:3:4:5:6:7::8:9]", "[1:2:3:4:5:6:7:8::]", "[12345::]", "[g::]",
        "[:1:2:3:4:5:6:7]", "[1:2:3:4:5:6:7:]", "[:::]", "[::1:]", "[::1.2.3]", "[::1.2.3.4.5]", "[::256.1.1.1]",
        "[::01.2.3.4]", "[::1.2.3.4:5]", "[1:2:3:4:5:6:7:1.2.3.4]", "[::1.2.3.]", "[::.1.2.3]",
    ])
    func `what is no host with at most a port is refused`(host: String) {
        expect(Row("RFC 9110 §7.2", "GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n", "400"))
    }

    @Test(arguments: [
        "a", "A.example", "a-b.c_d~e.", "localhost:8080", "a:", "a:0", "a:65535", "a:00080", "127.0.0.1",
        "127.0.0.1:80",
        "999.1", "%61", "a!$&'()*+;=b", "[::]", "[::1]", "[::1]:8080", "[::1]:", "[1::]", "[1:2:3:4:5:6:7:8]",
        "[1:2:3:4:5:6:7::]", "[::2:3:4:5:6:7:8]", "[fe80::a:B:c]", "[::ffff:127.0.0.1]", "[1:2:3:4:5:6:1.2.3.4]",
        "[1::0.0.0.255]",
    ])
    func `a name, an address and a port are taken`(host: String) throws {
        expect(Row("RFC 3986 §3.2.2", "GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n", "GET / [] open"))
        #expect(try request("GET / HTTP/1.1\r\nHost: \t\(host) \r\n\r\n").headers["host"] == host)
    }

    @Test func `the host of an absolute target stands in for the Host field`() throws {
        let request = try request("GET http://b.example:81/c HTTP/1.1\r\nX: 1\r\nHost: a\r\nY: 2\r\n\r\n")
        #expect(request.headers["host"] == "b.example:81")
        #expect(request.headers["x"] == "1")
        #expect(request.headers["y"] == "2")
        #expect(request.headers.count == 3)
        #expect(request.target == "/c")
    }
}
