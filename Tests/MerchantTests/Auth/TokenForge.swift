import Crypto
import CryptoExtras
import FoundationEssentials
import JWTKit

/// Makes tokens, good ones and others, from header and claims as they are to stand there.
struct TokenForge {
    let algorithm: String
    private let sign: @Sendable ([UInt8]) throws -> [UInt8]

    /// A token with `alg` and perhaps `kid` in its header.
    func token(kid: String? = nil, claims: String) throws -> String {
        let kid = kid.map { #","kid":"\#($0)""# } ?? ""
        return try token(header: #"{"alg":"\#(algorithm)"\#(kid)}"#, claims: claims)
    }

    func token(header: String, claims: String) throws -> String {
        let input = base64URL(Array(header.utf8)) + "." + base64URL(Array(claims.utf8))
        return input + "." + base64URL(try sign(Array(input.utf8)))
    }

    static func hs256(_ secret: [UInt8], algorithm: String = "HS256") -> TokenForge {
        TokenForge(algorithm: algorithm) { input in
            Array(HMAC<SHA256>.authenticationCode(for: input, using: SymmetricKey(data: secret)))
        }
    }

    static func rs256(_ key: _RSA.Signing.PrivateKey) -> TokenForge {
        TokenForge(algorithm: "RS256") { input in
            Array(try key.signature(for: SHA256.hash(data: input), padding: .insecurePKCS1v1_5).rawRepresentation)
        }
    }

    static func ps256(_ key: _RSA.Signing.PrivateKey) -> TokenForge {
        TokenForge(algorithm: "PS256") { input in
            Array(try key.signature(for: SHA256.hash(data: input), padding: .PSS).rawRepresentation)
        }
    }

    static func es256(_ key: P256.Signing.PrivateKey) -> TokenForge {
        TokenForge(algorithm: "ES256") { Array(try key.signature(for: $0).rawRepresentation) }
    }

    static func edDSA(_ key: Curve25519.Signing.PrivateKey) -> TokenForge {
        TokenForge(algorithm: "EdDSA") { Array(try key.signature(for: $0)) }
    }

    /// No signature at all.
    static let unsigned = TokenForge(algorithm: "none") { _ in [] }
}

/// Key pairs of every kind, made once for all tests, and how a key set shows them.
enum Keys {
    static let secret = "a secret of more than thirty-two bytes"
    static let rsa = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048) }
    static let p256 = P256.Signing.PrivateKey()
    static let ed25519 = Curve25519.Signing.PrivateKey()

    /// A whole key set with one key of each kind.
    static func document() throws -> String {
        keySet(
            try record(try rsa.get().publicKey, kid: "rsa"), record(p256.publicKey, kid: "p256"),
            record(ed25519.publicKey, kid: "ed25519"))
    }

    static func keySet(_ records: String...) -> String {
        #"{"keys":[\#(records.joined(separator: ","))]}"#
    }

    /// `more` holds further members, each behind a comma.
    static func record(_ key: _RSA.Signing.PublicKey, kid: String?, more: String = "") throws -> String {
        let parts = try key.getKeyPrimitives()
        let (n, e) = (base64URL(Array(parts.modulus)), base64URL(Array(parts.publicExponent)))
        return #"{"kty":"RSA","n":"\#(n)","e":"\#(e)"\#(member("kid", kid))\#(more)}"#
    }

    static func record(_ key: P256.Signing.PublicKey, kid: String?, more: String = "") -> String {
        let raw = Array(key.rawRepresentation)
        let (x, y) = (base64URL(Array(raw[..<32])), base64URL(Array(raw[32...])))
        return #"{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)"\#(member("kid", kid))\#(more)}"#
    }

    static func record(_ key: Curve25519.Signing.PublicKey, kid: String?, more: String = "") -> String {
        let x = base64URL(Array(key.rawRepresentation))
        return #"{"kty":"OKP","crv":"Ed25519","x":"\#(x)"\#(member("kid", kid))\#(more)}"#
    }

    private static func member(_ name: String, _ value: String?) -> String {
        value.map { #","\#(name)":"\#($0)""# } ?? ""
    }
}

/// Base64url without padding (RFC 4648 §5).
func base64URL(_ bytes: [UInt8]) -> String {
    String(
        Data(bytes).base64EncodedString().compactMap { character in
            switch character {
            case "+": "-"
            case "/": "_"
            case "=": nil
            default: character
            }
        })
}
