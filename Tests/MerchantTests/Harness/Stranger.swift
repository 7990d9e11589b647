import Crypto
import CryptoExtras
import HTTP
import Testing

@testable import MerchantAuth

/// A caller who must not get in, by what his request's `Authorization` fields say.
struct Stranger {
    let name: String
    let fields: [String]
    /// Whether he showed something that could be told to be wrong (RFC 6750 §3.1).
    var isToldWhy = true

    /// Every kind of them, at a server that expects such tokens: those of the line "JWT" in reliability.md, and who
    /// comes without a token or with two.
    static func all(knowing credentials: Credentials) throws -> [Stranger] {
        try nobodies(credentials) + forgers(credentials) + latecomers(credentials) + vandals(credentials)
    }

    /// Clients without a token, or with something else.
    private static func nobodies(_ credentials: Credentials) throws -> [Stranger] {
        let good = try credentials.goodToken()
        return [
            Stranger(name: "no field", fields: [], isToldWhy: false),
            Stranger(name: "an empty field", fields: [""], isToldWhy: false),
            Stranger(name: "no token", fields: ["Bearer"], isToldWhy: false),
            Stranger(name: "no scheme", fields: [good], isToldWhy: false),
            Stranger(name: "Basic", fields: ["Basic YW5hOnNlY3JldA=="], isToldWhy: false),
            Stranger(name: "Basic with a token", fields: ["Basic \(good)"], isToldWhy: false),
            Stranger(name: "another scheme", fields: ["DPoP \(good)"], isToldWhy: false),
            Stranger(name: "the same token twice", fields: ["Bearer \(good)", "Bearer \(good)"]),
            Stranger(name: "a good token and a bad one", fields: ["Bearer \(good)", "Bearer x"]),
            Stranger(name: "a bad token and a good one", fields: ["Bearer x", "Bearer \(good)"]),
            Stranger(name: "two tokens in one field", fields: ["Bearer \(good), Bearer \(good)"]),
        ]
    }

    /// Clients with a token that they signed themselves, or did not sign.
    private static func forgers(_ credentials: Credentials) throws -> [Stranger] {
        let (claims, keyID) = (credentials.good("ana"), credentials.keyID)
        var forgeries = [
            ("alg none", try TokenForge.unsigned.token(kid: keyID, claims)),
            ("alg none with a good signature", try credentials.forge().token(header: #"{"alg":"none"}"#, claims)),
            ("alg None", try TokenForge.unsigned.token(header: #"{"alg":"None"}"#, claims)),
            (
                "another secret",
                try TokenForge.hs256(Array("another-secret-that-is-long-enough-too".utf8)).token(claims)
            ),
            ("an unknown key", try TokenForge.es256(P256.Signing.PrivateKey()).token(kid: "stranger", claims)),
        ]
        let publicKey = try Keys.rsa.get().publicKey
        let secrets: [(String, [UInt8])] = [
            ("PEM", Array(publicKey.pemRepresentation.utf8)), ("DER", Array(publicKey.derRepresentation)),
            ("PKCS #1 PEM", Array(publicKey.pkcs1PEMRepresentation.utf8)),
            ("modulus", Array(try publicKey.getKeyPrimitives().modulus)),
            ("JSON Web Key", Array(try Keys.record(publicKey, kid: "rsa").utf8)),
        ]
        for (spelling, secret) in secrets {
            forgeries.append(
                ("HS256 under the RSA key's \(spelling)", try TokenForge.hs256(secret).token(kid: keyID, claims)))
        }
        switch credentials.rules.keys {
        case .hs256:
            let secret = Array(TestHarness.secret.utf8)
            forgeries += [
                ("alg HS512", try TokenForge.hs256(secret, algorithm: "HS512").token(claims)),
                ("alg RS256 under the secret", try TokenForge.hs256(secret, algorithm: "RS256").token(claims)),
                ("RS256", try TokenForge.rs256(Keys.rsa.get()).token(claims)),
            ]
        case .jwksFile, .jwksURL:
            forgeries += [
                ("another RSA key", try TokenForge.rs256(otherRSA.get()).token(kid: "rsa", claims)),
                ("another P-256 key", try TokenForge.es256(P256.Signing.PrivateKey()).token(kid: "p256", claims)),
                ("a key under another's name", try TokenForge.es256(Keys.p256).token(kid: "rsa", claims)),
            ]
        }
        return forgeries.map { Stranger(name: $0.0, fields: ["Bearer \($0.1)"]) }
    }

    /// Clients with a well signed token for another user, time or place.
    private static func latecomers(_ credentials: Credentials) throws -> [Stranger] {
        let good = credentials.good("ana")
        return try [
            ("expired", good.with("exp", "\(Claims.now - 31)")), ("no expiry", good.with("exp", nil)),
            ("an expiry in words", good.with("exp", #""tomorrow""#)),
            ("not valid yet", good.with("nbf", "\(Claims.now + 600)")),
            ("another issuer", good.with("iss", #""https://login.evil.example""#)),
            ("no issuer", good.with("iss", nil)), ("another audience", good.with("aud", #""another-shop""#)),
            ("no audience", good.with("aud", nil)), ("no subject", good.with("sub", nil)),
            ("an empty subject", good.with("sub", #""""#)), ("a number for a subject", good.with("sub", "7")),
        ].map { name, claims in
            Stranger(name: name, fields: ["Bearer \(try credentials.token(claims))"])
        }
    }

    /// Clients with a good token that was altered.
    private static func vandals(_ credentials: Credentials) throws -> [Stranger] {
        let good = try credentials.goodToken()
        let huge = credentials.good("ana").with("more", #""\#(String(repeating: "x", count: 6_200))""#)
        return [
            ("oversized", try credentials.token(huge)), ("truncated", String(good.dropLast(4))),
            ("four bytes behind", good + "AAAA"), ("padding behind", good + "="), ("a part behind", good + ".AAAA"),
            ("a word behind", good + " x"), ("a point before", "." + good),
            ("no signature", String(good.prefix(through: good.lastIndex(of: ".") ?? good.startIndex))),
        ].map { Stranger(name: $0.0, fields: ["Bearer \($0.1)"]) }
    }

    private static let otherRSA = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048) }
}

extension Credentials {
    fileprivate func goodToken() throws -> String { try token(good("ana")) }

    fileprivate func token(_ claims: Claims) throws -> String { try forge().token(kid: keyID, claims) }
}

extension TokenForge {
    fileprivate func token(header: String, _ claims: Claims) throws -> String {
        try token(header: header, claims: claims.json)
    }
}
