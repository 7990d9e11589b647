import JSON
import MerchantModel

/// A JSON Web Token taken apart (RFC 7515 §7.1): nothing in it is believed yet.
struct SignedToken {
    /// The header's `alg`, as it stands.
    let algorithm: String
    /// The header's `kid`.
    let keyID: String?
    let payload: [UInt8]
    let signature: [UInt8]
    /// The signed text: header and payload, still encoded, with the point between them.
    let signingInput: ArraySlice<UInt8>

    /// Takes exactly three parts in base64url without padding, of which the first is a JSON object with an `alg`.
    ///
    /// The one spelling of each part is asked for, so that nothing can be appended to a token or slipped into it.
    init(_ token: [UInt8]) throws(AuthenticationFault) {
        let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(parts[0]),
            let payload = Base64URL.decode(parts[1]), let signature = Base64URL.decode(parts[2])
        else { throw .malformed }
        self.payload = payload
        self.signature = signature
        signingInput = token[..<parts[1].endIndex]

        let fields = try JSONValue(ofTokenPart: header)
        guard let algorithm = fields["alg"]?.string else { throw .malformed }
        // An extension that must be understood, and is not (RFC 7515 §4.1.11).
        guard fields["crit"] == nil else { throw .malformed }
        if let keyID = fields["kid"] {
            guard let text = keyID.string else { throw .malformed }
            self.keyID = text
        } else {
            keyID = nil
        }
        self.algorithm = algorithm
    }
}

extension JSONValue {
    /// Reads a token's header or payload, which are JSON objects in which no name stands twice (RFC 7519 §4).
    init(ofTokenPart bytes: [UInt8]) throws(AuthenticationFault) {
        // Where in the token a fault lies is not shown: it helps only an attacker.
        guard let document = try? JSONDocument(parsing: bytes), document.root.kind == .object else { throw .malformed }
        self = document.root
    }
}
