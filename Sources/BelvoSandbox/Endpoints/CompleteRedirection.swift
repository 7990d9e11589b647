import HTTP
import JSON

extension SandboxState {
    /// `POST /payments/br/enrollments/complete-redirection/` (belvo-api.md §4.4).
    ///
    /// The answer is 200 for every state that is known, whatever the bank said; only the enrollment in it
    /// tells. A state that is not known is 404. Repeats answer the enrollment as it is and change nothing.
    mutating func completeRedirection(_ call: Call) throws(Refusal) -> Response {
        let reader = JSONReader(try call.document())
        let state = reader.string("state", length: 1...2048)
        let error = reader.optionalString("error", length: 1...1024)
        let description = reader.optionalString("error_description", length: 0...4096)
        // With an error there may be a code beside it, which is then worth nothing.
        let code = error == nil ? reader.string("code", length: 1...16_384) : reader.optionalString("code")
        let idToken =
            error == nil ? reader.string("id_token", length: 1...32_768) : reader.optionalString("id_token")
        guard let state, accepts(reader) else { throw refusal(reader) }
        guard let enrollment = enrollmentsByState[state].flatMap({ enrollments[$0] }) else { throw .notFound }

        if enrollment.status == .pending, enrollment.redirection.completedAt == nil {
            if let error {
                failEnrollment(enrollment.id, Refused.reason(error, description))
            } else {
                try exchange(code: code, idToken: idToken, of: enrollment)
            }
        }
        return Answer.object(.ok) { writer in
            if let enrollment = enrollments[enrollment.id] { writeEnrollment(enrollment, to: &writer) }
        }
    }

    /// Takes the code to the bank, where it works once and for its own request only.
    private mutating func exchange(code: String?, idToken: String?, of enrollment: Enrollment) throws(Refusal) {
        if case .approved(let issued, let issuedToken) = enrollment.redirection.answer,
            code == issued, idToken == issuedToken
        {
            let moment = now
            enrollments.change(enrollment.id) {
                $0.redirection.completedAt = moment
                $0.updatedAt = moment
            }
            return
        }
        switch variants.unknownCodes {
        case .ignored: break
        case .failed: failEnrollment(enrollment.id, .redirection)
        case .refused: throw .badRequest("invalid", "The code is invalid.", field: "code")
        }
    }
}

private enum Refused {
    /// The bank's error (RFC 6749 §4.1.2.1) in Belvo's words.
    static func reason(_ error: String, _ description: String?) -> Enrollment.Reason {
        guard error != "access_denied" else { return .rejectedByUser }
        return Enrollment.Reason(
            code: "REDIRECTION_TO_INSTITUTION_FAILED", message: description ?? "The institution reported an error.")
    }
}
