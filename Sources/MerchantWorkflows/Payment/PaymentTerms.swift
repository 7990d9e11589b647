import Belvo
import FoundationEssentials
import MerchantStore
import Payments

/// The price and the texts of a payment: the order's where there is one, else the app's.
struct PaymentTerms: Sendable {
    let amount: Money
    let description: PaymentDescription
    let statementDescription: StatementDescription
    /// The order that they are from.
    let order: Order?
}

/// The enrollment that a payment is made from and its customer, by Belvo's ids.
struct PayingEnrollment: Sendable {
    let id: UUID
    let customer: UUID
    /// Whether this request has read it at Belvo: then the payment's creation goes on.
    let wasRead: Bool
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

extension PaymentWorkflow {
    /// The order that the request's reference names, if there is one.
    func order(of requested: CreateRequest) async throws -> StoredOrder? {
        guard let reference = requested.reference else { return nil }
        return try await dependencies.store.order(reference)
    }

    /// The terms of a request (merchant-api.md, `POST /v1/payment-intents` and "Fine points").
    func terms(
        of requested: CreateRequest, under order: StoredOrder?, for subject: UserSubject
    ) throws -> PaymentTerms {
        let terms =
            try order.map { try orderedTerms(of: requested, under: $0, for: subject) } ?? ownTerms(of: requested)
        guard terms.amount <= dependencies.policy.paymentMax else {
            throw WorkflowRefusal.amountTooHigh(max: dependencies.policy.paymentMax)
        }
        return terms
    }

    private func orderedTerms(
        of requested: CreateRequest, under stored: StoredOrder, for subject: UserSubject
    ) throws -> PaymentTerms {
        let order = stored.order
        // Another user's order is not shown.
        guard order.subject == subject else { throw WorkflowRefusal.orderUnknown }
        guard stored.status != .expired else { throw WorkflowRefusal.orderExpired }
        let statement = order.statementDescription ?? StatementDescription(order.description)
        var differences: [String] = []
        if let amount = requested.amount, amount != order.amount { differences.append("amount") }
        if let description = requested.description, description != order.description {
            differences.append("description")
        }
        if let wanted = requested.statementDescription, wanted != statement {
            differences.append("statement_description")
        }
        guard differences.isEmpty else { throw WorkflowRefusal.differsFromOrder(differences) }
        return PaymentTerms(
            amount: order.amount, description: order.description, statementDescription: statement, order: order)
    }

    /// The app's own terms, where the merchant allows them.
    private func ownTerms(of requested: CreateRequest) throws -> PaymentTerms {
        guard !dependencies.policy.requiresOrders else {
            throw requested.reference == nil ? WorkflowRefusal.orderRequired : .orderUnknown
        }
        guard let amount = requested.amount, let description = requested.description else {
            let missing = [
                requested.amount == nil ? "amount" : nil, requested.description == nil ? "description" : nil,
            ]
            throw WorkflowRefusal.termsMissing(missing.compactMap { $0 })
        }
        return PaymentTerms(
            amount: amount, description: description,
            statementDescription: requested.statementDescription ?? StatementDescription(description), order: nil)
    }
}
