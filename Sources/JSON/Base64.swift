/// Bytes as text with padding (RFC 4648 §4), in the one spelling that each sequence of bytes has (§3.5).
public enum Base64 {
    public static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Digits.encode(bytes, sign62: "+", sign63: "/")
        return digits + String(repeating: "=", count: (4 - digits.utf8.count % 4) % 4)
    }

    /// The bytes; nil for a text that `encode` would not write.
    public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        return Digits.decode(text.dropLast(padding(of: text)), sign62: "+", sign63: "/")
    }

    public static func decode(_ text: some StringProtocol) -> [UInt8]? { decode(text.utf8) }

    fileprivate static func padding(of text: some Collection<UInt8>) -> Int {
        text.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
    }
}

/// Bytes as text in the URL alphabet without padding (RFC 4648 §5), as JSON Web Tokens (RFC 7515 §2) and WebAuthn have
/// it.
public enum Base64URL {
    public static func encode(_ bytes: some Sequence<UInt8>) -> String {
        Digits.encode(bytes, sign62: "-", sign63: "_")
    }

    /// The bytes; nil for a text that `encode` would not write.
    public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        Digits.decode(text, sign62: "-", sign63: "_")
    }

    public static func decode(_ text: some StringProtocol) -> [UInt8]? { decode(text.utf8) }
}

/// Bytes as platforms write them in JSON: base64url or base64, padded or not.
///
/// WebAuthn's own JSON is base64url without padding. The examples of Open Finance Brasil are padded, and an app that
/// takes bytes from Belvo's SDK for iOS writes them in either alphabet (belvo-api.md §14).
public enum AnyBase64 {
    /// The bytes; nil for a text that is none of the four. Bits that are left over behind the last byte are not
    /// checked: the bank judges them.
    public static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let digits = text.utf8.dropLast(Base64.padding(of: text.utf8)).map { digit in
            digit == UInt8(ascii: "+") ? UInt8(ascii: "-") : digit == UInt8(ascii: "/") ? UInt8(ascii: "_") : digit
        }
        return Digits.decode(digits, sign62: "-", sign63: "_", isExact: false)
    }

    /// Whether two texts stand for the same bytes; what stands for none is compared as it is.
    public static func isSame(_ left: String, _ right: String) -> Bool {
        guard let left = decode(left), let right = decode(right) else { return left == right }
        return left == right
    }
}

/// The digits of both alphabets, of six bits each (RFC 4648 §4 and §5); they differ in two of them.
private enum Digits {
    static func encode(_ bytes: some Sequence<UInt8>, sign62: Unicode.Scalar, sign63: Unicode.Scalar) -> String {
        let digits =
            Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
            + [UInt8(ascii: sign62), UInt8(ascii: sign63)]
        var text: [UInt8] = []
        text.reserveCapacity((bytes.underestimatedCount * 4 + 2) / 3)
        var bits: UInt32 = 0
        var count: UInt32 = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                text.append(digits[Int(bits >> count & 63)])
            }
        }
        if count > 0 { text.append(digits[Int(bits << (6 - count) & 63)]) }
        return String(decoding: text, as: UTF8.self)
    }

    static func decode(
        _ text: some Collection<UInt8>, sign62: Unicode.Scalar, sign63: Unicode.Scalar, isExact: Bool = true
    ) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * 3 / 4)
        var bits: UInt32 = 0
        var count: UInt32 = 0
        for digit in text {
            let value: UInt8
            switch digit {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = digit - UInt8(ascii: "A")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = digit - UInt8(ascii: "a") + 26
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0") + 52
            case UInt8(ascii: sign62): value = 62
            case UInt8(ascii: sign63): value = 63
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
        // A whole digit that is left over began no byte; set bits that are left over would be a second spelling.
        return count < 6 && (bits == 0 || !isExact) ? bytes : nil
    }
}
