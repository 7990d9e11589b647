import Belvo
import FoundationEssentials
import HTTP
import JSON
import Payments

extension API {
    private var payments: PaymentJourney { PaymentJourney(world: world) }

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
        // With orders the price and the texts are the order's; without, they are the app's.
        if !world.policy.requiresOrders {
            if amount == nil { _ = reader.value("amount") }
            if description == nil { _ = reader.value("description") }
        }
        if let amount, amount.centavos <= 0 {
            reader.refuse("amount", code: "too_low", "An amount is at least 0.01.")
        }
        guard let enrollment, reader.isFaultless else { throw reader.faults }
        guard let amount, let description else { throw JourneyRefusal.orderRequired }
        let wish = PaymentJourney.Wish(
            enrollment: enrollment, reference: reference, amount: amount, description: description,
            statementDescription: statement ?? StatementDescription(description), metadata: metadata)
        let claim = IdempotencyClaim(
            subject: subject, route: .paymentIntents, key: key,
            requestDigest: digest(wish.canonical, for: .idempotentRequest))
        let pause = pollInterval
        let requestID = inbound.requestID
        let creation = try await payments.create(
            wish, claiming: claim, on: occasion(inbound),
            answer: { payment in
                // Without its challenge there is nothing to sign yet: the app polls, as after any 202.
                StoredAnswer(status: HTTP.Status.created.code, body: payment.json(pollAfter: pause))
            },
            refusal: { error in
                let response = APIError(describing: error).response(requestID: requestID)
                return StoredAnswer(status: response.status.code, body: response.body)
            })
        switch creation {
        case .made(let progress), .known(let progress):
            let body = progress.resource.json(pollAfter: pollInterval)
            if case .pending = progress { return resource(.accepted, body) }
            return resource(.created, body)
        case .replayed(let answer): return replay(answer)
        }
    }

    /// `GET /v1/payment-intents?status=&reference=`
    func listPaymentIntents(_ inbound: Inbound, _ subject: UserSubject) async throws -> Response {
        let query = try inbound.query(["status", "reference", "limit", "cursor"])
        let limit = try query.limit()
        let found = try await world.store.payments(
            of: subject, where: Store.PaymentFilter(status: try query.status(), reference: query["reference"]),
            before: try query.cursor(), limit: limit + 1)
        return page(found, limit: limit, id: \.id.uuid) { $0.write(to: &$1, pollAfter: pollInterval) }
    }

    /// `GET /v1/payment-intents/{id}`
    func getPaymentIntent(_ inbound: Inbound, _ subject: UserSubject) async throws -> Response {
        _ = try inbound.query(["wait"])
        return try await look(at: .payment(inbound.id()), of: subject).answer(to: inbound)
    }

    /// `POST /v1/payment-intents/{id}/authorize`
    func authorizePaymentIntent(_ inbound: Inbound, _ subject: UserSubject) async throws -> Response {
        let reader = try inbound.json()
        let signals = RiskSignals(reader)
        let assertion = Credential(
            reader, "assertion", parts: ["authenticatorData", "clientDataJSON", "signature", "userHandle"])
        guard let signals, let assertion, let clientData = assertion.clientData, reader.isFaultless else {
            throw reader.faults
        }
        let progress = try await payments.authorize(
            inbound.id(), of: subject, with: RawJSON(assertion.value), riskSignals: signals.raw,
            digest: digest(assertion.value, for: .assertion), clientData: clientData, on: occasion(inbound))
        switch progress {
        case .done: return Response(.noContent)
        case .pending(let payment): return resource(.accepted, payment.json(pollAfter: pollInterval))
        }
    }

    /// An answer as it was given the first time, byte for byte.
    private func replay(_ answer: StoredAnswer) -> Response {
        var response = resource(HTTP.Status(parsed: answer.status) ?? .ok, answer.body)
        if answer.status >= 400 {
            response.headers = ["content-type": "application/problem+json"]
        }
        response.headers.append("idempotent-replayed", "true")
        return response
    }
}

/// What tells a repeated request from another one (IETF draft, The Idempotency-Key HTTP Header Field).
enum IdempotencyKey {
    static let lengths = 1...255

    /// The key, which the request must carry exactly once.
    static func required(in request: Request) throws(APIError) -> String {
        let values = request.headers.values("idempotency-key")
        guard let key = values.first else {
            throw APIError(.badRequest, "idempotency_key_required", "This request needs an Idempotency-Key.")
        }
        guard values.count == 1, lengths.contains(key.utf8.count),
            key.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else {
            throw APIError(
                .badRequest, "idempotency_key_malformed", "An Idempotency-Key is 1 to 255 visible ASCII characters.")
        }
        return key
    }
}

extension PaymentJourney.Wish {
    /// The wish in one spelling, however the app spelled it.
    fileprivate var canonical: [UInt8] {
        JSONWriter.object { text in
            text.member("enrollment", enrollment.description)
            text.member("reference", reference?.text)
            text.member("amount", amount.description)
            text.member("description", description.text)
            text.member("statement_description", statementDescription.text)
            // It was parsed before it became metadata, so it parses again.
            text.memberRaw(
                "metadata", json: metadata.flatMap { try? JSONDocument(parsing: $0.json).root.canonicalBytes() })
        }
    }
}
