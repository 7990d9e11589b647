import HTTP
import JSON

extension SandboxState {
    /// `POST …/{id}/confirm/` (belvo-api.md §4.6).
    ///
    /// A body of the wrong shape is refused and changes nothing. One of the right shape is taken with 204
    /// and handed to the bank, once: what the bank cannot verify makes the enrollment FAILED.
    mutating func confirmEnrollment(_ call: Call) throws(Refusal) -> Response {
        guard let enrollment = enrollments[call.id] else { throw .notFound }
        let reader = JSONReader(try call.document())
        let attestation = reader.object("confirmation_data").flatMap { Attestation($0, variants.credentials) }
        guard let attestation, accepts(reader) else { throw refusal(reader) }
        guard enrollment.status == .pending, enrollment.credential == nil,
            !enrollment.registration.challenges.isEmpty
        else { throw .conflict("The enrollment does not wait for a confirmation.") }

        do throws(WebAuthnFault) {
            let credential = try attestation.verify(expectation(enrollment))
            guard !credentialIDs.contains(credential.id) else { throw WebAuthnFault.credentialID }
            registerCredential(credential, enrollment.id)
        } catch {
            calls.note("\(error)")
            failEnrollment(enrollment.id, .biometrics)
        }
        return Answer.noContent
    }

    private func expectation(_ enrollment: Enrollment) -> Expectation {
        let challenges: [String] =
            switch variants.challenges {
            case .latest: enrollment.registration.challenges.suffix(1)
            case .anyIssued: enrollment.registration.challenges
            }
        return Expectation(
            relyingParty: configuration.relyingParty, challenges: challenges, origins: configuration.origins)
    }
}

extension Attestation {
    /// Reads `confirmation_data`; nil with faults at the reader.
    init?(_ reader: JSONReader, _ form: CredentialForm) {
        let (id, response) = CredentialMembers.read(reader, form)
        let attestationObject = response?.bytes("attestationObject", form)
        let clientDataJSON = response?.bytes("clientDataJSON", form)
        guard let id, let attestationObject, let clientDataJSON else { return nil }
        self.init(credentialID: id, clientDataJSON: clientDataJSON, attestationObject: attestationObject)
    }
}

/// The checks that registrations and signatures have in common.
enum CredentialMembers {
    private enum Attachment: String, CaseIterable { case platform }
    private enum Kind: String, CaseIterable { case publicKey = "public-key" }

    /// The credential's id and what it answers, with the members around them checked: `id` and `rawId` are the same.
    static func read(_ reader: JSONReader, _ form: CredentialForm) -> (id: [UInt8]?, response: JSONReader?) {
        if form == .strict || reader.optionalValue("authenticatorAttachment") != nil {
            _ = reader.oneOf("authenticatorAttachment", Attachment.self)
        }
        if form == .strict || reader.optionalValue("type") != nil { _ = reader.oneOf("type", Kind.self) }
        if let results = reader.optionalValue("clientExtensionResults"), results.kind != .object {
            reader.refuse("clientExtensionResults", code: "invalid", "Must be an object.")
        }
        let id = reader.bytes("id", form)
        let rawID = reader.bytes("rawId", form)
        if let id, let rawID, id != rawID {
            reader.refuse("rawId", code: "invalid", "Must equal id.")
        }
        let response = reader.object("response")
        if form == .tolerant { for object in [reader, response] { object?.ignoreRest() } }
        return (id, response)
    }
}
