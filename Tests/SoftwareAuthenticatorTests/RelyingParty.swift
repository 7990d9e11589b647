import COpenSSL
import JSON
import SoftwareAuthenticator

/// A strict verifier of the phone's answers, written apart from it after WebAuthn §7.1 and §7.2.
struct RelyingParty {
    var id = "belvo.com"
    var challenge = "oGW096Hvr8sVUIOf-10iqWI7ZfSx2GhoU359bBRK9h4"
    var user = "a5bd0ef9-f8ab-41a2-b968-489761a91de6"
    var algorithms: [Int64] = [-257, -7]
    var attestation: String?

    /// A credential as it became known here.
    struct Credential {
        var id: [UInt8]
        var publicKey: PublicKey
        var format: String
        var signCount: UInt32
    }

    enum Refusal: Error, Hashable {
        case malformed(String)
        case type, challenge, origin, relyingParty, userPresence, userVerification, signature, unknownCredential
    }

    /// Registration options as Belvo gives them (belvo-api.md §4.5).
    func registrationOptions(excluding excluded: [[UInt8]] = []) throws -> JSONValue {
        let json = JSONWriter.object {
            $0.memberObject("rp") {
                $0.member("id", id)
                $0.member("name", "Raidiam Mockbank")
            }
            $0.memberObject("user") {
                $0.member("id", user)
                $0.member("name", "Ralph Bragg")
                $0.member("displayName", "Ralph Bragg")
            }
            $0.member("challenge", challenge)
            $0.memberArray("pubKeyCredParams") {
                for algorithm in algorithms {
                    $0.object {
                        $0.member("alg", algorithm)
                        $0.member("type", "public-key")
                    }
                }
            }
            if let attestation { $0.member("attestation", attestation) }
            if !excluded.isEmpty { $0.memberArray("excludeCredentials") { Self.writeDescriptors(excluded, to: &$0) } }
            $0.memberObject("extensions") { $0.member("appid", "true") }
        }
        return try JSONDocument(parsing: json).root
    }

    /// A payment's `fido_options` as Belvo gives them (belvo-api.md §6.1).
    func fidoOptions(allowing allowed: [[UInt8]]?) throws -> JSONValue {
        let json = JSONWriter.object {
            $0.member("rpId", id)
            $0.member("timeout", 300_000)
            $0.member("challenge", challenge)
            if let allowed { $0.memberArray("allowCredentials") { Self.writeDescriptors(allowed, to: &$0) } }
        }
        return try JSONDocument(parsing: json).root
    }

    /// Verifies a `confirmation_data` object.
    func register(_ confirmation: [UInt8]) throws -> Credential {
        let answer = try Answer(confirmation, members: ["attestationObject", "clientDataJSON"])
        try verifyClientData(answer["clientDataJSON"], type: "webauthn.create")

        let object = try StrictCBOR(answer["attestationObject"]).map ?? [:]
        guard object.count == 3, let format = object[.text("fmt")]?.text,
            let statement = object[.text("attStmt")]?.map, let data = object[.text("authData")]?.bytes
        else { throw Refusal.malformed("attestation object") }
        let (flags, signCount, rest) = try verifyAuthenticatorData(data)
        guard flags == 0x45 else { throw Refusal.malformed("flags \(flags)") }
        let (id, publicKey, algorithm) = try Self.attestedCredential(rest)
        guard id == answer.id else { throw Refusal.malformed("credential id") }
        guard algorithms.contains(algorithm) else { throw Refusal.malformed("algorithm \(algorithm)") }

        switch format {
        case "none": guard statement.isEmpty else { throw Refusal.malformed("statement") }
        case "packed":
            // Self attestation: WebAuthn §8.2, verification without x5c.
            guard statement.count == 2, statement[.text("alg")] == .integer(algorithm),
                let signature = statement[.text("sig")]?.bytes
            else { throw Refusal.malformed("statement") }
            guard try publicKey.verifies(signature, of: data + Self.sha256(answer["clientDataJSON"])) else {
                throw Refusal.signature
            }
        default: throw Refusal.malformed("format \(format)")
        }
        return Credential(id: id, publicKey: publicKey, format: format, signCount: signCount)
    }

