import FoundationEssentials
import JSON

/// The statement of a phone about what it signed: WebAuthn's `clientDataJSON` (Web Authentication Level 2, §5.8.1).
///
/// It is checked here because a wrong one would use up the bank's one-shot challenge for nothing. The signature
/// itself is for the bank to check.
package struct ClientData {
    /// The ceremony that it belongs to.
    enum Ceremony: String {
        case create = "webauthn.create"
        case get = "webauthn.get"
    }

    /// The fault in it.
    package enum Fault: Error, Sendable, Equatable {
        /// Not base64url or base64 of a JSON object with `type` and `challenge`.
        case malformed
        /// The data of the other ceremony.
        case wrongType
        /// The answer to another challenge.
        case wrongChallenge

        package var code: String {
            switch self {
            case .malformed: "malformed"
            case .wrongType: "wrong_ceremony"
            case .wrongChallenge: "wrong_challenge"
            }
        }

        package var message: String {
            switch self {
            case .malformed: "This has to be the base64url, or base64, of a JSON object with type and challenge."
            case .wrongType: "This was made for the other ceremony: webauthn.create registers, webauthn.get signs."
            case .wrongChallenge: "This answers another challenge than the one that was given."
            }
        }
    }

    /// Throws when the text is not the client data of this ceremony and challenge.
    static func check(_ encoded: String, ceremony: Ceremony, challenge: String) throws(Fault) {
        guard let bytes = AnyBase64.decode(encoded), let document = try? JSONDocument(parsing: bytes),
            let type = document.root["type"]?.string, let signed = document.root["challenge"]?.string
        else { throw .malformed }
        guard type == ceremony.rawValue else { throw .wrongType }
        // A bank may give it in base64, and what an authenticator signs is base64url of the same bytes.
        guard !challenge.isEmpty, AnyBase64.isSame(signed, challenge) else { throw .wrongChallenge }
    }
}

/// The `challenge` inside options that Belvo gave, wherever it is read again.
func challenge(in options: [UInt8]) -> String? {
    (try? JSONDocument(parsing: options))?.root["challenge"]?.string
}

/// How platforms write bytes in JSON: base64url or base64 (RFC 4648 §5 and §4), padded or not.
///
/// WebAuthn's own JSON is base64url without padding. The examples of Open Finance Brasil are padded, and an app that
/// takes bytes from Belvo's SDK for iOS writes them in either alphabet.
package enum AnyBase64 {
    /// The bytes; nothing for a text that is none of the four.
    ///
    /// Bits that are left over behind the last byte are not checked: the bank judges them.
    package static func decode(_ text: String) -> [UInt8]? {
        let padding = text.utf8.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
        let digits = text.utf8.dropLast(padding)
        guard digits.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count * 3 / 4)
        var (bits, count): (UInt32, UInt32) = (0, 0)
        for digit in digits {
            guard let value = value(of: digit) else { return nil }
            bits = bits << 6 | UInt32(value)
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> count))
        }
        return bytes
    }

    private static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0") + 52
        case UInt8(ascii: "-"), UInt8(ascii: "+"): 62
        case UInt8(ascii: "_"), UInt8(ascii: "/"): 63
        default: nil
        }
    }

    /// Whether two texts stand for the same bytes; what stands for none is compared as it is.
    package static func isSame(_ left: String, _ right: String) -> Bool {
        guard let left = decode(left), let right = decode(right) else { return left == right }
        return left == right
    }
}

/// Base64 with the URL-safe alphabet (RFC 4648 §5), with or without padding.
package enum Base64URL {
    package static func decode(_ text: String) -> [UInt8]? {
        guard text.utf8.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "/") }) else { return nil }
        var standard = String(unpadded(text).map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        standard += String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4)
        return Data(base64Encoded: standard).map { Array($0) }
    }

    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let standard = Data(bytes).base64EncodedString()
        return String(unpadded(standard).map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
    }

    static func unpadded(_ text: String) -> Substring {
        var text = Substring(text)
        while text.last == "=" { text.removeLast() }
        return text
    }
}

/// The life of a challenge as the options give it (Web Authentication Level 2, §5.5).
enum FIDOTimeout {
    static func milliseconds(in options: [UInt8]) -> Int64? {
        guard let timeout = (try? JSONDocument(parsing: options))?.root["timeout"]?.int64, timeout > 0 else {
            return nil
        }
        return min(timeout, 86_400_000)
    }
}
