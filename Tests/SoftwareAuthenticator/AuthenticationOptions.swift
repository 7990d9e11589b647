import JSON

/// The options of a relying party for a signature: the `fido_options` of belvo-api.md §6.1.
struct AuthenticationOptions {
    let relyingPartyID: String
    let challenge: [UInt8]

    /// The ids of the credentials that may sign; empty when any of the relying party's may.
    let allowed: [[UInt8]]

    init(_ json: JSONValue) throws(PhoneError) {
        let reader = JSONReader(json)
        let relyingPartyID = reader.string("rpId", length: 1...253)
        let challenge = reader.read("challenge", JSONValue.base64URL)
        let allowed = reader.optionalObjects("allowCredentials")?.compactMap(JSONReader.credentialID) ?? []
        reader.ignoreRest()
        guard let relyingPartyID, let challenge, reader.isFaultless else { throw .malformedOptions(reader.faults) }
        self.relyingPartyID = relyingPartyID
        self.challenge = challenge
        self.allowed = allowed
    }

    func allows(_ credential: Credential) -> Bool {
        credential.relyingPartyID == relyingPartyID && (allowed.isEmpty || allowed.contains(credential.id))
    }
}

extension JSONReader {
    /// The id in a credential descriptor (WebAuthn §5.8.3); descriptors of a type not known count for nothing.
    static func credentialID(_ descriptor: JSONReader) -> [UInt8]? {
        descriptor.ignoreRest()
        guard descriptor.string("type") == "public-key" else { return nil }
        return descriptor.read("id", JSONValue.base64URL)
    }
}

extension JSONValue {
    /// The bytes, at least one, that a string spells in base64url or base64, padded or not: Belvo's SDKs take options
    /// in any of them.
    static func base64URL(_ value: JSONValue) throws(JSONFault) -> [UInt8] {
        let digits = value.string.map { $0.replacing("+", with: "-").replacing("/", with: "_") }
        guard let bytes = digits.flatMap({ Base64URL.decode($0.prefix { $0 != "=" }) }), !bytes.isEmpty else {
            throw JSONFault(code: "malformed", message: "This is base64url or base64.")
        }
        return bytes
    }
}
