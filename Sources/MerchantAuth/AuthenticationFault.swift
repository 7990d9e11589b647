/// Why a request is not known to come from a user.
///
/// No case holds a byte of what was sent.
package enum AuthenticationFault: Error, Equatable, Sendable, CaseIterable {
    case missing
    case repeated
    case notBearer
    case tooLong
    case malformed
    case algorithmNotAllowed
    case unknownKey
    case badSignature
    case expired
    case notYetValid
    case noExpiry
    case noSubject
    case wrongIssuer
    case wrongAudience
    /// Not the one that is shared with the sender.
    case wrongToken
    /// Ours to mend and no fault of the token's: there is no key yet to check it with. To be tried again.
    case keysUnavailable

    /// The detail that the app may see, as text behind a colon.
    package var publicReason: String {
        switch self {
        case .missing: "there is no Authorization header"
        case .repeated: "there is more than one Authorization header"
        case .notBearer: "the Authorization header has another scheme than Bearer"
        case .tooLong: "the token has more than \(BearerToken.bytesMax) bytes"
        case .malformed: "the token is no JSON Web Token in compact form"
        case .algorithmNotAllowed: "the token's algorithm is not allowed, or is not its key's"
        case .unknownKey: "the token's key is not known"
        case .badSignature: "the token's signature is wrong"
        case .expired: "the token has expired"
        case .notYetValid: "the token is not valid yet"
        case .noExpiry: "the token's exp is missing or not a time"
        case .noSubject: "the token's sub is missing or not a text of 1 to 128 characters"
        case .wrongIssuer: "the token has another issuer"
        case .wrongAudience: "the token is for another audience"
        case .wrongToken: "the token is not the one agreed on"
        case .keysUnavailable: "the keys that tokens are checked with are not known yet"
        }
    }

    /// The value of `WWW-Authenticate`. A request without a token gets what is wanted and nothing else
    /// (RFC 6750 §3.1).
    package var challenge: String {
        switch self {
        case .missing, .notBearer: #"Bearer realm="merchant""#
        default: #"Bearer realm="merchant", error="invalid_token", error_description="\#(publicReason)""#
        }
    }
}

extension AuthenticationFault: CustomStringConvertible {
    package var description: String { publicReason }
}
