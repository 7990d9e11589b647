import Belvo
import Testing

/// The vocabularies of belvo-api.md §5 and §6.3, and what is none of their words.
struct StatusTests {
    @Test(
        arguments: [
            ("PENDING", .pending), ("SUCCEEDED", .succeeded), ("FAILED", .failed), ("CANCELED", .canceled),
            ("succeeded", .unknown("succeeded")), ("SUCCEEDED ", .unknown("SUCCEEDED ")), ("", .unknown("")),
        ] as [(String, EnrollmentStatus)]
    )
    func `an enrollment's status is one of its words or unknown`(word: String, status: EnrollmentStatus) {
        #expect(EnrollmentStatus(word) == status)
        #expect(EnrollmentStatus(word).word == word)
    }

    @Test(
        arguments: [
            ("AWAITING_RISK_SIGNALS", .awaitingRiskSignals),
            ("AWAITING_ACCOUNT_HOLDER_VALIDATION", .awaitingAccountHolderValidation),
            ("AWAITING_ENROLLMENT", .awaitingEnrollment), ("AUTHORIZED", .authorized), ("REJECTED", .rejected),
            ("REVOKED", .revoked), ("ERROR", .error), ("LIMBO", .unknown("LIMBO")),
        ] as [(String, EnrollmentDetailsStatus)]
    )
    func `the bank's status is one of its words or unknown`(word: String, status: EnrollmentDetailsStatus) {
        #expect(EnrollmentDetailsStatus(word) == status)
        #expect(EnrollmentDetailsStatus(word).word == word)
    }

    @Test func `the British spelling of authorized is understood`() {
        #expect(EnrollmentDetailsStatus("AUTHORISED") == .authorized)
    }

    @Test(
        arguments: [
            ("PENDING", .pending), ("REQUIRES_PAYMENT_METHOD", .requiresPaymentMethod),
            ("REQUIRES_ACTION", .requiresAction), ("PROCESSING", .processing), ("SCHEDULED", .scheduled),
            ("SUCCEEDED", .succeeded), ("FAILED", .failed), ("CANCELED", .canceled),
            ("SCHEDULE_FINISHED", .scheduleFinished), ("SETTLED", .unknown("SETTLED")), ("Failed", .unknown("Failed")),
        ] as [(String, PaymentIntentStatus)]
    )
    func `a payment intent's status is one of its words or unknown`(word: String, status: PaymentIntentStatus) {
        #expect(PaymentIntentStatus(word) == status)
        #expect(PaymentIntentStatus(word).word == word)
    }

    @Test(arguments: [
        (#","status":"SETTLING""#, "SETTLING"), (#","status":7"#, "UNREADABLE"),
        (#","status":{"a":1}"#, "UNREADABLE"), (#","status":null"#, ""), ("", ""),
        (#","status":"A\u0007\u202eB""#, "UNREADABLE"), (#","status":"Ana 529.982.247-25""#, "UNREADABLE"),
        (#","status":"\#(String(repeating: "X", count: 200))""#, "UNREADABLE"),
    ])
    func `a status that is none keeps the object and its id`(member: String, word: String) async throws {
        let belvo = Upstream(
            reply(200, #"{"id":"\#(Sample.intent)"\#(member)}"#),
            reply(200, #"{"id":"\#(Sample.enrollment)"\#(member)}"#)
        )
        let client = try belvo.client()
        #expect(try await client.readPaymentIntent(Sample.id(Sample.intent)).status == .unknown(word))
        #expect(try await client.readEnrollment(Sample.id(Sample.enrollment)).status == .unknown(word))
    }

    @Test(
        arguments: [
            (nil, .waiting), ("CREATED", .waiting), ("PENDING", .waiting), ("PROCESSING", .underWay),
            ("SCHEDULED", .underWay), ("SUCCEEDED", .collected), ("settled", .collected), ("FAILED", .ended),
            ("CANCELED", .ended), ("PAID_OUT", .unknown("PAID_OUT")),
        ] as [(String?, ChargeStatus)]
    )
    func `a charge's status says where its money is, or is unknown`(word: String?, status: ChargeStatus) {
        #expect(ChargeStatus(word) == status)
    }

    @Test(arguments: [("INFLOW", true), ("credit", true), ("OUTFLOW", false), ("DEBIT", false), ("TRANSFER", nil)])
    func `a transaction's type says whether money came in, or says nothing`(word: String, isInflow: Bool?) {
        #expect(Transaction.isInflow(word) == isInflow)
    }
}
