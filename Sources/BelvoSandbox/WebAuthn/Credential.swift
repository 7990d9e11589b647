/// A device's key at the bank.
struct Credential: Sendable, Equatable {
    let id: [UInt8]
    let key: COSEKey
    /// The authenticator's count when it was registered.
    let signatureCount: UInt32
}

/// A registration as the bank gets it.
struct Attestation: Sendable {
    let credentialID: [UInt8]
    let clientDataJSON: [UInt8]
    let attestationObject: [UInt8]

    /// The new credential (WebAuthn §7.1, with attestation formats `none` and `packed` self-attestation).
    func verify(_ expected: Expectation) throws(WebAuthnFault) -> Credential {
        let client = try ClientData(parsing: clientDataJSON, type: "webauthn.create", expected: expected)
        let object: CBORValue
        do { object = try CBORReader.readWhole(attestationObject) } catch { throw .cbor(error) }
        guard let format = object["fmt"]?.textString, let statement = object["attStmt"],
            let bytes = object["authData"]?.byteString
        else { throw .attestationObject }
        let data = try AuthenticatorData(parsing: bytes)
        guard data.relyingPartyHash == expected.relyingPartyHash else { throw .relyingParty }
        guard data.flags.isSuperset(of: [.userPresent, .userVerified]), let attested = data.attested else {
            throw .flags
        }
        guard attested.id == credentialID else { throw .credentialID }
        try check(format, statement, key: attested.key, signed: bytes + client.digest)
        return Credential(id: attested.id, key: attested.key, signatureCount: data.signatureCount)
    }

    private func check(
        _ format: String, _ statement: CBORValue, key: COSEKey, signed: [UInt8]
    ) throws(WebAuthnFault) {
        switch format {
        case "none":
            // WebAuthn §8.7: the statement is an empty map.
            guard statement == .map([]) else { throw .attestationFormat }
        case "packed":
            // WebAuthn §8.2: without `x5c` the credential's own key has signed.
            guard statement["x5c"] == nil, statement["alg"]?.int64 == key.algorithm,
                let signature = statement["sig"]?.byteString
            else { throw .attestationFormat }
            guard key.verifies(signature: signature, of: signed) else { throw .attestationSignature }
        default:
            throw .attestationFormat
        }
    }
}

/// A signature as the bank gets it.
struct Assertion: Sendable {
    let credentialID: [UInt8]
    let clientDataJSON: [UInt8]
    let authenticatorData: [UInt8]
    let signature: [UInt8]

    /// The authenticator's new count (WebAuthn §7.2).
    func verify(
        by credential: Credential, _ expected: Expectation, signatureCount: UInt32
    ) throws(WebAuthnFault) -> UInt32 {
        guard credentialID == credential.id else { throw .credentialID }
        let client = try ClientData(parsing: clientDataJSON, type: "webauthn.get", expected: expected)
        let data = try AuthenticatorData(parsing: authenticatorData)
        guard data.relyingPartyHash == expected.relyingPartyHash else { throw .relyingParty }
        guard data.flags.isSuperset(of: [.userPresent, .userVerified]) else { throw .flags }
        guard credential.key.verifies(signature: signature, of: authenticatorData + client.digest) else {
            throw .signature
        }
        // WebAuthn §7.2, step 22: both zero means that the authenticator does not count.
        guard data.signatureCount > signatureCount || (data.signatureCount, signatureCount) == (0, 0) else {
            throw .signatureCount
        }
        return data.signatureCount
    }
}
