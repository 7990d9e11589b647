/// One payment, asked for and perhaps made (belvo-api.md §6.1).
///
/// Belvo's answer to a creation shows little more than `id`, `status` and the FIDO options. Before a payment is
/// believed to have succeeded, the caller compares everything with what it asked for: a member that is nil
/// was left out, and proves nothing.
public struct PaymentIntent: Sendable, Equatable, Redacted {
    public typealias ID = Identity<PaymentIntent>

    public let id: ID
    /// The identity that we gave it.
    public let externalID: String?
    public let status: PaymentIntentStatus
    public let amountCentavos: Int64?
    /// ISO 4217; `BRL`.
    public let currency: String?
    public let customer: Customer.ID?
    public let beneficiaryBankAccount: BankAccount.ID?
    public let enrollment: Enrollment.ID?
    public let biometricPix: BiometricPix
    /// The text that the person reads while paying: Belvo's `description`.
    public let purpose: String?
    public let statementDescription: String?
    /// Why it failed: a word to be compared without regard to case, and free text beside it.
    public let failureCode: String?
    public let failureMessage: String?
    public let metadata: RawJSON?
    /// Its charges, as far as the answer shows them.
    public let charges: [PartialCharge]
    /// ISO 8601 as Belvo wrote them.
    public let createdAt: String?
    public let updatedAt: String?

    public var description: String { "payment intent \(id) \(status.word)" }

    /// A charge in an intent. Belvo may leave out any of its members.
    public struct PartialCharge: Sendable, Equatable {
        public let id: Charge.ID?
        public let status: ChargeStatus
        public let amount: ChargedAmount
        /// The transfer's identity in Pix.
        public let endToEndID: String?
    }

    /// `payment_method_information.open_finance_biometric_pix`. Belvo may leave out any of it.
    public struct BiometricPix: Sendable, Equatable, Redacted {
        public let provider: String?
        public let consentID: String?
        /// Nil until Belvo has them: read the intent again.
        public let fidoOptions: FIDOOptions?
        /// The payment's identity in Pix, exactly as written: it is case-sensitive.
        public let endToEndID: String?
        public let externalPaymentID: String?
        public let providerRequestID: String?
    }
}

extension PaymentIntent {
    init(_ answer: Answer) throws(MalformedAnswer) {
        id = try answer.id()
        externalID = try answer.exact("external_id")
        status = PaymentIntentStatus(answer.word("status") ?? "")
        amountCentavos = try answer.centavos("amount")
        currency = try answer.exact("currency", bytesMax: 16)
        customer = try answer.reference("customer")
        let details = try answer.object("payment_method_details")?.object(paymentMethod)
        beneficiaryBankAccount = try details?.reference("beneficiary_bank_account")
        enrollment = try details?.reference("enrollment")
        biometricPix = try BiometricPix(answer.object("payment_method_information")?.object(paymentMethod))
        purpose = answer.plain("description")
        statementDescription = answer.plain("statement_description")
        (failureCode, failureMessage) = answer.failure(code: "failure_code", message: "failure_message")
        metadata = answer.raw("metadata")
        charges = answer.objects("charges").map { charge in
            let information = try? charge.object("payment_method_information")?.object(paymentMethod)
            return PartialCharge(
                id: try? charge.id(), status: ChargeStatus(charge.word("status")),
                amount: ChargedAmount(charge),
                endToEndID: try? information?.exact("end_to_end_id", bytesMax: 100))
        }
        createdAt = answer.plain("created_at", scalarsMax: 40)
        updatedAt = answer.plain("updated_at", scalarsMax: 40)
    }
}

extension PaymentIntent.BiometricPix {
    fileprivate init(_ answer: Answer?) throws(MalformedAnswer) {
        provider = answer?.word("provider")
        consentID = try answer?.opaqueID("consent_id")
        fidoOptions = try answer?.object("fido_options").flatMap(FIDOOptions.init)
        endToEndID = try answer?.exact("end_to_end_id", bytesMax: 100)
        externalPaymentID = try answer?.opaqueID("external_payment_id")
        providerRequestID = try answer?.opaqueID("provider_request_id")
    }
}

/// An account at a bank; the merchant's own is a matter of configuration.
public enum BankAccount {
    public typealias ID = Identity<BankAccount>
}
