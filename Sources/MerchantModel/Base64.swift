/// Strict decoding of RFC 4648: of each sequence of bytes exactly one spelling is accepted (§3.5).
package enum Base64 {
    /// Standard alphabet with padding (§4); nothing for any other text.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        let padding = text.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
        return decode(text.dropLast(padding), UInt8(ascii: "+"), UInt8(ascii: "/"))
    }

    /// URL alphabet without padding (§5), as JSON Web Tokens have it (RFC 7515 §2); nothing for any other text.
    package static func decodeURL(_ text: some Collection<UInt8>) -> [UInt8]? {
        decode(text, UInt8(ascii: "-"), UInt8(ascii: "_"))
    }

    private static func decode(_ text: some Collection<UInt8>, _ sign62: UInt8, _ sign63: UInt8) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * 3 / 4)
        var bits: UInt32 = 0
        var count: UInt32 = 0
        for character in text {
            let value: UInt8
            switch character {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = character - UInt8(ascii: "A")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = character - UInt8(ascii: "a") + 26
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = character - UInt8(ascii: "0") + 52
            case sign62: value = 62
            case sign63: value = 63
            default: return nil
            }
            bits = bits << 6 | UInt32(value)
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> count))
                bits &= (1 << count) - 1
            }
        }
        // What is left over are bits that stand for nothing: a whole character of them, or one that is not zero,
        // would be a second spelling.
        return count < 6 && bits == 0 ? bytes : nil
    }
}
