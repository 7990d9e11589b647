import JSON

/// The challenge of the bank, and the origins from which it accepts an answer.
struct Expectation: Sendable {
    /// The domain that the credential is for, as authenticators name it (WebAuthn §6.1).
    let relyingPartyHash: [UInt8]
    /// Any of these, as bytes.
    let challenges: [[UInt8]]
    /// Any of these; nil for whatever there is.
    let origins: Set<String>?

    init(relyingParty: String, challenges: [String], origins: Set<String>?) {
        relyingPartyHash = Digest.sha256(Array(relyingParty.utf8))
        self.challenges = challenges.compactMap { Base64URL.decode($0) }
        self.origins = origins
    }
}

/// The client's statement of its request to the authenticator (WebAuthn §5.8.1).
struct ClientData: Sendable {
    /// SHA-256 of the bytes as they came, which is what the authenticator signed.
    let digest: [UInt8]

    /// Reads `clientDataJSON` and compares it with what was asked for.
    init(parsing bytes: [UInt8], type: String, expected: Expectation) throws(WebAuthnFault) {
        let root: JSONValue
        do { root = try JSONDocument(parsing: bytes).root } catch { throw .clientData }
        guard let origin = root["origin"]?.string, !origin.isEmpty else { throw .clientData }
        guard expected.origins?.contains(origin) ?? true else { throw .origin }
        guard root["type"]?.string == type else { throw .type }
        // A browser writes base64url without padding, an app perhaps the text that it was given.
        guard let challenge = root["challenge"]?.string.flatMap({ AnyBase64.decode($0) }),
            expected.challenges.contains(challenge)
        else { throw .challenge }
        digest = Digest.sha256(bytes)
    }
}
