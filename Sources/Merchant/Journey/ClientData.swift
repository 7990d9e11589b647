import FoundationEssentials
import JSON

/// What a phone says it signed: WebAuthn's `clientDataJSON` (Web Authentication Level 2, §5.8.1).
///
/// It is checked here because a wrong one would use up the bank's one-shot challenge for nothing. The signature
/// itself is for the bank to check.
struct ClientData {
    /// Which ceremony it belongs to.
    enum Ceremony: String {
        case create = "webauthn.create"
        case get = "webauthn.get"
    }

    /// What is wrong with it.
    enum Fault: Error, Sendable, Equatable {
        /// Not base64url of a JSON object with `type` and `challenge`.
        case malformed
        /// The data of the other ceremony.
        case wrongType
        /// The answer to another challenge.
        case wrongChallenge

        var code: String {
            switch self {
            case .malformed: "malformed"
            case .wrongType: "wrong_ceremony"
            case .wrongChallenge: "wrong_challenge"
            }
        }

        var message: String {
            switch self {
            case .malformed: "This has to be the base64url of a JSON object with type and challenge."
            case .wrongType: "This was made for the other ceremony: webauthn.create registers, webauthn.get signs."
            case .wrongChallenge: "This answers another challenge than the one that was given."
            }
        }
    }

    /// Throws when the text is not the client data of this ceremony and challenge.
    static func check(_ encoded: String, ceremony: Ceremony, challenge: String) throws(Fault) {
        guard let bytes = Base64URL.decode(encoded), let document = try? JSONDocument(parsing: bytes),
            let type = document.root["type"]?.string, let signed = document.root["challenge"]?.string
        else { throw .malformed }
        guard type == ceremony.rawValue else { throw .wrongType }
        // Both are base64url; some authenticators pad it and some banks do.
        guard Base64URL.unpadded(signed) == Base64URL.unpadded(challenge) else { throw .wrongChallenge }
    }
}

/// The `challenge` inside options that Belvo gave, wherever it is read again.
func challenge(in options: [UInt8]) -> String? {
    (try? JSONDocument(parsing: options))?.root["challenge"]?.string
}

/// Base64 with the URL-safe alphabet (RFC 4648 §5), with or without padding.
enum Base64URL {
    static func decode(_ text: String) -> [UInt8]? {
        guard text.utf8.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "/") }) else { return nil }
        var standard = String(unpadded(text).map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        standard += String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4)
        return Data(base64Encoded: standard).map { Array($0) }
    }

    static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let standard = Data(bytes).base64EncodedString()
        return String(unpadded(standard).map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
    }

    static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
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
