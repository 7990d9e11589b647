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

        /// For how many seconds it was made, `exp` less `iat` (RFC 7519 §4.1.6), whatever Belvo's clock says; nil when
        /// it does not say.
        public let lifetimeSeconds: Int64?
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
        let claims = WidgetToken.Secret.claims(of: text)
        // A token that says nothing about its end is still a token.
        let end = claims.flatMap { WidgetToken.Secret.seconds($0["exp"]) }
        let beginning = claims.flatMap { WidgetToken.Secret.seconds($0["iat"]) }
        expiresAtSeconds = end
        lifetimeSeconds = end.flatMap { end in
            beginning.flatMap { beginning in
                let (life, isTooLong) = end.subtractingReportingOverflow(beginning)
                return isTooLong || life < 0 ? nil : life
            }
        }
    }

    private static func claims(of token: String) -> JSONValue? {
        let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let claims = Base64URL.decode(parts[1]) else { return nil }
        return try? JSONDocument(parsing: claims).root
    }

    /// A NumericDate may have a fraction (RFC 7519 §2); cutting it off ends the life early, not late. One with an
    /// exponent, which no issuer writes, says nothing.
    private static func seconds(_ claim: JSONValue?) -> Int64? {
        guard let text = claim?.numberText, !text.utf8.contains(where: { $0 | 0x20 == UInt8(ascii: "e") }) else {
            return nil
        }
        return text.split(separator: ".").first.flatMap { Int64($0) }
    }
}
