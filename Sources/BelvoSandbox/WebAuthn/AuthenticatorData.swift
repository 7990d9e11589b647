/// An authenticator's statement about itself and its key (WebAuthn §6.1).
struct AuthenticatorData: Sendable {
    let relyingPartyHash: [UInt8]
    let flags: Flags
    let signatureCount: UInt32
    /// There exactly when the flag says so.
    let attested: AttestedCredential?

    struct Flags: OptionSet, Sendable {
        let rawValue: UInt8
        static let userPresent = Flags(rawValue: 0x01)
        static let userVerified = Flags(rawValue: 0x04)
        static let attestedCredential = Flags(rawValue: 0x40)
        static let extensions = Flags(rawValue: 0x80)
    }

    /// A new credential (WebAuthn §6.5.1).
    struct AttestedCredential: Sendable {
        let id: [UInt8]
        let key: COSEKey
    }

    init(parsing bytes: [UInt8]) throws(WebAuthnFault) {
        guard bytes.count >= 37 else { throw .authenticatorData }
        relyingPartyHash = Array(bytes[..<32])
        flags = Flags(rawValue: bytes[32])
        signatureCount = bytes[33..<37].reduce(0) { $0 << 8 | UInt32($1) }
        var rest = bytes[37...]
        attested =
            flags.contains(.attestedCredential) ? try AuthenticatorData.takeCredential(from: &rest) : nil
        if flags.contains(.extensions) { try AuthenticatorData.skipExtensions(in: &rest) }
        guard rest.isEmpty else { throw .authenticatorData }
    }

    private static func takeCredential(
        from rest: inout ArraySlice<UInt8>
    ) throws(WebAuthnFault) -> AttestedCredential {
        // 16 bytes of AAGUID, two of length, the id, the key.
        guard rest.count >= 18 else { throw .authenticatorData }
        rest = rest.dropFirst(16)
        let count = rest.prefix(2).reduce(0) { $0 << 8 | Int($1) }
        rest = rest.dropFirst(2)
        // WebAuthn §4: at most 1023 bytes.
        guard (1...1023).contains(count), rest.count > count else { throw .authenticatorData }
        let id = Array(rest.prefix(count))
        var reader = CBORReader(rest.dropFirst(count))
        let key: CBORValue
        do { key = try reader.readItem() } catch { throw .cbor(error) }
        rest = reader.rest
        return AttestedCredential(id: id, key: try COSEKey(key))
    }

    private static func skipExtensions(in rest: inout ArraySlice<UInt8>) throws(WebAuthnFault) {
        var reader = CBORReader(rest)
        do {
            guard case .map = try reader.readItem() else { throw WebAuthnFault.authenticatorData }
        } catch let fault as CBORFault {
            throw .cbor(fault)
        } catch {
            throw .authenticatorData
        }
        rest = reader.rest
    }
}
