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
        guard type.isSameBytes(as: ceremony.rawValue) else { throw .wrongType }
        // A bank may give it in base64, and what an authenticator signs is base64url of the same bytes.
        guard !challenge.isEmpty, AnyBase64.isSame(signed, challenge) else { throw .wrongChallenge }
    }
}

/// Options that Belvo gave, wherever they are read again.
private func root(of options: [UInt8]) -> JSONValue? {
    (try? JSONDocument(parsing: options, limits: .tolerant))?.root
}

/// The `challenge` inside options that Belvo gave.
func challenge(in options: [UInt8]) -> String? { root(of: options)?["challenge"]?.string }

/// The life of a challenge as the options give it (Web Authentication Level 2, §5.5).
enum FIDOTimeout {
    static func milliseconds(in options: [UInt8]) -> Int64? {
        guard let timeout = root(of: options)?["timeout"]?.int64, timeout > 0 else { return nil }
        return min(timeout, 86_400_000)
    }
}
