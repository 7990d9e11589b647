import JWTKit

/// A key with the one algorithm that it is used with here.
///
/// The signature is JWTKit's to check. Which key and which algorithm come into question is decided before, because a
/// `JWTKeyCollection` with several keys takes its default key for an id that it does not know, and lets the token
/// choose the algorithm of a key that names none.
struct VerificationKey: Sendable {
    /// The key's `kid`; nil when it has none.
    let id: String?
    let algorithm: TokenAlgorithm
    private let verifier: any JWTAlgorithm

    /// Throws when JWTKit does not know the key after all.
    init(_ material: KeyMaterial, algorithm: TokenAlgorithm, id: String?) async throws {
        self.id = id
        self.algorithm = algorithm
        let collection = JWTKeyCollection()
        await material.add(to: collection, for: algorithm)
        verifier = try await collection.getKey()
    }

    /// Whether the token was signed with the other half of this key, or with this secret.
    func verifies(_ token: SignedToken) -> Bool {
        // What it throws is about the signature's form, and says no more than that it is wrong.
        (try? verifier.verify(token.signature, signs: token.signingInput)) ?? false
    }
}

/// A key as it can be used, before an algorithm is chosen.
enum KeyMaterial: Sendable {
    case secret(SharedSecret)
    case rsa(Insecure.RSA.PublicKey)
    case p256(ES256PublicKey)
    case ed25519(EdDSA.PublicKey)

    /// The algorithms of a kind of key (RFC 7518 §3.1, RFC 8037 §3.1).
    var algorithms: [TokenAlgorithm] {
        switch self {
        case .secret: [.hs256]
        case .rsa: [.rs256, .ps256]
        case .p256: [.es256]
        case .ed25519: [.edDSA]
        }
    }

    fileprivate func add(to collection: JWTKeyCollection, for algorithm: TokenAlgorithm) async {
        switch self {
        case .secret(let secret): await collection.add(hmac: HMACKey(from: secret.bytes), digestAlgorithm: .sha256)
        case .rsa(let key) where algorithm == .ps256: await collection.add(pss: key, digestAlgorithm: .sha256)
        case .rsa(let key): await collection.add(rsa: key, digestAlgorithm: .sha256)
        case .p256(let key): await collection.add(ecdsa: key)
        case .ed25519(let key): await collection.add(eddsa: key)
        }
    }
}
