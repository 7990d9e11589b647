/// How enrollments change. Each answers whether it could, since some states are the last.
extension SandboxState {
    /// The device's key is with the bank, which now decides.
    mutating func registerCredential(_ credential: Credential, _ id: String) {
        let moment = now
        credentialIDs.insert(credential.id)
        enrollments.change(id) {
            $0.credential = credential
            $0.signatureCount = credential.signatureCount
            $0.updatedAt = moment
        }
        switch variants.enrollmentSettlement {
        case .immediately: succeedEnrollment(id)
        case .after(let span): agenda.add(.settleEnrollment(id), at: moment + span)
        case .whenTold: break
        }
    }

    /// Without a device's key there is nothing to pay with, so only a confirmed enrollment succeeds.
    @discardableResult
    mutating func succeedEnrollment(_ id: String) -> Bool {
        guard enrollments[id]?.credential != nil else { return false }
        return end(id, from: .pending, as: .succeeded, details: .authorized, reason: nil)
    }

    @discardableResult
    mutating func failEnrollment(_ id: String, _ reason: Enrollment.Reason) -> Bool {
        end(
            id, from: .pending, as: .failed, details: variants.failedDetails == .rejected ? .rejected : nil,
            reason: reason)
    }

    mutating func cancelEnrollment(_ id: String) -> Bool {
        end(id, from: .pending, as: .canceled, details: .rejected, reason: .rejectedByUser)
    }

    /// The bank may take an enrollment back at any time (belvo-api.md §9).
    mutating func revokeEnrollment(_ id: String, as status: Enrollment.Status) -> Bool {
        end(id, from: .succeeded, as: status, details: .revoked, reason: .revoked)
    }

    private mutating func end(
        _ id: String, from: Enrollment.Status, as status: Enrollment.Status, details: Enrollment.Details?,
        reason: Enrollment.Reason?
    ) -> Bool {
        guard enrollments[id]?.status == from else { return false }
        let moment = now
        enrollments.change(id) {
            $0.status = status
            $0.details = details ?? $0.details
            $0.reason = reason
            $0.updatedAt = moment
        }
        if let enrollment = enrollments[id] { announce(enrollment) }
        return true
    }
}
