import JSON
import Testing

struct Base64Tests {
    @Test(arguments: [
        "A", "AA", "AAA", "A===", "====", "=", "AA=A", "AB==", "AAB=", "AAA=AAAA", "AA==AA==", "AAA-", "AAA_", "AAA ",
        " AAA", "AAA\n", "AA\u{0}A", "éé", "\u{FF21}AA=",
    ])
    func `a text that is not the one spelling of some bytes is refused`(text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test(arguments: ["A", "AA==", "AAA=", "AB", "AAB", "AAA+", "AAA/", "AAAAA", " AA", "A\nAA", "=", "AA.A"])
    func `the same holds for the URL alphabet, which has no padding`(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    /// RFC 4648 §10, and the characters in which the alphabets differ.
    @Test(arguments: [
        ("", "", ""), ("Zg==", "Zg", "f"), ("Zm8=", "Zm8", "fo"), ("Zm9v", "Zm9v", "foo"),
        ("Zm9vYg==", "Zm9vYg", "foob"), ("Zm9vYmE=", "Zm9vYmE", "fooba"), ("Zm9vYmFy", "Zm9vYmFy", "foobar"),
        ("Pz8/Pj4+", "Pz8_Pj4-", "???>>>"),
    ])
    func `every byte comes back`(standard: String, url: String, text: String) {
        #expect(Base64.decode(standard) == Array(text.utf8))
        #expect(Base64URL.decode(url) == Array(text.utf8))
        #expect(Base64.encode(text.utf8) == standard)
        #expect(Base64URL.encode(text.utf8) == url)
    }

    @Test func `bytes of every length and value come back`() {
        for count in 0..<40 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 83 &+ 251) }
            #expect(Base64.decode(Base64.encode(bytes)) == bytes)
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
        }
    }

    @Test(arguments: ["Pz8_Pj4-Zg", "Pz8/Pj4+Zg", "Pz8_Pj4-Zg==", "Pz8/Pj4+Zg==", "Pz8/Pj4-Zh"])
    func `either alphabet is read where platforms differ, padded or not`(text: String) {
        #expect(AnyBase64.decode(text) == Array("???>>>f".utf8))
    }

    @Test(arguments: ["A", "AAAAA", "A===", "AA=A", "A A", "é"])
    func `a text in neither alphabet is refused there too`(text: String) {
        #expect(AnyBase64.decode(text) == nil)
    }
}