    /// Verifies an `assertion` object and gives its count of signatures.
    func verify(_ assertion: [UInt8], by credential: Credential) throws -> UInt32 {
        let answer = try Answer(
            assertion, members: ["authenticatorData", "clientDataJSON", "signature", "userHandle"])
        guard answer.id == credential.id else { throw Refusal.unknownCredential }
        try verifyClientData(answer["clientDataJSON"], type: "webauthn.get")
        let data = answer["authenticatorData"]
        let (flags, signCount, rest) = try verifyAuthenticatorData(data)
        guard flags == 0x05, rest.isEmpty else { throw Refusal.malformed("authenticator data") }
        guard try credential.publicKey.verifies(answer["signature"], of: data + Self.sha256(answer["clientDataJSON"]))
        else { throw Refusal.signature }
        return signCount
    }

    private func verifyClientData(_ bytes: [UInt8], type: String) throws {
        let reader = JSONReader(try JSONDocument(parsing: bytes).root)
        let (receivedType, receivedChallenge) = (reader.string("type"), reader.string("challenge"))
        let (origin, crossOrigin) = (reader.string("origin"), reader.bool("crossOrigin"))
        guard reader.isFaultless, crossOrigin == false else { throw Refusal.malformed("client data") }
        guard receivedType == type else { throw Refusal.type }
        guard receivedChallenge == challenge else { throw Refusal.challenge }
        guard origin == "https://\(id)" else { throw Refusal.origin }
    }

    /// Gives the flags, the count and what follows (WebAuthn §6.1).
    private func verifyAuthenticatorData(_ data: [UInt8]) throws -> (UInt8, UInt32, ArraySlice<UInt8>) {
        guard data.count >= 37 else { throw Refusal.malformed("authenticator data") }
        guard Array(data[..<32]) == Self.sha256(Array(id.utf8)) else { throw Refusal.relyingParty }
        guard data[32] & 0x01 != 0 else { throw Refusal.userPresence }
        guard data[32] & 0x04 != 0 else { throw Refusal.userVerification }
        return (data[32], data[33..<37].reduce(0) { $0 << 8 | UInt32($1) }, data[37...])
    }

    private static func attestedCredential(_ bytes: ArraySlice<UInt8>) throws -> ([UInt8], PublicKey, Int64) {
        var rest = bytes
        guard rest.count > 18, rest.prefix(16).allSatisfy({ $0 == 0 }) else { throw Refusal.malformed("AAGUID") }
        rest = rest.dropFirst(16)
        let count = rest.prefix(2).reduce(0) { $0 << 8 | Int($1) }
        rest = rest.dropFirst(2)
        guard (16...1023).contains(count), rest.count > count else { throw Refusal.malformed("credential id") }
        let id = Array(rest.prefix(count))
        let cose = try StrictCBOR(Array(rest.dropFirst(count))).map ?? [:]
        guard case .integer(let algorithm) = cose[.integer(3)] else { throw Refusal.malformed("COSE key") }
        return (id, try PublicKey(cose: cose), algorithm)
    }

    private static func writeDescriptors(_ ids: [[UInt8]], to array: inout JSONWriter) {
        for id in ids {
            array.object {
                $0.member("id", Base64URL.encode(id))
                $0.member("type", "public-key")
            }
        }
    }

    private static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil)
        return digest
    }
}

/// The outer object of an answer, which must have exactly the members of the contract.
private struct Answer {
    let id: [UInt8]
    private var response: [String: [UInt8]] = [:]

    init(_ json: [UInt8], members: [String]) throws {
        let reader = JSONReader(try JSONDocument(parsing: json).root)
        let (id, rawID) = (reader.string("id"), reader.string("rawId"))
        let (attachment, type) = (reader.string("authenticatorAttachment"), reader.string("type"))
        let object = reader.object("response")
        for member in members {
            guard let bytes = object?.string(member).flatMap({ Base64URL.decode($0) }) else {
                throw RelyingParty.Refusal.malformed(member)
            }
            response[member] = bytes
        }
        guard reader.isFaultless, id == rawID, let bytes = id.flatMap({ Base64URL.decode($0) }),
            attachment == "platform", type == "public-key"
        else { throw RelyingParty.Refusal.malformed("answer") }
        self.id = bytes
    }

    subscript(_ member: String) -> [UInt8] { response[member] ?? [] }
}
