import JSON

/// The answer to a relying party as JSON: members as belvo-api.md §4.6 and §6.2 list them, bytes as base64url.
enum PublicKeyCredential {
    static func registration(of credential: Credential, object: [UInt8], clientData: [UInt8]) -> [UInt8] {
        envelope(credential) {
            $0.member("attestationObject", Base64URL.encode(object))
            $0.member("clientDataJSON", Base64URL.encode(clientData))
        }
    }

    static func assertion(
        of credential: Credential, data: [UInt8], clientData: [UInt8], signature: [UInt8], userHandle: [UInt8]
    ) -> [UInt8] {
        envelope(credential) {
            $0.member("authenticatorData", Base64URL.encode(data))
            $0.member("clientDataJSON", Base64URL.encode(clientData))
            $0.member("signature", Base64URL.encode(signature))
            $0.member("userHandle", Base64URL.encode(userHandle))
        }
    }

    private static func envelope(_ credential: Credential, response: (inout JSONWriter) -> Void) -> [UInt8] {
        let id = Base64URL.encode(credential.id)
        return JSONWriter.object {
            $0.member("authenticatorAttachment", "platform")
            $0.member("id", id)
            $0.member("rawId", id)
            $0.member("type", "public-key")
            $0.memberObject("response", response)
        }
    }
}
