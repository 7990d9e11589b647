import JSON

/// The options of a relying party for a new credential: the object of belvo-api.md §4.5.
struct RegistrationOptions {
    let relyingPartyID: String
    let userHandle: [UInt8]
    let challenge: [UInt8]

    /// The wanted algorithms that exist here, the most wanted first.
    let algorithms: [Algorithm]

    /// The ids of credentials besides which no new one may be made.
    let excluded: [[UInt8]]

    let wantsAttestation: Bool

    init(_ json: JSONValue) throws(PhoneError) {
        let reader = JSONReader(json)
        let relyingParty = reader.object("rp")
        let relyingPartyID = relyingParty?.string("id", length: 1...253)
        let user = reader.object("user")
        let userID = user?.string("id", length: 1...128)
        let challenge = reader.read("challenge", JSONValue.base64URL)
        let parameters = reader.objects("pubKeyCredParams")
        let algorithms = parameters?.compactMap(JSONReader.algorithm)
        let excluded = reader.optionalObjects("excludeCredentials")?.compactMap(JSONReader.credentialID) ?? []
        let attestation = reader.optionalString("attestation")
        for object in [reader, relyingParty, user] { object?.ignoreRest() }
        guard let relyingPartyID, let userID, let challenge, let algorithms, reader.isFaultless else {
            throw .malformedOptions(reader.faults)
        }
        self.relyingPartyID = relyingPartyID
        // The user's id should be base64url, but Belvo gives a UUID's text. That happens to be base64url too, so
        // it comes back in `userHandle` letter by letter; any other text does so by way of its UTF-8.
        userHandle = Base64URL.decode(userID) ?? Array(userID.utf8)
        self.challenge = challenge
        self.algorithms = algorithms
        self.excluded = excluded
        wantsAttestation = !["none", nil].contains(attestation)
    }
}

extension JSONReader {
    /// The algorithm in a credential parameter (WebAuthn §5.3), if it exists here.
    fileprivate static func algorithm(_ parameter: JSONReader) -> Algorithm? {
        parameter.ignoreRest()
        guard parameter.string("type") == "public-key" else { return nil }
        return parameter.int64("alg").flatMap(Algorithm.init(rawValue:))
    }
}
