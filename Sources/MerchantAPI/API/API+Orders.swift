import HTTP
import JSON
import MerchantModel
import MerchantStore
import MerchantWorkflows
import Payments

// What the merchant's shop asks (merchant-api.md, "Endpoints for others").
extension API {
    private var orders: OrderWorkflow { OrderWorkflow(dependencies: dependencies) }

    /// Lets only the shop in. Without a `SHOP_TOKEN` there is no such endpoint.
    func requireShop(_ inbound: Inbound) throws {
        guard let shop = dependencies.policy.shop else { throw APIError.notFound }
        try access.check(shop, of: inbound.request, from: inbound.client)
    }

    /// `PUT /orders/{reference}`
    func putOrder(_ inbound: Inbound) async throws -> Response {
        let reference = try inbound.reference()
        let reader = try inbound.json()
        let subject = reader.text("subject", UserSubject.init)
        let amount = reader.amount("amount")
        if amount == nil { _ = reader.value("amount") }
        let description = reader.text("description", PaymentDescription.init)
        let statement = reader.optionalText("statement_description", StatementDescription.init)
        let expiresAt = reader.optionalText("expires_at") { (text) throws(Timestamp.Fault) in try Timestamp(text) }
        if let amount, amount.centavos <= 0 {
            reader.refuse("amount", code: "too_low", "An amount is at least 0.01.")
        }
        if let amount, amount > dependencies.policy.paymentMax {
            reader.refuse(
                "amount", code: "too_high",
                "A payment without redirection is at most \(dependencies.policy.paymentMax) BRL.")
        }
        guard let subject, let amount, let description, reader.isFaultless else { throw reader.faults }
        let (order, isNew) = try await orders.place(
            Order(
                reference: reference, subject: subject, amount: amount, description: description,
                statementDescription: statement, expiresAt: expiresAt))
        return resource(isNew ? .created : .ok, order.json)
    }

    /// `GET /orders/{reference}`
    func getOrder(_ inbound: Inbound) async throws -> Response {
        _ = try inbound.query([])
        return resource(.ok, try await orders.order(inbound.reference()).json)
    }
}

extension Inbound {
    /// The reference in the path; anything that can be none names nothing.
    fileprivate func reference() throws -> Reference {
        do {
            return try Reference(Target.unescaped(pathID ?? ""))
        } catch {
            throw APIError.notFound
        }
    }
}

extension StoredOrder {
    var json: [UInt8] {
        JSONWriter.object { body in
            body.member("reference", order.reference.text)
            body.member("subject", order.subject.text)
            body.member("amount", order.amount.description)
            body.member("currency", Money.currency)
            body.member("description", order.description.text)
            body.member("statement_description", (order.statementDescription ?? .init(order.description)).text)
            body.member("status", status.rawValue)
            body.member("payment_intent", payment?.description)
            body.member("expires_at", order.expiresAt?.description)
            body.member("created_at", createdAt)
            body.member("updated_at", updatedAt)
        }
    }
}
