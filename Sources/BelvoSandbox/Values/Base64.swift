/// base64url without padding (RFC 4648 §5), the only spelling that WebAuthn and JWT use.
enum Base64URL {
    static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                text.append(alphabet[Int(bits >> UInt32(count) & 63)])
            }
        }
        if count > 0 { text.append(alphabet[Int(bits << UInt32(6 - count) & 63)]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Strict: no padding, no other alphabet, no white space, and no bits left over that are not zero,
    /// so that one value has one spelling.
    static func decode(_ text: String) -> [UInt8]? {
        Base64.decode(text.utf8, alphabet: alphabet)
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
}

/// base64url or base64, with padding or without it: the examples of Open Finance Brasil and Belvo's own SDKs have
/// more than one form (belvo-api.md §14).
enum AnyBase64 {
    static func decode(_ text: String) -> [UInt8]? {
        let body = text.utf8.reversed().drop { $0 == UInt8(ascii: "=") }.reversed()
        guard text.utf8.count - body.count <= 2 else { return nil }
        let urlSafe = body.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: "-") : $0 == UInt8(ascii: "/") ? 0x5F : $0 }
        return Base64URL.decode(String(decoding: urlSafe, as: UTF8.self))
    }
}

/// Plain base64 (RFC 4648 §4), as Basic authentication uses it (RFC 7617 §2).
enum Base64 {
    static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Base64URL.encode(bytes).utf8
            .map { $0 == UInt8(ascii: "-") ? UInt8(ascii: "+") : $0 == UInt8(ascii: "_") ? 0x2F : $0 }
        return String(decoding: digits, as: UTF8.self) + String(repeating: "=", count: (4 - digits.count % 4) % 4)
    }

    static func decode(_ text: String) -> [UInt8]? {
        guard text.utf8.count % 4 == 0 else { return nil }
        let body = text.utf8.reversed().drop { $0 == UInt8(ascii: "=") }.reversed()
        guard text.utf8.count - body.count <= 2 else { return nil }
        return decode(body, alphabet: alphabet)
    }

    fileprivate static func decode(_ text: some Sequence<UInt8>, alphabet: [UInt8]) -> [UInt8]? {
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        for character in text {
            guard let value = alphabet.firstIndex(of: character) else { return nil }
            bits = (bits << 6 | UInt32(value)) & 0xFFFF
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        // Six bits left over would be a lone character, which stands for no byte.
        guard count < 6, bits & (1 << UInt32(count) - 1) == 0 else { return nil }
        return bytes
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
}
