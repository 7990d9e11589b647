import JSON

extension Phone {
    /// The phone as JSON, private keys and all, to be taken back by `init(json:)`.
    ///
    /// Its settings (algorithms, attestation, origin) are the caller's and not part of it.
    public func json() throws(PhoneError) -> [UInt8] {
        var texts: [[UInt8]] = []
        for credential in credentials { texts.append(try credential.json()) }
        return JSONWriter.object {
            $0.member("device_id", deviceID)
            $0.memberArray("credentials") { for text in texts { $0.elementRaw(text) } }
        }
    }

    /// Takes back a phone that `json()` wrote.
    public init(json bytes: [UInt8]) throws(PhoneError) {
        let reader = JSONReader(try Phone.parse(bytes).root)
        let deviceID = reader.string("device_id")
        let readers = reader.objects("credentials") ?? []
        var credentials: [Credential] = []
        for reader in readers { if let credential = try Credential(reader) { credentials.append(credential) } }
        guard let deviceID, reader.isFaultless else {
            let faults = reader.faults.all.map { "\($0.pointer): \($0.message)" }.joined(separator: " ")
            throw .file("The phone's file is not one that was written here: \(faults)")
        }
        self.init(deviceID: deviceID, credentials: credentials)
    }

    private static func parse(_ bytes: [UInt8]) throws(PhoneError) -> JSONDocument {
        do throws(JSONSyntaxError) {
            return try JSONDocument(parsing: bytes)
        } catch {
            throw .file("The phone's file is no JSON: \(error)")
        }
    }
}

extension Credential {
    fileprivate func json() throws(PhoneError) -> [UInt8] {
        let privateKey = Base64URL.encode(try key.der())
        return JSONWriter.object {
            $0.member("id", Base64URL.encode(id))
            $0.member("rp_id", relyingPartyID)
            $0.member("user_handle", Base64URL.encode(userHandle))
            $0.member("algorithm", algorithm.rawValue)
            $0.member("sign_count", Int64(signCount))
            $0.member("private_key", privateKey)
        }
    }

    /// Nil with faults noted in the reader; throws when the key itself is broken.
    fileprivate init?(_ reader: JSONReader) throws(PhoneError) {
        let id = reader.read("id", JSONValue.base64URL)
        let relyingPartyID = reader.string("rp_id")
        let userHandle = reader.read("user_handle", JSONValue.base64URL)
        let algorithm = reader.read("algorithm") { value throws(JSONFault) in
            guard let algorithm = value.int64.flatMap(Algorithm.init(rawValue:)) else {
                throw JSONFault(code: JSONFault.Code.notAllowed, message: "This is the number of a known algorithm.")
            }
            return algorithm
        }
        let signCount = reader.read("sign_count") { value throws(JSONFault) in
            guard let count = value.int64.flatMap(UInt32.init(exactly:)) else {
                throw JSONFault(code: JSONFault.Code.notAllowed, message: "This is a count of 32 bits.")
            }
            return count
        }
        let der = reader.read("private_key", JSONValue.base64URL)
        guard let id, let relyingPartyID, let userHandle, let algorithm, let signCount, let der else { return nil }
        self.init(
            id: id, relyingPartyID: relyingPartyID, userHandle: userHandle, algorithm: algorithm,
            key: try PrivateKey(der: der))
        self.signCount = signCount
    }
}
