import HTTP
import Testing

struct SegmentTests {
    @Test(arguments: [
        "%", "%4", "%4g", "%g4", "%%41", "a%", "%u0041", "%+1", "%-1", "% 1",
        // NUL, and octets that are no UTF-8: overlong, half of a pair, past the last, cut (RFC 3629 §3, §10).
        "%00", "a%00b", "%c0%af", "..%c0%af..", "%e0%80%af", "%f0%80%80%af", "%ed%a0%80", "%f4%90%80%80", "%ff", "%C3",
        "%80",
        "%C3%28",
    ])
    func `a segment that stands for no text is refused`(segment: String) {
        let fault = #expect(throws: MessageFault.self) { try Target.unescaped(segment) }
        #expect(fault?.status == .badRequest)
    }

    @Test(arguments: [
        ("", ""), ("a", "a"), ("%61", "a"), ("%2e%2E", ".."), ("..", ".."), ("%2f", "/"), ("a%2Fb", "a/b"), ("+", "+"),
        ("%20", " "), ("%2B", "+"), ("%25", "%"), ("%2541", "%41"), ("%C3%A9", "é"), ("%f0%9f%98%80", "😀"),
        ("%3F%23", "?#"),
        ("%0D%0A", "\r\n"), ("-._~!$&'()*,;=:@", "-._~!$&'()*,;=:@"),
    ])
    func `a segment's escapes are undone once`(segment: String, text: String) throws {
        #expect(try Target.unescaped(segment).utf8.elementsEqual(text.utf8))
    }
}
