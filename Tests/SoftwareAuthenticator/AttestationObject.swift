/// The authenticator data of a new credential and what vouches for it (WebAuthn §6.5.4).
struct AttestationObject {
    let bytes: [UInt8]

    init(
        _ attestation: Attestation, credential: Credential, data: AuthenticatorData, clientData: [UInt8], _ flaw: Flaw?
    ) throws(PhoneError) {
        let statement: CBOR =
            switch attestation {
            case .none: .map([:])
            case .packed:
                .map([
                    .text("alg"): .integer(credential.algorithm.rawValue),
                    .text("sig"): .bytes(try credential.sign(data, clientData, flaw)),
                ])
            }
        bytes =
            CBOR.map([
                .text("fmt"): .text(attestation.rawValue),
                .text("attStmt"): statement,
                .text("authData"): .bytes(data.bytes),
            ]).encoded
    }
}
