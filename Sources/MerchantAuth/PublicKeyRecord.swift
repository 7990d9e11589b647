import JSON
import JWTKit
import MerchantModel

/// One key of a JSON Web Key Set that tokens can be checked with.
struct PublicKeyRecord {
    let id: String?
    let material: KeyMaterial
    /// The algorithms that it may be used with: its `alg`, or all that its kind can do.
    let algorithms: [TokenAlgorithm]

    /// Takes what RFC 7517 and RFC 7518 §6 say of a public key, or nothing when the key is not for checking the
    /// signatures allowed here: another kind or curve, for encryption, too weak, a secret, or malformed.
    ///
    /// A private key's public half is taken and the rest left; a set should hold none.
    init?(_ key: JSONValue) {
        guard key.kind == .object, key["use"].map({ $0.string == "sig" }) ?? true,
            key["key_ops"].map({ $0.elements.contains { $0.string == "verify" } }) ?? true,
            let material = PublicKeyRecord.material(key)
        else { return nil }
        if let id = key["kid"] {
            guard let text = id.string else { return nil }
            self.id = text
        } else {
            id = nil
        }
        if let name = key["alg"] {
            guard let algorithm = name.string.flatMap(TokenAlgorithm.init(rawValue:)),
                material.algorithms.contains(algorithm)
            else { return nil }
            algorithms = [algorithm]
        } else {
            algorithms = material.algorithms
        }
        self.material = material
    }

    private static func material(_ key: JSONValue) -> KeyMaterial? {
        // Why a key is none is not reported: one that is not understood is passed over (RFC 7517 §5).
        switch (key["kty"]?.string, key["crv"]?.string) {
        case ("RSA", nil):
            guard let modulus = key["n"]?.string, modulus.utf8.count <= modulusLengthMax,
                let exponent = key["e"]?.string
            else { return nil }
            return (try? Insecure.RSA.PublicKey(modulus: modulus, exponent: exponent)).map { .rsa($0) }
        case ("EC", "P-256"):
            guard let x = key.coordinate("x"), let y = key.coordinate("y") else { return nil }
            return (try? ES256PublicKey(parameters: (x, y))).map { .p256($0) }
        case ("OKP", "Ed25519"):
            guard let x = key.coordinate("x") else { return nil }
            return (try? EdDSA.PublicKey(x: x, curve: .ed25519)).map { .ed25519($0) }
        default:
            return nil
        }
    }

    /// Eight thousand bits in base64url. A longer one would make each signature cost milliseconds.
    private static let modulusLengthMax = 1_366
}

extension JSONValue {
    /// A member that is 32 bytes in base64url, the full size of a coordinate (RFC 7518 §6.2.1.2, RFC 8037 §2).
    fileprivate func coordinate(_ name: String) -> String? {
        guard let text = self[name]?.string, Base64URL.decode(text)?.count == 32 else { return nil }
        return text
    }
}
