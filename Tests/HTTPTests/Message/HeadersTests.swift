import Testing

@testable import HTTP

struct HeadersTests {
    @Test(arguments: ["", " ", "a b", "a:", ":a", "a\r\n", "ä", "a/b", "\"a\"", "a\u{0}", "\u{212A}"])
    func `a name from elsewhere must be a token`(name: String) {
        #expect(HeaderName(name) == nil)
    }

    @Test func `names are compared without regard to case`() {
        let received = "X-Request-ID"
        #expect(HeaderName(received) == "x-request-id")
        #expect(HeaderName(received)?.lowercased == "x-request-id")
        #expect("X-Request-ID" as HeaderName == "x-REQUEST-id")
        #expect("a" as HeaderName != "b")
    }

    @Test(arguments: [
        ("a\r\nb", false), ("a\nb", false), ("a\rb", false), ("a\u{0}", false), ("\u{7F}", false), ("\u{1F}", false),
        ("", true),
        ("a b", true), ("a\tb", true), ("é", true), ("\u{80}", true),
    ])
    func `a value that would end its line is not valid`(value: String, isValid: Bool) {
        #expect(Headers.isValidValue(value) == isValid)
    }

    @Test func `fields are found by name`() {
        var headers: Headers = ["a": "1", "Bb": "2", "a": "3"]
        headers.append("ccc", "4")
        #expect(headers["b"] == nil)
        #expect(headers["A"] == "1")
        #expect(headers.values("a") == ["1", "3"])
        #expect(headers["bB"] == "2")
        #expect(headers["ccc"] == "4")
        #expect(headers.contains("CCC"))
        #expect(!headers.contains("cc"))
        #expect(headers.count == 4)
        #expect(Headers().isEmpty)
        #expect(Headers()["a"] == nil)
    }

    @Test func `what holds secrets does not print them`() throws {
        #expect("\(["authorization": "Bearer abc"] as Headers)" == "‹redacted›")
        #expect("\(try FormFields(parsing: "code=abc"))" == "‹redacted›")
    }

    @Test func `a field may be added to received ones`() throws {
        var headers = try request("GET / HTTP/1.1\r\nHost: a\r\n\r\n").headers
        headers.append("x", "y")
        #expect(headers["host"] == "a")
        #expect(headers["x"] == "y")
    }

    @Test(arguments: [
        ("close", true), ("Close", true), (" foo ,\tclose , bar", true), (",,close", true), ("closed", false),
        ("clo se", false),
        ("foo", false), ("", false), ("\"close\"", false), ("close;q=1", false),
    ])
    func `a list holds a token or it does not`(value: String, holds: Bool) {
        #expect(Headers(["connection": value]).lists("connection", token: "close") == holds)
        #expect(Headers(["connection": "x", "connection": value]).lists("Connection", token: "close") == holds)
        #expect(!Headers(["upgrade": value]).lists("connection", token: "close"))
    }

    @Test func `octets that are no UTF-8 are replaced in text`() throws {
        let headers = try request("GET / HTTP/1.1\r\nHost: a\r\nX: a\u{C3}b\u{C3}\u{A9}\r\n\r\n").headers
        #expect(headers["x"] == "a\u{FFFD}bé")
    }
}

struct ASCIISetTests {
    @Test(arguments: [
        (ASCIISet.token, "!#$%&'*+-.^_`|~"), (.path, "-._~!$&'()*+,;=:@/"), (.query, "-._~!$&'()*+,;=:@/?[]\\^`{|}"),
        (.hostName, "-._~!$&'()*+;="), (.formPlain, "*-._"),
    ])
    func `a set holds letters, digits and these characters only`(set: ASCIISet, others: String) {
        let alphanumerics = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
        for byte in UInt8.min...UInt8.max {
            #expect(set.contains(byte) == (alphanumerics + others).utf8.contains(byte), "\(byte)")
        }
    }
}
