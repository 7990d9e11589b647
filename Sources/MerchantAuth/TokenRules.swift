import HTTP
import Payments

/// How the users' tokens are checked.
package struct TokenRules: Sendable {
    package var keys: TokenKeySource
    /// The issuer that `iss` must be; not checked when nil.
    package var issuer: String?
    /// The audience that `aud` must be or contain; not checked when nil.
    package var audience: String?

    package init(keys: TokenKeySource, issuer: String? = nil, audience: String? = nil) {
        self.keys = keys
        self.issuer = issuer
        self.audience = audience
    }

    /// How far the clock of a token's issuer may be from ours (merchant-api.md, "Conventions").
    static let leeway = Duration.seconds(30)
}

/// Where the keys come from that tokens are checked with.
package enum TokenKeySource: Sendable {
    /// A secret shared with the issuer of tokens.
    case hs256(SharedSecret)
    /// The path of a JSON Web Key Set (RFC 7517 §5). It is read again when it changes.
    case jwksFile(String)
    /// The address of one. It is fetched again every few minutes, and when a token names a key that is not in it.
    case jwksURL(URL)

    /// The algorithms that a token may name at all. One list must not serve both kinds: under a public key taken for
    /// a secret any client can sign (RFC 8725 §2.1).
    var algorithms: Set<TokenAlgorithm> {
        switch self {
        case .hs256: [.hs256]
        case .jwksFile, .jwksURL: [.rs256, .ps256, .es256, .edDSA]
        }
    }
}

/// The algorithms that merchant-api.md names, spelled as a token's `alg` (RFC 7518 §3.1, RFC 8037 §3.1).
enum TokenAlgorithm: String, CaseIterable, Sendable {
    case hs256 = "HS256"
    case rs256 = "RS256"
    case ps256 = "PS256"
    case es256 = "ES256"
    case edDSA = "EdDSA"
}

/// A secret that signs and checks tokens.
package struct SharedSecret: Sendable, Redacted {
    let bytes: [UInt8]

    /// The length of the digest in bytes (RFC 7518 §3.2).
    package static let bytesMin = 32

    /// Takes the text's UTF-8 as it stands; nothing when it is too short.
    package init?(_ text: String) {
        guard text.utf8.count >= SharedSecret.bytesMin else { return nil }
        bytes = Array(text.utf8)
    }
}
