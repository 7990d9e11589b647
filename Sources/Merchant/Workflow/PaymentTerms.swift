import Belvo
import FoundationEssentials
import Payments

/// What a payment costs and what it is called: the shop's word where there is an order, else the app's.
struct PaymentTerms: Sendable {
    let amount: Money
    let description: PaymentDescription
    let statementDescription: StatementDescription
    /// The order that they are from.
    let order: Order?
}

/// What a payment is made from, by Belvo's ids.
struct Bond: Sendable {
    let enrollment: UUID
    /// The customer.
    let payer: UUID
}

extension NewPaymentIntent {
    /// How Belvo is asked for a payment that was remembered; nil for one that was made without us.
    init?(_ payment: Payment) throws {
        guard let key = payment.belvoIdempotencyKey, let enrollment = payment.parties.enrollment,
            let account = payment.parties.beneficiaryBankAccount, let purpose = payment.description,
            let statement = payment.statementDescription
        else { return nil }
        self.init(
            externalID: payment.id.description, idempotencyKey: key, amountCentavos: payment.amount.centavos,
            customer: Belvo.Customer.ID(payment.parties.customer), enrollment: Belvo.Enrollment.ID(enrollment),
            beneficiaryBankAccount: Belvo.BankAccount.ID(account), purpose: purpose.text,
            statementDescription: statement.text,
            metadata: try payment.metadata.map { try RawJSON(parsing: $0.json) })
    }
}

extension PaymentJourney {
    /// The terms of a wish (merchant-api.md, `POST /v1/payment-intents` and "Fine points").
    func terms(of wish: Wish, for subject: UserSubject) async throws -> PaymentTerms {
        let terms = try await orderedTerms(of: wish, for: subject) ?? ownTerms(of: wish)
        guard terms.amount <= world.policy.paymentMax else {
            throw JourneyRefusal.amountTooHigh(max: world.policy.paymentMax)
        }
        return terms
    }

    /// The terms of the order that the wish's reference names, if there is one.
    private func orderedTerms(of wish: Wish, for subject: UserSubject) async throws -> PaymentTerms? {
        guard let reference = wish.reference, let stored = try await world.store.order(reference) else { return nil }
        let order = stored.order
        // Whose it is instead is nobody's business.
        guard order.subject == subject else { throw JourneyRefusal.orderUnknown }
        guard stored.status != .expired else { throw JourneyRefusal.orderExpired }
        let statement = order.statementDescription ?? StatementDescription(order.description)
        var differences: [String] = []
        if let amount = wish.amount, amount != order.amount { differences.append("amount") }
        if let description = wish.description, description != order.description { differences.append("description") }
        if let wanted = wish.statementDescription, wanted != statement { differences.append("statement_description") }
        guard differences.isEmpty else { throw JourneyRefusal.differsFromOrder(differences) }
        return PaymentTerms(
            amount: order.amount, description: order.description, statementDescription: statement, order: order)
    }

    /// The app's own terms, where the merchant allows them.
    private func ownTerms(of wish: Wish) throws -> PaymentTerms {
        guard !world.policy.requiresOrders else {
            throw wish.reference == nil ? JourneyRefusal.orderRequired : .orderUnknown
        }
        guard let amount = wish.amount, let description = wish.description else {
            let missing = [wish.amount == nil ? "amount" : nil, wish.description == nil ? "description" : nil]
            throw JourneyRefusal.termsMissing(missing.compactMap { $0 })
        }
        return PaymentTerms(
            amount: amount, description: description,
            statementDescription: wish.statementDescription ?? StatementDescription(description), order: nil)
    }
}
