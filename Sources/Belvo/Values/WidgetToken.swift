import JSON

/// A token with which an app's SDK speaks to Belvo by itself (belvo-api.md §2.1).
///
/// It is not bound to a person: its holder can create enrollments and payments for any customer.
public struct WidgetToken: Sendable, Equatable {
    public let access: Secret
    /// For minting more. Never leaves the server.
    public let refresh: Secret?

    /// A JSON Web Token as Belvo signed it. Its signature is Belvo's own affair and not checked here.
    public struct Secret: Sendable, Equatable, Redacted {
        public let text: String

        /// The end of its life in seconds since 1970, `exp` (RFC 7519 §4.1.4); nil when it does not say.
        public let expiresAtSeconds: Int64?
    }
}

extension WidgetToken {
    init(_ answer: Answer) throws(MalformedAnswer) {
        guard let access = try answer.exact("access", bytesMax: Secret.bytesMax).flatMap(Secret.init) else {
            throw answer.wrong("access", "no token")
        }
        self.access = access
        refresh = try answer.exact("refresh", bytesMax: Secret.bytesMax).flatMap(Secret.init)
    }
}

extension WidgetToken.Secret {
    fileprivate static let bytesMax = 8192

    /// Takes visible ASCII, which is all that a token may be sent as (RFC 6750 §2.1); nothing for anything else.
    public init?(_ text: String) {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        self.text = text
        expiresAtSeconds = WidgetToken.Secret.expiry(text)
    }

    private static func expiry(_ token: String) -> Int64? {
        let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let claims = Base64.decodeURL(parts[1]) else { return nil }
        // A token that says nothing about its end is still a token.
        guard let root = try? JSONDocument(parsing: claims).root, let exp = root["exp"] else { return nil }
        // A NumericDate may have a fraction (RFC 7519 §2); cutting it off ends the life early, not late.
        return exp.numberText?.split(separator: ".").first.flatMap { Int64($0) }
    }
}
