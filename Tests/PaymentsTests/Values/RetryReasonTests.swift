import Payments
import Testing

struct RetryReasonTests {
    @Test(
        arguments: [
            (nil, .later),
            ("", .later),
            ("never_heard_of", .later),
            ("insufficient_funds", .insufficientFunds),
            ("INSUFFICIENT_FUNDS", .insufficientFunds),
            ("Insufficient_Funds", .insufficientFunds),
            ("amount_over_limit", .limit),
            ("consent_expired", .now),
            ("fraud_suspected", .contactBank),
            ("beneficiary_account_blocked", .later),
            ("BANK_USER_MISMATCH", .enrollAgain),
            ("CANCELED_DUE_TO_EXPIRATION", .now),
            ("TOO_MANY_DEVICE_REGISTRATION_ATTEMPTS", .later),
            ("DEVICE_NOT_SUPPORTS_BIOMETRIC_AUTHENTICATION", .otherBank),
            ("blocked_by_institution_security_policy", .otherBank),
            ("INSTITUTION_INFRA_FAILED", .later),
            ("REJECTED_BY_USER", .now),
            ("REJECTED_OTHER", .contactBank),
            ("timed_out", .now),
            ("creation_lost", .now),
        ] as [(String?, RetryReason)])
    func `a failure's code becomes advice whatever its case`(code: String?, reason: RetryReason) {
        #expect(RetryReason(failureCode: code) == reason)
    }

    @Test func `the words are those of the contract`() {
        #expect(
            RetryReason.allCases.map(\.rawValue) == [
                "now", "later", "other_bank", "enroll_again", "insufficient_funds", "limit", "contact_bank",
            ])
    }
}
