import SoftwareAuthenticator
import Testing

struct Base64URLTests {
    @Test(arguments: ["A", "AAAAA", "AB", "AAB", "YQ==", "YQ=", "+w", "/w", "Y Q", "YQ\n", "YQ\u{0}", "Ä"])
    func `what encoding never writes is nil`(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    // The letters are RFC 4648 §10, less their padding.
    @Test(
        arguments: [
            ("", []), ("Zg", [0x66]), ("Zm8", [0x66, 0x6F]), ("Zm9v", [0x66, 0x6F, 0x6F]),
            ("Zm9vYg", [0x66, 0x6F, 0x6F, 0x62]), ("Zm9vYmE", [0x66, 0x6F, 0x6F, 0x62, 0x61]),
            ("-_8", [0xFB, 0xFF]), ("_w", [0xFF]), ("AA", [0]), ("AAAA", [0, 0, 0]),
        ] as [(String, [UInt8])])
    func `bytes and text lead to each other`(text: String, bytes: [UInt8]) {
        #expect(Base64URL.encode(bytes) == text)
        #expect(Base64URL.decode(text) == bytes)
    }
}
