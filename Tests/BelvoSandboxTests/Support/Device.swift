import COpenSSL
import JSON

@testable import BelvoSandbox

/// A device with one key, written for these tests alone so that every byte of an answer can be made wrong.
struct Device {
    let kind: Kind
    let credentialID: [UInt8]
    private let key: PrivateKey

    enum Kind: CaseIterable { case es256, rs256 }

    init(_ kind: Kind = .es256, credentialID: [UInt8] = Array(1...32)) {
        self.kind = kind
        self.credentialID = credentialID
        key = PrivateKey(kind)
    }

    /// The parts of a registration; each part can be changed before it is put together.
    struct Registration {
        var type = "webauthn.create"
        var challenge: String
        var relyingParty = "belvo.com"
        var flags: UInt8 = 0x45
        var format = "packed"
        var signatureByte: UInt8 = 0
        var rawID: [UInt8]?
        var tail: [UInt8] = []
    }

    /// The body of a confirmation.
    func confirmation(_ registration: Registration) -> [UInt8] {
        let client = clientData(registration.type, registration.challenge)
        var data = Digest.sha256(Array(registration.relyingParty.utf8)) + [registration.flags, 0, 0, 0, 1]
        if registration.flags & 0x40 != 0 {
            data += [UInt8](repeating: 0, count: 16)
            data += [UInt8(credentialID.count >> 8), UInt8(credentialID.count & 255)] + credentialID + key.cose
        }
        data += registration.tail
        var signature = key.sign(data + Digest.sha256(client))
        signature[signature.count - 1] ^= registration.signatureByte
        let statement: [UInt8] =
            registration.format == "none"
            ? [0xA0]
            : [0xA2] + CBOR.text("alg") + CBOR.number(kind == .es256 ? -7 : -257) + CBOR.text("sig")
                + CBOR.bytes(signature)
        let object =
            [0xA3] + CBOR.text("fmt") + CBOR.text(registration.format) + CBOR.text("attStmt") + statement
            + CBOR.text("authData") + CBOR.bytes(data)
        return JSONWriter.object { body in
            body.memberObject("confirmation_data") { credential in
                writeCredential(&credential, rawID: registration.rawID)
                credential.memberObject("response") { response in
                    response.member("attestationObject", Base64URL.encode(object))
                    response.member("clientDataJSON", Base64URL.encode(client))
                }
            }
        }
    }

    /// The parts of a signature.
    struct Signature {
        var type = "webauthn.get"
        var challenge: String
        var relyingParty = "belvo.com"
        var flags: UInt8 = 0x05
        var count: UInt8 = 2
        var signatureByte: UInt8 = 0
        var userHandle: String? = ""
        var credentialID: [UInt8]?
    }

    /// The body of an authorization.
    func authorization(_ signature: Signature, signals: String = Bodies.signals) -> [UInt8] {
        let client = clientData(signature.type, signature.challenge)
        let data = Digest.sha256(Array(signature.relyingParty.utf8)) + [signature.flags, 0, 0, 0, signature.count]
        var bytes = key.sign(data + Digest.sha256(client))
        bytes[bytes.count - 1] ^= signature.signatureByte
        return JSONWriter.object { body in
            body.memberRaw("risk_signals", Array(signals.utf8))
            body.memberObject("assertion") { assertion in
                writeCredential(&assertion, id: signature.credentialID)
                assertion.memberObject("response") { response in
                    response.member("authenticatorData", Base64URL.encode(data))
                    response.member("clientDataJSON", Base64URL.encode(client))
                    response.member("signature", Base64URL.encode(bytes))
                    response.member("userHandle", signature.userHandle)
                }
            }
        }
    }

    private func writeCredential(_ writer: inout JSONWriter, id: [UInt8]? = nil, rawID: [UInt8]? = nil) {
        writer.member("authenticatorAttachment", "platform")
        writer.member("type", "public-key")
        writer.member("id", Base64URL.encode(id ?? credentialID))
        writer.member("rawId", Base64URL.encode(rawID ?? id ?? credentialID))
    }

    private func clientData(_ type: String, _ challenge: String) -> [UInt8] {
        JSONWriter.object { data in
            data.member("type", type)
            data.member("challenge", challenge)
            data.member("origin", "https://belvo.com")
            data.member("crossOrigin", false)
        }
    }
}

/// CBOR in its shortest form, as far as an attestation needs it.
enum CBOR {
    static func bytes(_ bytes: [UInt8]) -> [UInt8] { head(2, bytes.count) + bytes }
    static func text(_ text: String) -> [UInt8] { head(3, text.utf8.count) + Array(text.utf8) }
    static func number(_ number: Int) -> [UInt8] { number < 0 ? head(1, -1 - number) : head(0, number) }

    private static func head(_ major: UInt8, _ count: Int) -> [UInt8] {
        switch count {
        case ..<24: [major << 5 | UInt8(count)]
        case ..<256: [major << 5 | 24, UInt8(count)]
        default: [major << 5 | 25, UInt8(count >> 8), UInt8(count & 255)]
        }
    }
}
