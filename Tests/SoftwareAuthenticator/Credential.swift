/// A key pair for one relying party and one of its users.
public struct Credential: Sendable {
    public let id: [UInt8]
    public let relyingPartyID: String
    public let userHandle: [UInt8]
    public let algorithm: Algorithm

    /// How often it has signed an assertion.
    public internal(set) var signCount: UInt32 = 0

    let key: PrivateKey

    init(id: [UInt8], relyingPartyID: String, userHandle: [UInt8], algorithm: Algorithm, key: PrivateKey) {
        self.id = id
        self.relyingPartyID = relyingPartyID
        self.userHandle = userHandle
        self.algorithm = algorithm
        self.key = key
    }

    /// Signs the authenticator data and the digest of the client data (WebAuthn §6.3.3, step 11).
    func sign(_ data: AuthenticatorData, _ clientData: [UInt8], _ flaw: Flaw?) throws(PhoneError) -> [UInt8] {
        let signer = flaw == .key ? try PrivateKey(generating: algorithm) : key
        var signature = try signer.sign(data.bytes + Digest.sha256(clientData))
        // The last byte belongs to a number in both algorithms, so the text stays well-formed and is merely wrong.
        if flaw == .signature, let last = signature.indices.last { signature[last] ^= 1 }
        return signature
    }
}
