import HTTP
import Testing

struct RequestLineTests {
    @Test(arguments: [
        // The line (RFC 9112 §3): one space, twice.
        Row("RFC 9112 §3", line("GET  / HTTP/1.1"), "400"),
        Row("RFC 9112 §3", line("GET /  HTTP/1.1"), "400"),
        Row("RFC 9112 §3", line("GET / HTTP/1.1 "), "400"),
        Row("RFC 9112 §3", line(" GET / HTTP/1.1"), "400"),
        Row("RFC 9112 §3", line("GET\t/\tHTTP/1.1"), "400"),
        Row("RFC 9112 §3", line("GET /\u{0B}HTTP/1.1"), "400"),
        Row("RFC 9112 §3", line("GET / HTTP/1.1 x"), "400"),
        Row("RFC 9112 §3", line("GET /a b HTTP/1.1"), "400"),
        Row("RFC 9112 §3", line("GET HTTP/1.1"), "400"),
        Row("RFC 9112 §3", line("GET  HTTP/1.1"), "400"),
        Row("RFC 9112 §3", line("GET"), "400"),
        Row("RFC 9112 §3", line("GET /"), "400"),
        Row("RFC 9112 §3", line("/ HTTP/1.1"), "400"),
        Row("RFC 9112 §3", line("Host: a"), "400"),
        Row("RFC 9112 §3", line("GET / HTTP/1.1\t"), "400"),
        Row("RFC 9112 §3", line("GET / HTTP/1.1\u{0}"), "400"),
        Row("RFC 9112 §3", line("GET / HTTP/1.1 HTTP/1.1"), "400"),
        Row("RFC 9112 §3", line("GET\u{A0}/ HTTP/1.1"), "400"),
        Row("RFC 9112 §3", line("GET\u{B}/ HTTP/1.1"), "400"),
        Row("RFC 9112 §3", line("GET\u{C}/ HTTP/1.1"), "400"),
        Row("RFC 9112 §3", line("GET\r/ HTTP/1.1"), "400"),
        Row("RFC 9112 §3", line("\tGET / HTTP/1.1"), "400"),
        Row("RFC 9112 §3", line("GET / /b HTTP/1.1"), "400"),
        Row("RFC 9112 §3", line("HTTP/1.1 200 OK"), "400"),
        Row("RFC 9112 §3", "\u{80}\u{81}\u{FE}\u{FF} /\u{3}\r\n\r\n", "400"),
        Row("RFC 9112 §3", "{\"a\":1}\r\n\r\n", "400"),
        // The method is a token (RFC 9110 §9.1).
        Row("RFC 9110 §9.1", line("GE\u{0}T / HTTP/1.1"), "400"),
        Row("RFC 9110 §9.1", line("G(T / HTTP/1.1"), "400"),
        Row("RFC 9110 §9.1", line("GET/ / HTTP/1.1"), "400"),
        Row("RFC 9110 §9.1", line("G\u{C9}T / HTTP/1.1"), "400"),
        Row("RFC 9110 §9.1", line("\u{EF}\u{BB}\u{BF}GET / HTTP/1.1"), "400"),
        Row("RFC 9112 §3", "\u{16}\u{3}\u{1}\u{0}\u{A5}\u{1}", "400"),
        Row("RFC 9112 §3", "\u{0}", "400"),
        // The version (RFC 9112 §2.3).
        Row("RFC 9112 §2.3", line("GET / http/1.1"), "400"),
        Row("RFC 9112 §2.3", line("GET / HTTP/1"), "400"),
        Row("RFC 9112 §2.3", line("GET / HTTP/1."), "400"),
        Row("RFC 9112 §2.3", line("GET / HTTP/.1"), "400"),
        Row("RFC 9112 §2.3", line("GET / HTTP/1.1.1"), "400"),
        Row("RFC 9112 §2.3", line("GET / HTTP/11.1"), "400"),
        Row("RFC 9112 §2.3", line("GET / HTTP/1.01"), "400"),
        Row("RFC 9112 §2.3", line("GET / HTTP/1_1"), "400"),
        Row("RFC 9112 §2.3", line("GET / HTTP/1,1"), "400"),
        Row("RFC 9112 §2.3", line("GET / HTTP/1.10"), "400"),
        Row("RFC 9112 §2.3", line("GET / HTTP/01.1"), "400"),
        Row("RFC 9112 §2.3", line("GET / HTTP/+1.1"), "400"),
        Row("RFC 9112 §2.3", line("GET / HTTP/-1.1"), "400"),
        Row("RFC 9112 §2.3", line("GET / HTTP/ 1.1"), "400"),
        Row("RFC 9112 §2.3", line("GET / HTTP/1 .1"), "400"),
        Row("RFC 9112 §2.3", line("GET / HTTP//1.1"), "400"),
        Row("RFC 9112 §2.3", line("GET / HTTP/1\u{0}1"), "400"),
        Row("RFC 9112 §2.3", line("GET / HTTP/\u{B9}.1"), "400"),
        Row("RFC 9112 §2.3", line("GET / HTTPS/1.1"), "400"),
        Row("RFC 9112 §2.3", line("GET / Http/1.1"), "400"),
        Row("RFC 9112 §2.3", line("GET / HTTP"), "400"),
        Row("RFC 9112 §2.3", line("GET / HTTP/"), "400"),
        Row("RFC 9112 §2.3", line("GET / XHTTP/1.1"), "400"),
        Row("RFC 9112 §2.3", line("GET / HTTP/a.1"), "400"),
        Row("RFC 9112 §2.3", line("GET / HTTP/1.x"), "400"),
        Row("RFC 9112 §2.3", line("GET / HTTP 1.1"), "400"),
        Row("RFC 9112 §2.3", line("GET / HTCPCP/1.0"), "400"),
        Row("RFC 9112 §2.3", line("GET / ICY/1.111"), "400"),
        Row("RFC 9110 §15.6.6", line("GET / HTTP/0.9"), "505"),
        Row("RFC 9110 §15.6.6", line("GET / HTTP/0.0"), "505"),
        Row("RFC 9110 §15.6.6", line("GET / HTTP/2.0"), "505"),
        Row("RFC 9110 §15.6.6", line("GET / HTTP/2.1"), "505"),
        Row("RFC 9110 §15.6.6", line("GET / HTTP/3.0"), "505"),
        Row("RFC 9110 §15.6.6", line("GET / HTTP/9.9"), "505"),
        Row("RFC 9113 §3.4", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505"),
        // The line's end (RFC 9112 §2.2).
        Row("RFC 9112 §2.2", "GET / HTTP/1.1\nHost: a\n\n", "400"),
        Row("RFC 9112 §2.2", "GET / HTTP/1.1\r\r\nHost: a\r\n\r\n", "400"),
        Row("RFC 9112 §2.2", "GET / HTTP/1.1\rHost: a\r\n\r\n", "400"),
        Row("RFC 9112 §2.2", "GET / HTTP/1.1\n\r\nHost: a\r\n\r\n", "400"),
        Row("RFC 9112 §2.2", "GET /\n HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
        // What may stand before it (RFC 9112 §2.2).
        Row("RFC 9112 §2.2", "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
        Row("RFC 9112 §2.2", "\rGET / HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
        Row("RFC 9112 §2.2", "\r\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
        Row("RFC 9112 §2.2", "\n\n", "400"),
        Row("RFC 9112 §2.2", "\r\n\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
        Row("RFC 9112 §2.2", " \r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
        Row("RFC 9112 §2.2", "\t\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
        Row("RFC 9112 §2.2", "\u{0}\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
        Row("RFC 9112 §2.2", "\r\n GET / HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
        Row("RFC 9112 §2.2", "\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
    ])
    func `a request line against the grammar is refused`(row: Row) { expect(row) }

    @Test(arguments: [
        // RFC 9112 §3.2.1 and RFC 3986 §3.3: what must be escaped is escaped, and properly.
        "/a#b", "/a?b#c", "/a%", "/a%4", "/a%4g", "/a%g4", "/%%30", "/a?%zz", "/a?b=%", "/a?%u0041", "/\u{7F}",
        "/\u{80}",
        "/\u{C3}\u{A9}", "/?\u{C3}\u{A9}", "/a\u{0}", "/a\u{1F}", "/\"", "/<", "/>", "/\\", "/^", "/`", "/{", "/|",
        "/}",
        "/[", "/]", "/?\"", "/?<", "/?>", "/?\u{7F}", "/?\u{FF}",
        "/a?b%", "/a?%C3%A", "/a\u{A0}", "/a\tb", "/a?b\tc", "/\u{1B}[31m", "/a\u{0}?b",
        // Neither a path nor a URL.
        "127.0.0.1:80", "[::1]:80", "[::1]", ":80", "a:b@c", "*a", "**/", "\\", ".", "..", "~", "?", "-", "&a=b",
        "a", "a/b", "?a", "#", "%2F", "example.com", "example.com:80", "user@example.com", "//[", "**", "*/", "*?a",
        // RFC 9112 §3.2.4: for OPTIONS only.
        "*",
        "https:/a", "http://a:80a/", "http://a:8 0/", "http://a\u{0}/", "http://a/ b", "http://a/\u{0}", "http://a?b c",
        "http://[::1]:b/", "http://a]/", "http://a[/", "http://a;b@c/", "http://a%2Fb@c/", "http://a%2", "://a/",
        // RFC 9112 §3.2.2, RFC 9110 §4.2: a URL of this server's kind, with a host and without a user.
        "ftp://a/", "ws://a/", "file:///etc/passwd", "urn:a", "httpx://a/", "http:/a", "http:a", "http//a",
        "http:\\\\a\\",
        "http://", "http:///", "http:///a", "http://?a", "https://", "http://:80/", "http://u@a/", "http://u:p@a/",
        "http://@a/", "http://a@/", "http://a:b/", "http://a:-1/", "http://a:65536/", "http://a:80:80/", "http://a b/",
        "http://a,b/", "http://a#b", "http://a/#b", "http://a\\b/", "http://a%/", "http://a%zz/", "http://[/",
        "http://[]/", "http://[::1/", "http://::1/", "http://[::1]a/", "http://[::1%25eth0]/", "http://[v1.a]/",
        "http://[1.2.3.4]/", "http://a/%", "http://a/?%", "http://\u{E9}/",
    ])
    func `a target that is no path or URL of this server is refused`(target: String) {
        expect(Row("RFC 9112 §3.2", line("GET \(target) HTTP/1.1"), "400"))
    }

    @Test(arguments: ["127.0.0.1:22", "a:443", "/", "*", "http://a/", "[::1]:443"])
    func `no tunnel is opened`(target: String) {
        expect(Row("RFC 9110 §9.3.6", line("CONNECT \(target) HTTP/1.1"), "501"))
    }

    @Test(arguments: [
        ("/", "/"), ("//", "//"), ("//a/..", "//a/.."), ("/a%2Fb%00%ff", "/a%2Fb%00%ff"), ("/?", "/?"), ("/??", "/??"),
        // Nothing is resolved here: what a segment stands for is asked segment by segment.
        ("/..", "/.."), ("/./a/../..", "/./a/../.."), ("/%2e%2e/%2E%2E/etc", "/%2e%2e/%2E%2E/etc"),
        ("/%c0%af", "/%c0%af"),
        ("//b.example/%2f..", "//b.example/%2f.."), ("/a;b=c/d", "/a;b=c/d"), ("/*", "/*"), ("/a:80", "/a:80"),
        ("/http://b/", "/http://b/"), ("/@b", "/@b"), ("http://a/?b/c?d", "/?b/c?d"), ("http://a:0/", "/"),
        ("/a?b=c&d=%20;e=(f)!*'+,~", "/a?b=c&d=%20;e=(f)!*'+,~"), ("/-._~!$&'()*+,;=:@", "/-._~!$&'()*+,;=:@"),
        ("/?/?:@", "/?/?:@"),
        // As browsers send a query: URL standard of the WHATWG, §1.3.
        ("/?a[]={b}|\\^`", "/?a[]={b}|\\^`"),
        ("http://a", "/"), ("http://a/", "/"), ("http://a?b", "/?b"), ("http://a/b?c", "/b?c"), ("HTTP://A/b", "/b"),
        ("hTTps://a:443/b", "/b"), ("http://a:/b", "/b"), ("http://[::1]:8080/b", "/b"), ("http://127.0.0.1/b", "/b"),
        ("http://a//b", "//b"), ("http://a%41/b", "/b"),
    ])
    func `a target is a path and a query, whatever form it has`(target: String, pathAndQuery: String) {
        expect(Row("RFC 9112 §3.2", line("GET \(target) HTTP/1.1"), "GET \(pathAndQuery) [] open"))
    }

    @Test(arguments: [
        Row("RFC 9112 §3.2.4", line("OPTIONS * HTTP/1.1"), "OPTIONS * [] open"),
        Row("RFC 9112 §3.2.4", line("OPTIONS http://a HTTP/1.1"), "OPTIONS * [] open"),
        Row("RFC 9112 §3.2.4", line("OPTIONS http://a? HTTP/1.1"), "OPTIONS /? [] open"),
        Row("RFC 9112 §3.2.4", line("OPTIONS http://a/ HTTP/1.1"), "OPTIONS / [] open"),
        Row("RFC 9112 §3.2.4", line("OPTIONS http://a?b HTTP/1.1"), "OPTIONS /?b [] open"),
        Row("RFC 9110 §9.1", line("get / HTTP/1.1"), "get / [] open"),
        Row("RFC 9110 §9.1", line("FROBNICATE / HTTP/1.1"), "FROBNICATE / [] open"),
        Row("RFC 9110 §9.1", line("CONNECTS / HTTP/1.1"), "CONNECTS / [] open"),
        Row("RFC 9110 §9.1", line("connect / HTTP/1.1"), "connect / [] open"),
        Row("RFC 9110 §9.3.8", line("TRACE / HTTP/1.1"), "TRACE / [] open"),
        Row("RFC 9110 §5.6.2", line("!#$%&'*+-.^_`|~09Az / HTTP/1.1"), "!#$%&'*+-.^_`|~09Az / [] open"),
        Row("RFC 9110 §2.5", line("GET / HTTP/1.9"), "GET / [] open"),
        Row("RFC 9112 §9.3", line("GET / HTTP/1.0"), "GET / [] close"),
        Row("RFC 9112 §2.2", "\r\n" + line("GET / HTTP/1.1"), "GET / [] open"),
        Row("RFC 9112 §2.2", "\r\n\r\n\r\n\r\n" + line("GET / HTTP/1.1"), "GET / [] open"),
        Row(
            "RFC 9112 §9.3.2", line("GET / HTTP/1.1") + "\r\n" + line("PUT /2 HTTP/1.1"),
            "GET / [] open, PUT /2 [] open"),
    ])
    func `a request line by the grammar is taken`(row: Row) { expect(row) }

    @Test func `a target's parts are told apart at the first question mark`() throws {
        let target = try request(line("GET /a?b=c?d HTTP/1.1")).target
        #expect(target.path == "/a")
        #expect(target.query == "b=c?d")
        #expect(try request(line("GET /a? HTTP/1.1")).target.query == "")
        #expect(try request(line("GET /a HTTP/1.1")).target.query == nil)
    }
}

/// A request with this first line.
private func line(_ line: String) -> String { "\(line)\r\nHost: a\r\n\r\n" }
