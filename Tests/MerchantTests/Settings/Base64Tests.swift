import Testing

@testable import MerchantModel

struct Base64Tests {
    @Test(arguments: [
        "A", "AA", "AAA", "A===", "====", "=", "AA=A", "AB==", "AAB=", "AAA=AAAA", "AA==AA==", "AAA-", "AAA_", "AAA ",
        " AAA", "AAA\n", "AA\u{0}A", "éé", "\u{FF21}AA=",
    ])
    func `a text that is not the one spelling of some bytes is refused`(text: String) {
        #expect(Base64.decode(text.utf8) == nil)
    }

    @Test(arguments: ["A", "AA==", "AAA=", "AB", "AAB", "AAA+", "AAA/", "AAAAA", " AA", "A\nAA", "=", "AA.A"])
    func `the same holds for the URL alphabet, which has no padding`(text: String) {
        #expect(Base64.decodeURL(text.utf8) == nil)
    }

    /// RFC 4648 §10, and the characters in which the alphabets differ.
    @Test(arguments: [
        ("", "", ""), ("Zg==", "Zg", "f"), ("Zm8=", "Zm8", "fo"), ("Zm9v", "Zm9v", "foo"),
        ("Zm9vYg==", "Zm9vYg", "foob"), ("Zm9vYmE=", "Zm9vYmE", "fooba"), ("Zm9vYmFy", "Zm9vYmFy", "foobar"),
        ("Pz8/Pj4+", "Pz8_Pj4-", "???>>>"),
    ])
    func `every byte comes back`(standard: String, url: String, text: String) {
        #expect(Base64.decode(standard.utf8) == Array(text.utf8))
        #expect(Base64.decodeURL(url.utf8) == Array(text.utf8))
    }
}
