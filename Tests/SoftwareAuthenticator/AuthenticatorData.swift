/// The authenticator's data about itself and the gesture (WebAuthn §6.1).
struct AuthenticatorData {
    let bytes: [UInt8]

    /// Describes a use of the credential; `attested` when it is being made, which adds its public key.
    init(of credential: Credential, attested: Bool, _ flaw: Flaw?) throws(PhoneError) {
        let relyingPartyID = flaw == .relyingParty ? "not.\(credential.relyingPartyID)" : credential.relyingPartyID
        var flags = Flags.attestedCredential
        if !attested { flags = 0 }
        if flaw != .userPresence { flags |= Flags.userPresent }
        if flaw != .userVerification { flags |= Flags.userVerified }

        var bytes = Digest.sha256(relyingPartyID.utf8) + [flags] + credential.signCount.bigEndianBytes
        if attested {
            // Sixteen zeros: this model of authenticator has no name (WebAuthn §6.5.1).
            bytes += [UInt8](repeating: 0, count: 16)
            bytes += UInt16(credential.id.count).bigEndianBytes + credential.id
            bytes += try credential.publicKey()
        }
        self.bytes = bytes
    }

    private enum Flags {
        static let userPresent: UInt8 = 1 << 0
        static let userVerified: UInt8 = 1 << 2
        static let attestedCredential: UInt8 = 1 << 6
    }
}

extension Credential {
    /// The public key as a COSE_Key (RFC 9052 §7; its numbers in RFC 9053 §7.1.1 and RFC 8230 §4).
    fileprivate func publicKey() throws(PhoneError) -> [UInt8] {
        let key: CBOR =
            switch algorithm {
            case .es256:
                .map([
                    .integer(1): .integer(2),
                    .integer(3): .integer(algorithm.rawValue),
                    .integer(-1): .integer(1),
                    .integer(-2): .bytes(try self.key.number("qx", width: 32)),
                    .integer(-3): .bytes(try self.key.number("qy", width: 32)),
                ])
            case .rs256:
                .map([
                    .integer(1): .integer(3),
                    .integer(3): .integer(algorithm.rawValue),
                    .integer(-1): .bytes(try self.key.number("n")),
                    .integer(-2): .bytes(try self.key.number("e")),
                ])
            }
        return key.encoded
    }
}
