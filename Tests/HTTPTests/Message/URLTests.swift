import HTTP
import Testing

struct URLTests {
    @Test(arguments: [
        "", "/", "/a", "a", "a.example", "//a.example/", "a.example:80", "http", "http:", "http:/", "http://",
        "http:///a", "http://?a", "http:a",
        "http:/a.example/", "http:\\\\a.example/", "http:/\\a.example/", "ftp://a/", "ws://a/", "javascript:alert(1)",
        "mailto:a@b",
        "https ://a/", " https://a/", "https://a/ ", "https://a /", "https://a/b c", "https://a/\n", "\nhttps://a/",
        "https://a\t/",
        "https://u@a/", "https://u:p@a/", "https://@a/", "https://:p@a/", "https://a@b@c/", "https://a/#",
        "https://a/#b", "https://a#b",
        "https://a?b#c", "https://a\\b/", "https://a\\@b/", "https://a/\\b", "https://a:b/", "https://a:0/",
        "https://a:65536/", "https://a:-1/",
        "https://a:1:2/", "https://a:+1/", "https://a,b/", "https://a%2Eb/", "https://%61/", "https://a/%",
        "https://a/%zz", "https://a/?%1",
        "https://é.example/", "https://a/é", "https://a/?é", "https://[::1", "https://::1/", "https://[::1]]/",
        "https://[::1%25eth0]/",
        "https://[]/", "https://[1.2.3.4]/", "https://a/\u{0}", "https://a/\u{7F}", "https://a/<b>", "https://a/?\"",
        "https://a\u{3002}b/",
    ])
    func `what could lead elsewhere than it seems is no URL`(text: String) {
        #expect(URL(text) == nil)
    }

    @Test(arguments: [
        ("http://a", "http", "a", 80, "/"), ("https://a", "https", "a", 443, "/"),
        ("HTTPS://A.Example/B", "https", "a.example", 443, "/B"),
        ("https://a:8443/b?c=d", "https", "a", 8443, "/b?c=d"), ("http://a:/", "http", "a", 80, "/"),
        ("https://a:443/", "https", "a", 443, "/"),
        ("https://a?b", "https", "a", 443, "/?b"), ("https://a/?", "https", "a", 443, "/?"),
        ("https://127.0.0.1:1/", "https", "127.0.0.1", 1, "/"),
        ("http://[::1]:8080/a", "http", "::1", 8080, "/a"), ("http://[FE80::A]/", "http", "fe80::a", 80, "/"),
        ("https://a-b_c.d~e/", "https", "a-b_c.d~e", 443, "/"), ("https://a//b/../c", "https", "a", 443, "//b/../c"),
        ("https://a/@b", "https", "a", 443, "/@b"),
    ])
    func `a URL is an origin and a target`(text: String, scheme: String, host: String, port: UInt16, target: String)
        throws
    {
        let url = try #require(URL(text))
        #expect(url.origin.scheme.rawValue == scheme)
        #expect(url.origin.host == host)
        #expect(url.origin.port == port)
        #expect(url.target.description == target)
    }

    @Test(arguments: [
        ("https://a", "https://a/", "a"), ("https://A:443/b?c", "https://a/b?c", "a"),
        ("https://a:80/", "https://a:80/", "a:80"),
        ("http://a:80/", "http://a/", "a"), ("http://[::1]", "http://[::1]/", "[::1]"),
        ("http://[::1]:81", "http://[::1]:81/", "[::1]:81"),
    ])
    func `a URL has one spelling and its host one too`(text: String, spelling: String, authority: String) throws {
        let url = try #require(URL(text))
        #expect(url.description == spelling)
        #expect(url.origin.authority == authority)
        #expect(URL(spelling) == url)
    }

    @Test(arguments: [
        ("https://a/", "http://a/", false), ("https://a/", "https://b/", false),
        ("https://a/", "https://a:444/", false),
        ("https://a/", "https://a.b/", false), ("http://a:443/", "https://a:443/", false),
        ("https://a/", "https://A:443/b?c", true),
        ("http://a:80", "http://a/x", true), ("http://[::1]/", "http://[::1]:80/", true),
    ])
    func `an origin is a scheme, a host and a port`(one: String, other: String, isSame: Bool) throws {
        #expect(try (#require(URL(one)).origin == #require(URL(other)).origin) == isSame)
    }
}
