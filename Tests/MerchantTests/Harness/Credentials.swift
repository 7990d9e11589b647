import Crypto
import Payments
import Testing

@testable import MerchantAuth
@testable import MerchantModel

/// The signer of the users' tokens on a harness: the secret or the keys of `Keys`, and what tokens must
/// say.
struct Credentials {
    let rules: TokenRules

    init(of rules: TokenRules) {
        self.rules = rules
    }

    /// Signs as the server expects it.
    func forge() throws -> TokenForge {
        guard case .hs256 = rules.keys else { return TokenForge.rs256(try Keys.rsa.get()) }
        return TokenForge.hs256(Array(TestHarness.secret.utf8))
    }

    /// The `kid` of what `forge` signs with.
    var keyID: String? {
        if case .hs256 = rules.keys { nil } else { "rsa" }
    }

    /// The claims of a good token.
    func good(_ subject: String) -> Claims {
        var claims: Claims = ["sub": #""\#(subject)""#, "exp": "\(Claims.now + 3_600)"]
        if let issuer = rules.issuer { claims["iss"] = #""\#(issuer)""# }
        if let audience = rules.audience { claims["aud"] = #""\#(audience)""# }
        return claims
    }
}

/// A token's claims, each value as its JSON text.
struct Claims: ExpressibleByDictionaryLiteral {
    private var members: [String: String]

    init(dictionaryLiteral members: (String, String)...) {
        self.members = Dictionary(uniqueKeysWithValues: members)
    }

    subscript(name: String) -> String? {
        get { members[name] }
        set { members[name] = newValue }
    }

    /// These, with one of them changed or left out.
    func with(_ name: String, _ value: String?) -> Claims {
        var claims = self
        claims[name] = value
        return claims
    }

    var json: String { "{\(members.map { #""\#($0)":\#($1)"# }.sorted().joined(separator: ","))}" }

    /// Seconds since 1970.
    static var now: Int64 { WallClock.now().microsecondsSince1970 / 1_000_000 }
}

extension TokenForge {
    func token(kid: String? = nil, _ claims: Claims) throws -> String {
        try token(kid: kid, claims: claims.json)
    }
}
