import FoundationEssentials
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

    /// Each code of belvo-api.md, §5 and then §6.5, and each of our own.
    @Test(
        arguments: [
            ("SEND_RISK_SIGNALS_FAILED", .now), ("REDIRECTION_TO_INSTITUTION_FAILED", .now),
            ("REDIRECTION_BACK_FROM_INSTITUTION_FAILED", .now), ("BIOMETRIC_REGISTRATION_FAILED", .now),
            ("BIOMETRIC_VALIDATION_ERROR", .now), ("TOO_MANY_DEVICE_REGISTRATION_ATTEMPTS", .later),
            ("REJECTED_BY_USER", .now), ("DEVICE_NOT_SUPPORTS_BIOMETRIC_AUTHENTICATION", .otherBank),
            ("INSTITUTION_INFRA_FAILED", .later), ("BLOCKED_BY_INSTITUTION_SECURITY_POLICY", .otherBank),
            ("REJECTED_OTHER", .contactBank), ("CANCELED_DUE_TO_EXPIRATION", .now), ("UNEXPECTED", .later),

            ("consent_expired", .now), ("beneficiary_bank_revoked_authorization", .later), ("invalid_pix_key", .later),
            ("insufficient_funds", .insufficientFunds), ("amount_over_limit", .limit),
            ("beneficiary_account_blocked", .later), ("beneficiary_account_closed", .later),
            ("beneficiary_account_error", .later), ("beneficiary_account_number_invalid", .later),
            ("beneficiary_account_type_invalid", .later), ("beneficiary_account_type_not_supported", .later),
            ("beneficiary_bank_rejected_charge", .later), ("beneficiary_cancelled_recurring_payment", .later),
            ("beneficiary_identifier_invalid", .later), ("beneficiary_identifier_mismatch", .later),
            ("charge_settlement_failed", .later), ("charge_settlement_timeout", .later),
            ("duplicate_beneficiary_charge", .later), ("fraud_suspected", .contactBank),
            ("payer_account_timeout_error", .later), ("account_not_allowed", .otherBank),
            ("authorization_expired", .now), ("bank_user_mismatch", .enrollAgain),

            ("timed_out", .now), ("canceled", .now), ("not_sent", .now), ("not_let_in", .now), ("creation_lost", .now),
            ("refused", .later),
        ] as [(String, RetryReason)])
    func `every documented code has its reason on purpose, and not for want of one`(
        code: String, reason: RetryReason
    ) {
        #expect(RetryReason(failureCode: code) == reason)
        // Also those that lead to `later`, which is what a code unknown to us gives.
        #expect(reason.failureCodes.contains(code.lowercased()))
    }

    @Test(arguments: RetryReason.allCases)
    func `the texts of a reason are a short title and whole sentences`(reason: RetryReason) {
        let text = reason.text
        for title in text.title.all {
            #expect((3...40).contains(title.count) && !title.hasSuffix(".") && title.first?.isLowercase == false)
        }
        for sentence in text.sentence.all {
            #expect(
                (20...160).contains(sentence.count) && sentence.hasSuffix(".") && sentence.first?.isUppercase == true)
            #expect(!sentence.contains("  "))
        }
        #expect(Set(text.sentence.all).count == 3)
    }

    @Test func `no two reasons say the same`() {
        let texts = RetryReason.allCases.map(\.text)
        #expect(Set(texts.flatMap(\.title.all)).count >= 3 * texts.count - 1)  // "Saldo insuficiente" is both.
        #expect(Set(texts.flatMap(\.sentence.all)).count == 3 * texts.count)
    }

    @Test func `the tables of the documentation are those of the source`() throws {
        let root = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let file = try #require(FileManager.default.contents(atPath: root + "/docs/retry-reasons.md"))
        let rows = String(decoding: file, as: UTF8.self).split(separator: "\n").filter { $0.hasPrefix("|") }
        #expect(
            rows.map(String.init) == Self.tables,
            "docs/retry-reasons.md should have:\n\(Self.tables.joined(separator: "\n"))")
    }

    /// Every row of both tables, in order.
    private static var tables: [String] {
        let reasons = RetryReason.allCases.map { reason in
            let codes = reason.failureCodes.map { "`\($0)`" }.joined(separator: ", ")
            return "| `\(reason.rawValue)` | \(reason.occasion) | \(codes.isEmpty ? "–" : codes) |"
        }
        let texts = RetryReason.allCases.flatMap { reason in
            zip(["pt-BR", "en", "es"], zip(reason.text.title.all, reason.text.sentence.all)).map { language, text in
                "| `\(reason.rawValue)` | \(language) | \(text.0) | \(text.1) |"
            }
        }
        return ["| reason | when it happens | codes that lead to it |", "|---|---|---|"] + reasons
            + ["| reason | language | title | sentence |", "|---|---|---|---|"] + texts
    }
}

extension RetryText.Wording {
    fileprivate var all: [String] { [portuguese, english, spanish] }
}
