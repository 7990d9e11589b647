/// The user's options after a failure, in the few words that an app has to know.
public enum RetryReason: String, CaseIterable, Sendable {
    /// The same again, at once.
    case now
    /// The same again, after a while.
    case later
    case otherBank = "other_bank"
    case enrollAgain = "enroll_again"
    case insufficientFunds = "insufficient_funds"
    /// A smaller amount, or a higher limit at the bank.
    case limit
    /// Only the bank knows what stands in the way.
    case contactBank = "contact_bank"

    /// The advice for a `status_reason_code` or `failure_code` of Belvo's, or for one of our own.
    ///
    /// Belvo spells its codes in either case (belvo-api.md §5 and §6.5), so case does not matter. A code that
    /// is not known, or none, gives `later`: it sends no user to the bank in vain, nor into a loop of attempts.
    public init(failureCode code: String?) {
        self = code.flatMap { RetryReason.advice[$0.lowercased()] } ?? .later
    }

    /// The advice where Belvo refused the phone's registration, with this code or without one: the same can never
    /// succeed, so it is a new enrollment unless the bank itself stands in the way.
    public static func afterRefusedConfirmation(failureCode code: String?) -> RetryReason {
        switch RetryReason(failureCode: code) {
        case .otherBank: .otherBank
        case .contactBank: .contactBank
        case .now, .later, .enrollAgain, .insufficientFunds, .limit: .enrollAgain
        }
    }

    /// Every code that is known to lead to this advice, in lower case and sorted.
    public var failureCodes: [String] {
        RetryReason.advice.filter { $0.value == self }.keys.sorted()
    }

    private static let advice: [String: RetryReason] = [
        // Our own.
        "timed_out": .now,
        "canceled": .now,
        "not_sent": .now,
        "creation_lost": .now, "not_let_in": .now,
        // Belvo refused a request without a code.
        "refused": .later,
        "revoked": .enrollAgain,

        // Enrollments, belvo-api.md §5.
        "send_risk_signals_failed": .now,
        "redirection_to_institution_failed": .now,
        "redirection_back_from_institution_failed": .now,
        "biometric_registration_failed": .now,
        "biometric_validation_error": .now,
        "too_many_device_registration_attempts": .later,
        "rejected_by_user": .now,
        "device_not_supports_biometric_authentication": .otherBank,
        "institution_infra_failed": .later,
        "blocked_by_institution_security_policy": .otherBank,
        "rejected_other": .contactBank,
        "canceled_due_to_expiration": .now,
        "unexpected": .later,

        // Payments, belvo-api.md §6.5.
        "amount_over_limit": .limit,
        "insufficient_funds": .insufficientFunds,
        "fraud_suspected": .contactBank,
        "consent_expired": .now,
        "authorization_expired": .now,
        "payer_account_timeout_error": .later,
        "charge_settlement_failed": .later,
        "charge_settlement_timeout": .later,
        "account_not_allowed": .otherBank,
        "bank_user_mismatch": .enrollAgain,
        // What is wrong with the beneficiary, the merchant has to mend: another bank of the user's would not help.
        "beneficiary_account_blocked": .later,
        "beneficiary_account_closed": .later,
        "beneficiary_account_error": .later,
        "beneficiary_account_number_invalid": .later,
        "beneficiary_account_type_invalid": .later,
        "beneficiary_account_type_not_supported": .later,
        "beneficiary_bank_rejected_charge": .later,
        "beneficiary_bank_revoked_authorization": .later,
        "beneficiary_cancelled_recurring_payment": .later,
        "beneficiary_identifier_invalid": .later,
        "beneficiary_identifier_mismatch": .later,
        "duplicate_beneficiary_charge": .later,
        "invalid_pix_key": .later,
    ]
}
