import HTTP
import JSON

extension SandboxState {
    /// `GET …/{id}/fido-registration-options/` (belvo-api.md §4.5): a new challenge at every call, once the
    /// bank has them.
    mutating func getFIDORegistrationOptions(_ call: Call) throws(Refusal) -> Response {
        guard let enrollment = enrollments[call.id], isReadable(enrollment.createdAt) else { throw .notFound }
        guard enrollment.status == .pending, enrollment.credential == nil else {
            throw .conflict("The enrollment does not wait for a registration.")
        }
        guard isReady(enrollment) else {
            enrollments.change(enrollment.id) { $0.registration.callsTooEarly += 1 }
            return try notReady(enrollment)
        }
        let challenge = entropy.base64URL(32)
        enrollments.change(enrollment.id) {
            $0.registration.isReady = true
            $0.registration.challenges.append(challenge)
            $0.details = .awaitingEnrollment
        }
        return Answer.object(.ok) { writeOptions(enrollment, challenge: challenge, to: &$0) }
    }

    private func isReady(_ enrollment: Enrollment) -> Bool {
        guard let completedAt = enrollment.redirection.completedAt else { return false }
        if enrollment.registration.isReady { return true }
        switch variants.fidoReadiness {
        case .afterCalls(let count): return enrollment.registration.callsTooEarly >= count
        case .after(let span): return now - completedAt >= span
        case .whenTold: return false
        }
    }

    private func notReady(_ enrollment: Enrollment) throws(Refusal) -> Response {
        switch variants.fidoNotReady {
        case .withoutChallenge: return Answer.object(.ok) { writeOptions(enrollment, challenge: nil, to: &$0) }
        case .empty: return Answer.object(.ok) { _ in }
        case .accepted: return Answer.object(.accepted) { _ in }
        case .notFound: throw .notFound
        case .conflict: throw .conflict("The FIDO registration options are not available yet.")
        case .tooEarly:
            let item = Refusal.Item(code: "too_early", message: "The FIDO registration options are not available yet.")
            throw Refusal(status: Status(425), items: [item])
        }
    }

    private func writeOptions(_ enrollment: Enrollment, challenge: String?, to writer: inout JSONWriter) {
        let name = customers[enrollment.customer]?.name ?? "Cliente"
        let bank = configuration.institutions.first { $0.id == enrollment.institution }?.displayName
        writer.memberObject("rp") { party in
            party.member("id", configuration.relyingParty)
            party.member("name", bank)
        }
        writer.memberObject("user") { user in
            user.member("id", enrollment.registration.userID)
            user.member("name", name)
            user.member("displayName", name)
        }
        writer.member("challenge", challenge.map(variants.optionBytes.spell))
        writer.memberArray("pubKeyCredParams") { parameters in
            for algorithm in variants.algorithms.numbers {
                parameters.object { parameter in
                    parameter.member("alg", algorithm)
                    parameter.member("type", "public-key")
                }
            }
        }
        if let residentKey = variants.residentKey.requirement {
            writer.memberObject("authenticatorSelection") { selection in
                selection.member("authenticatorAttachment", "platform")
                selection.member("residentKey", residentKey)
                selection.member("requireResidentKey", residentKey == "required")
                selection.member("userVerification", "required")
            }
        }
        if variants.appID.isFor(enrollment.platform) {
            writer.memberObject("extensions") { $0.member("appid", "true") }
        }
    }
}
