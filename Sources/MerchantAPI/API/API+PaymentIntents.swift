import Belvo
import FoundationEssentials
import HTTP
import JSON
import MerchantModel
import MerchantStore
import MerchantWorkflows
import Payments

extension API {
    private var payments: PaymentWorkflow { PaymentWorkflow(dependencies: dependencies) }

    /// `POST /v1/payment-intents`
    func createPaymentIntent(_ inbound: Inbound, _ subject: UserSubject) async throws -> Response {
        let key = try IdempotencyKey.required(in: inbound.request)
        let reader = try inbound.json()
        let enrollment = reader.read("enrollment") { (value) throws(JSONFault) in
            guard let text = value.string else {
                throw JSONFault(code: "wrong_type", message: "This has to be a string.")
            }
            guard let id = Enrollment.ID(text) else {
                throw JSONFault(code: "not_found", message: "There is no such enrollment.")
            }
            return id
        }
        let reference = reader.optionalText("reference", Reference.init)
        let amount = reader.amount("amount")
        let description = reader.optionalText("description", PaymentDescription.init)
        let statement = reader.optionalText("statement_description", StatementDescription.init)
        let metadata = reader.metadata()
        // With an order, which the reference names, the price and the texts are the order's; without, the app's.
        if !dependencies.policy.requiresOrders, reference == nil {
            if amount == nil { _ = reader.value("amount") }
            if description == nil { _ = reader.value("description") }
        }
        if let amount, amount.centavos <= 0 {
            reader.refuse("amount", code: "too_low", "An amount is at least 0.01.")
        }
        guard let enrollment, reader.isFaultless else { throw reader.faults }
        let requested = PaymentWorkflow.CreateRequest(
            enrollment: enrollment, reference: reference, amount: amount, description: description,
            statementDescription: statement, metadata: metadata)
        let pause = pollInterval
        // Without its challenge there is nothing to sign yet: the app polls, as after a 202.
        let body = { @Sendable (payment: Stored<Payment>) in payment.json(pollAfter: pause) }
        let request = keyed(
            key, on: .paymentIntents, of: subject, inbound,
            canonical: requested.canonical(metadata: canonical(requested.metadata?.json)), body: body)
        return answer(
            try await payments.create(requested, by: subject, as: request, on: callContext(inbound)), body: body)
    }

    /// `GET /v1/payment-intents?status=&reference=`
    func listPaymentIntents(_ inbound: Inbound, _ subject: UserSubject) async throws -> Response {
        let query = try inbound.query(["status", "reference", "limit", "cursor"])
        let limit = try query.limit()
        let found = try await dependencies.store.payments(
            of: subject, where: Store.PaymentFilter(status: try query.status(), reference: query["reference"]),
            before: try query.cursor(), limit: limit + 1)
        return page(found, limit: limit, id: \.id.uuid) { $0.write(to: &$1, pollAfter: pollInterval) }
    }

    /// `GET /v1/payment-intents/{id}`
    func getPaymentIntent(_ inbound: Inbound, _ subject: UserSubject) async throws -> Response {
        _ = try inbound.query(["wait"])
        return try await fetch(.payment(inbound.id()), of: subject).answer(to: inbound)
    }

    /// `POST /v1/payment-intents/{id}/authorize`
    func authorizePaymentIntent(_ inbound: Inbound, _ subject: UserSubject) async throws -> Response {
        let reader = try inbound.json()
        let signals = RiskSignals(reader)
        let assertion = Credential.assertion(reader)
        let platform = reader.optionalPlatform()
        guard let signals, let assertion, let clientData = assertion.clientData, reader.isFaultless else {
            throw reader.faults
        }
        if let platform { try await require(platform, of: inbound.id(), subject) }
        let progress = try await payments.authorize(
            inbound.id(), of: subject, with: assertion.raw, riskSignals: signals.raw,
            digest: digest(assertion.value, for: .assertion), clientData: clientData, on: callContext(inbound))
        switch progress {
        case .done: return Response(.noContent)
        case .pending(let payment): return resource(.accepted, payment.json(pollAfter: pollInterval))
        }
    }

    /// Throws unless the payment's enrollment was made on this platform: an app that says another one is not the app
    /// that was enrolled. What is sent to Belvo is the enrollment's own.
    private func require(_ platform: Enrollment.Platform, of id: Payment.ID, _ subject: UserSubject) async throws {
        guard let payment = try await dependencies.store.payment(id, of: subject) else { throw APIError.notFound }
        guard let enrollmentID = payment.record.enrollment,
            let enrolled = try await dependencies.store.enrollment(enrollmentID, of: subject)?.record.platform
        else { return }
        guard enrolled == platform else {
            throw APIError.invalid("/platform", "differs", "The enrollment was made on \(enrolled.rawValue).")
        }
    }

    /// `POST /v1/payment-intents/{id}/cancel`
    func cancelPaymentIntent(_ inbound: Inbound, _ subject: UserSubject) async throws -> Response {
        // There is nothing to say beside the id: an empty object says as much as no body.
        if !inbound.request.body.isEmpty {
            let reader = try inbound.json()
            guard reader.isFaultless else { throw reader.faults }
        }
        let progress = try await payments.cancel(inbound.id(), of: subject, on: callContext(inbound))
        let body = progress.resource.json(pollAfter: pollInterval)
        if case .pending = progress { return resource(.accepted, body) }
        return resource(.ok, body)
    }
}

extension PaymentWorkflow.CreateRequest {
    /// The request in one spelling, however the app spelled it.
    fileprivate func canonical(metadata: [UInt8]?) -> [UInt8] {
        JSONWriter.object { text in
            text.member("enrollment", enrollment.description)
            text.member("reference", reference?.text)
            text.member("amount", amount?.description)
            text.member("description", description?.text)
            text.member("statement_description", statementDescription?.text ?? description?.text)
            text.memberRaw("metadata", json: metadata)
        }
    }
}

extension JSONReader {
    /// The platform that Belvo's SDKs name beside a signature, in capitals or small letters (belvo-api.md §6.2).
    fileprivate func optionalPlatform() -> Enrollment.Platform? {
        readOptional("platform") { (value) throws(JSONFault) in
            let known = Enrollment.Platform.allCases
            let named = known.first { [$0.rawValue, $0.rawValue.lowercased()].contains(value.string) }
            guard let named else {
                let names = known.map(\.rawValue).joined(separator: ", ")
                throw JSONFault(code: "not_allowed", message: "A platform is one of \(names).")
            }
            return named
        }
    }
}
