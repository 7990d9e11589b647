/// The price and the texts of what a user is to pay, as the merchant's shop sets them (merchant-api.md, "Endpoints for
/// others" and "Fine points").
public struct Order: Sendable, Equatable {
    /// How far an order is, by the payments for it.
    public enum Status: String, CaseIterable, Sendable {
        /// It may be paid.
        case open
        /// A payment for it is open.
        case live
        /// A payment for it was authorized, and its outcome is unknown.
        case inDoubt = "in_doubt"
        case paid
        /// Money has arrived for its reference that is not its own payment, once: another amount, or twice.
        case disputed
        /// Its time is over, and it was not paid.
        case expired
    }

    public let reference: Reference
    /// The user that may pay it.
    public let subject: UserSubject
    public let amount: Money
    public let description: PaymentDescription
    /// The text on the account statement; the description where the shop left it out.
    public let statementDescription: StatementDescription?
    /// From when on no payment for it may begin.
    public let expiresAt: Timestamp?

    public init(
        reference: Reference, subject: UserSubject, amount: Money, description: PaymentDescription,
        statementDescription: StatementDescription?, expiresAt: Timestamp?
    ) {
        self.reference = reference
        self.subject = subject
        self.amount = amount
        self.description = description
        self.statementDescription = statementDescription
        self.expiresAt = expiresAt
    }
}
