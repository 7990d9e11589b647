import JSON
import Payments

/// The claims of a token with a good signature that are used here (RFC 7519 §4.1).
struct TokenClaims {
    let user: UserSubject
    /// When the token is good, leeway included; the end is no part of it.
    let validity: Range<Timestamp>

    init(payload: [UInt8], rules: TokenRules) throws(AuthenticationFault) {
        let claims = try JSONValue(ofTokenPart: payload)
        guard let expiry = claims["exp"]?.numericDate else { throw .noExpiry }
        var start = Timestamp.earliest
        if let notBefore = claims["nbf"] {
            guard let moment = notBefore.numericDate else { throw .malformed }
            start = moment - TokenRules.leeway
        }
        let end = expiry + TokenRules.leeway
        // Good before it is good: never.
        guard start < end else { throw .expired }
        validity = start..<end
        if let issuer = rules.issuer, !(claims["iss"]?.isText(issuer) ?? false) { throw .wrongIssuer }
        if let audience = rules.audience, !(claims["aud"]?.holdsText(audience) ?? false) { throw .wrongAudience }
        // Why the text is no subject is in the fault's own words.
        guard let subject = claims["sub"]?.string, let user = try? UserSubject(subject) else { throw .noSubject }
        self.user = user
    }

    /// Throws unless the token is good at the moment.
    func check(at now: Timestamp) throws(AuthenticationFault) {
        guard now >= validity.lowerBound else { throw .notYetValid }
        guard now < validity.upperBound else { throw .expired }
    }
}

extension JSONValue {
    /// Seconds since 1970, perhaps with a fraction (RFC 7519 §2); past what can be written, the last moment that can.
    fileprivate var numericDate: Timestamp? {
        // Microseconds of our century are exact in a double to a quarter of one, and the leeway is half a minute.
        guard let text = numberText, let seconds = Double(text), seconds.isFinite else { return nil }
        let microseconds = (seconds * 1_000_000).rounded(.down)
        return Timestamp(microsecondsSince1970: Int64(exactly: microseconds) ?? (seconds < 0 ? .min : .max))
    }

    /// Compared by its bytes, as RFC 7519 §2 wants it of a StringOrURI, not by Swift's `==`.
    fileprivate func isText(_ wanted: String) -> Bool {
        string.map { $0.utf8.elementsEqual(wanted.utf8) } ?? false
    }

    /// `aud` is one text or an array of them (RFC 7519 §4.1.3).
    fileprivate func holdsText(_ wanted: String) -> Bool {
        kind == .array ? elements.contains { $0.isText(wanted) } : isText(wanted)
    }
}
