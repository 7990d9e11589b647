/// Why a registration or a signature is not accepted. The caller learns only that it was not; the reason
/// stands in the sandbox's log of calls.
enum WebAuthnFault: Error, Equatable, Sendable {
    case clientData, type, challenge, origin
    case cbor(CBORFault)
    case attestationObject, attestationFormat, attestationSignature
    case authenticatorData, relyingParty, flags, publicKey
    case credentialID, signature, signatureCount
}

extension WebAuthnFault: CustomStringConvertible {
    var description: String {
        switch self {
        case .clientData: "clientDataJSON is not what WebAuthn describes"
        case .type: "clientDataJSON has another type"
        case .challenge: "clientDataJSON has a challenge that was not issued or is used up"
        case .origin: "clientDataJSON has an origin that is not registered"
        case .cbor(let fault): "the CBOR is not readable: \(fault)"
        case .attestationObject: "the attestation object lacks a member"
        case .attestationFormat: "the attestation is neither `none` nor `packed` by the credential itself"
        case .attestationSignature: "the attestation's signature is wrong"
        case .authenticatorData: "the authenticator data is not what WebAuthn describes"
        case .relyingParty: "the relying party is another"
        case .flags: "the user was not present and verified, or the credential is missing"
        case .publicKey: "the public key is neither ES256 nor RS256"
        case .credentialID: "the credential id differs"
        case .signature: "the signature is wrong"
        case .signatureCount: "the signature count went back"
        }
    }
}
