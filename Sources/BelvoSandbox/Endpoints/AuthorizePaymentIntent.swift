import HTTP
import JSON

extension SandboxState {
    /// `POST …/{id}/authorize/` (belvo-api.md §6.2).
    ///
    /// As with a confirmation, a body of the wrong shape changes nothing, and one of the right shape is
    /// taken with 204 and used up: a signature that is wrong makes the intent FAILED.
    mutating func authorizePaymentIntent(_ call: Call) throws(Refusal) -> Response {
        guard let intent = intents[call.id] else { throw .notFound }
        let enrollment = enrollments[intent.enrollment]
        let reader = JSONReader(try call.document())
        readPlatform(reader)
        let signals = RiskSignals(
            in: reader, phone: variants.phoneSignals == .required && enrollment?.platform != Platform.browser.rawValue,
            tenure: variants.tenure == .creationDay ? customers[intent.customer]?.createdAt.day : nil)
        let assertion = reader.object("assertion").flatMap { Assertion($0, variants.credentials) }
        guard signals != nil, let assertion, accepts(reader) else { throw refusal(reader) }
        guard [.pending, .requiresAction].contains(intent.status), !intent.isAuthorized else {
            throw .conflict("The payment intent does not wait for an authorization.")
        }

        guard let enrollment, enrollment.status == .succeeded, let credential = enrollment.credential else {
            failIntent(intent.id, .enrollmentRevoked)
            return Answer.noContent
        }
        do throws(WebAuthnFault) {
            let count = try assertion.verify(
                by: credential,
                Expectation(
                    relyingParty: configuration.relyingParty, challenges: [intent.challenge],
                    origins: configuration.origins),
                signatureCount: enrollment.signatureCount)
            enrollments.change(enrollment.id) { $0.signatureCount = count }
            beginSettlement(intent.id)
        } catch {
            calls.note("\(error)")
            failIntent(intent.id, .signature)
        }
        return Answer.noContent
    }

    /// belvo-api.md §11, line 7.
    private func readPlatform(_ reader: JSONReader) {
        switch variants.authorizePlatform {
        case .refused: break
        case .optional: _ = reader.optionalString("platform", length: 1...32)
        case .required: _ = reader.string("platform", length: 1...32)
        }
    }
}

extension Assertion {
    /// Reads `assertion`; nil with faults at the reader. `userHandle` is a string always, empty when the
    /// authenticator gave none (belvo-api.md §6.2).
    init?(_ reader: JSONReader, _ form: CredentialForm) {
        let (id, response) = CredentialMembers.read(reader, form)
        let authenticatorData = response?.bytes("authenticatorData", form)
        let clientDataJSON = response?.bytes("clientDataJSON", form)
        let signature = response?.bytes("signature", form)
        _ = response?.bytes("userHandle", form, canBeEmpty: true)
        guard let id, let authenticatorData, let clientDataJSON, let signature else { return nil }
        self.init(
            credentialID: id, clientDataJSON: clientDataJSON, authenticatorData: authenticatorData,
            signature: signature)
    }
}
