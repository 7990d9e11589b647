import HTTP
import JSON

/// The secret id and password of a set of Payments API keys (belvo-api.md §1).
public struct Credentials: Sendable, Redacted {
    /// The value of the `Authorization` field, made once.
    let authorization: String

    /// Takes what Belvo's dashboard shows, or nothing when Basic authentication cannot carry it: empty, with
    /// a control character, or with a colon in the id (RFC 7617 §2).
    public init?(secretID: String, secretPassword: String) {
        guard !secretID.isEmpty, !secretPassword.isEmpty, !secretID.utf8.contains(UInt8(ascii: ":")) else { return nil }
        guard (secretID + secretPassword).unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
        else { return nil }
        authorization = "Basic " + Base64.encode("\(secretID):\(secretPassword)".utf8)
    }
}
