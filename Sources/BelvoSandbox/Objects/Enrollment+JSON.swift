import JSON

extension Enrollment {
    func write(to writer: inout JSONWriter, createdBy: String, variants: Variants) {
        writer.member("id", id)
        writer.member("type", "open_finance_biometric_pix")
        writer.member("status", status.rawValue)
        writer.memberObject("details") { writeDetails(to: &$0, variants) }
        writer.member("external_id", externalID)
        writer.memberRaw("metadata", metadata)
        writer.member("status_reason_code", reason.map { variants.failureCodes.apply($0.code) })
        writer.member("status_reason_message", reason?.message)
        writer.member("created_by", createdBy)
        writer.member("created_at", createdAt.text)
        writer.member("updated_at", updatedAt.text)
    }

    private func writeDetails(to writer: inout JSONWriter, _ variants: Variants) {
        writer.member("status", detailsText(variants))
        writer.member("customer", customer)
        writer.member("institution", institution)
        writer.member("platform", platform)
        writer.member("name", name)
        writer.member("callback_url", callbackURL)
        writer.member("redirect_url", redirectURL)
        switch variants.riskSignals {
        case .masked: writer.member("risk_signals", "*****")
        case .object: writer.memberObject("risk_signals") { $0.member("deviceId", deviceID) }
        }
        writer.memberNull("expires_at")
        guard redirection.completedAt != nil else { return writer.memberNull("payer_information") }
        writer.memberObject("payer_information") { payer in
            payer.memberObject("bank_account") { account in
                account.member("institution_id", institution)
                account.member("agency", "1234")
                account.member("number", "*****6789")
                account.member("account_type", "CHECKINGS")
            }
        }
    }

    private func detailsText(_ variants: Variants) -> String {
        switch details {
        case .awaitingAccountHolder: "AWAITING_ACCOUNT_HOLDER_VALIDATION"
        case .awaitingEnrollment: "AWAITING_ENROLLMENT"
        case .authorized: variants.authorizedSpelling.rawValue
        case .rejected: "REJECTED"
        case .revoked: "REVOKED"
        }
    }
}

extension LetterCase {
    func apply(_ code: String) -> String {
        switch self {
        case .lower: code.lowercased()
        case .upper: code.uppercased()
        }
    }
}
