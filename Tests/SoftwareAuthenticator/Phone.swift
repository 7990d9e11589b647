import JSON

/// A phone with a fingerprint reader, in software: it answers WebAuthn options with real signatures.
///
/// It stands where the app, Belvo's SDK and the device's authenticator stand together: it takes the options
/// objects as the server hands them to the app, and gives the JSON objects that the app sends back. For tests,
/// benchmarks and demonstrations only: its keys lie in memory and in plain files.
///
/// ```swift
/// var phone = Phone()
/// let confirmation = try phone.register(options.root)      // "confirmation_data"
/// let assertion = try phone.sign(fidoOptions.root)         // "assertion"
/// let signals = phone.riskSignals(accountTenure: "2026-11-21")
/// ```
public struct Phone: Sendable {
    /// The device's id in its risk signals, the same for its whole life.
    public let deviceID: String

    /// The credentials made here, oldest first.
    public private(set) var credentials: [Credential]

    /// The algorithms it knows. An iPhone knows ES256 alone.
    public var algorithms: [Algorithm] = [.es256]

    /// The attestation it makes; nil for what the options ask for.
    public var attestation: Attestation?

    /// The origin in what it signs; nil for that of an iOS app, `https://` and the relying party.
    public var origin: String?

    /// Whether it tells who signed. A device that keeps no user handle sends an empty one.
    public var returnsUserHandle = true

    /// A new phone without credentials.
    public init() {
        // iOS: a SHA3-256 of the vendor's identifier in hexadecimal (belvo-api.md §7), so 32 bytes.
        self.init(deviceID: Hexadecimal.encode(.random(count: 32)), credentials: [])
    }

    init(deviceID: String, credentials: [Credential]) {
        self.deviceID = deviceID
        self.credentials = credentials
    }

    /// Makes a credential as the registration options ask, and gives the `confirmation_data` object
    /// (belvo-api.md §4.6; WebAuthn §6.3.2).
    ///
    /// With a flaw the answer is wrong in that one respect, and the credential is kept as if it were right.
    public mutating func register(_ options: JSONValue, with flaw: Flaw? = nil) throws(PhoneError) -> [UInt8] {
        let options = try RegistrationOptions(options)
        guard let algorithm = options.algorithms.first(where: algorithms.contains) else { throw .noCommonAlgorithm }
        guard !credentials.contains(where: { options.excluded.contains($0.id) }) else { throw .alreadyRegistered }

        let credential = Credential(
            id: .random(count: 32), relyingPartyID: options.relyingPartyID, userHandle: options.userHandle,
            algorithm: algorithm, key: try PrivateKey(generating: algorithm))
        let clientData = clientData(.create, options.challenge, relyingPartyID: options.relyingPartyID, flaw)
        let data = try AuthenticatorData(of: credential, attested: true, flaw)
        let object = try AttestationObject(
            attestation(answering: options, flaw), credential: credential, data: data, clientData: clientData, flaw)
        credentials.append(credential)
        return PublicKeyCredential.registration(of: credential, object: object.bytes, clientData: clientData)
    }

    /// Signs a payment's `fido_options` with the credential they allow, and gives the `assertion` object
    /// (belvo-api.md §6.2; WebAuthn §6.3.3).
    public mutating func sign(_ options: JSONValue, with flaw: Flaw? = nil) throws(PhoneError) -> [UInt8] {
        let options = try AuthenticationOptions(options)
        guard let index = credentials.lastIndex(where: options.allows) else {
            throw .noCredential(relyingPartyID: options.relyingPartyID)
        }
        credentials[index].signCount += 1
        let credential = credentials[index]
        let clientData = clientData(.get, options.challenge, relyingPartyID: options.relyingPartyID, flaw)
        let data = try AuthenticatorData(of: credential, attested: false, flaw)
        return PublicKeyCredential.assertion(
            of: credential, data: data.bytes, clientData: clientData,
            signature: try credential.sign(data, clientData, flaw),
            userHandle: returnsUserHandle ? credential.userHandle : [])
    }

    private func clientData(
        _ ceremony: ClientData.Ceremony, _ challenge: [UInt8], relyingPartyID: String, _ flaw: Flaw?
    ) -> [UInt8] {
        ClientData(ceremony, challenge: challenge, origin: origin ?? "https://\(relyingPartyID)", flaw).json
    }

    private func attestation(answering options: RegistrationOptions, _ flaw: Flaw?) -> Attestation {
        // Without attestation nothing is signed, and there would be nothing to spoil.
        if flaw == .signature || flaw == .key { return .packed }
        return attestation ?? (options.wantsAttestation ? .packed : .none)
    }
}
