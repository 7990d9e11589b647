import JSON

/// What the bank asked for, and from whom it takes an answer.
struct Expectation: Sendable {
    /// Any of these.
    let challenges: [String]
    /// Any of these; nil for whatever there is.
    let origins: Set<String>?
}

/// What the client says it asked the authenticator for (WebAuthn §5.8.1).
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
        guard let challenge = root["challenge"]?.string, expected.challenges.contains(challenge) else {
            throw .challenge
        }
        digest = Digest.sha256(bytes)
    }
}
