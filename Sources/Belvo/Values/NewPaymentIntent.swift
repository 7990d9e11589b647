import struct FoundationEssentials.UUID

/// The members with which a payment intent is created (belvo-api.md §6.1).
public struct NewPaymentIntent: Sendable, Redacted {
    /// The identity under which the intent can be found again.
    public var externalID: String
    /// Sent as `Belvo-Idempotency-Key`: the same for every sending of one attempt, another for another attempt.
    public var idempotencyKey: UUID
    public var amountCentavos: Int64
    public var customer: Customer.ID
    public var enrollment: Enrollment.ID
    /// The account that is paid. It is the merchant's own and never comes from an app.
    public var beneficiaryBankAccount: BankAccount.ID
    /// The text that the person reads while paying: Belvo's `description`.
    public var purpose: String
    /// The text on the bank's statement: Belvo's `statement_description`.
    public var statementDescription: String
    public var metadata: RawJSON?

    public init(
        externalID: String,
        idempotencyKey: UUID,
        amountCentavos: Int64,
        customer: Customer.ID,
        enrollment: Enrollment.ID,
        beneficiaryBankAccount: BankAccount.ID,
        purpose: String,
        statementDescription: String,
        metadata: RawJSON? = nil
    ) {
        self.externalID = externalID
        self.idempotencyKey = idempotencyKey
        self.amountCentavos = amountCentavos
        self.customer = customer
        self.enrollment = enrollment
        self.beneficiaryBankAccount = beneficiaryBankAccount
        self.purpose = purpose
        self.statementDescription = statementDescription
        self.metadata = metadata
    }
}

/// The data of a person's device that authorize a payment (belvo-api.md §6.2). Both parts are passed on
/// untouched.
public struct Authorization: Sendable, Redacted {
    /// Collected afresh for this payment.
    public var riskSignals: RawJSON
    /// The authenticator's signature over the intent's challenge.
    public var assertion: RawJSON
    /// The device's platform, sent only where it is known and `Dialect.authorizePlatform` says so.
    public var platform: Platform?

    public init(riskSignals: RawJSON, assertion: RawJSON, platform: Platform?) {
        self.riskSignals = riskSignals
        self.assertion = assertion
        self.platform = platform
    }
}
