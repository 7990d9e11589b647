import HTTP
import JSON

extension Client {
    /// Creates a payment intent, which moves no money yet (belvo-api.md §6.1).
    public func createPaymentIntent(
        _ intent: NewPaymentIntent,
        trace: TraceParent? = nil
    ) async throws(BelvoError) -> PaymentIntent {
        var request = post(Path.paymentIntents, body(intent), trace)
        request.headers.append("belvo-idempotency-key", intent.idempotencyKey.lowercased)
        return try await object(.createPaymentIntent, request) { (answer) throws(MalformedAnswer) in
            try created(PaymentIntent(answer), as: intent.externalID, \.externalID)
        }
    }

    /// Hands over the person's consent: the call that moves money (belvo-api.md §6.2).
    ///
    /// It can be done once: the challenge is used up. Returning means that Belvo works on it; whether the
    /// payment succeeds is for `readPaymentIntent` to show.
    public func authorizePaymentIntent(
        _ id: PaymentIntent.ID,
        _ authorization: Authorization,
        trace: TraceParent? = nil
    ) async throws(BelvoError) {
        let body = JSONWriter.object {
            if let platform = authorization.platform {
                switch configuration.dialect.authorizePlatform {
                case .omitted: break
                case .uppercase: $0.member("platform", platform.rawValue)
                case .lowercase: $0.member("platform", platform.rawValue.lowercased())
                }
            }
            $0.memberRaw("risk_signals", authorization.riskSignals.bytes)
            $0.memberRaw("assertion", authorization.assertion.bytes)
        }
        let request = post(Path.authorization(id), body, trace)
        try await acknowledgement(.authorizePaymentIntent, request)
    }

    /// Reads one payment intent, by Belvo's id: the authority on whether money moved.
    public func readPaymentIntent(
        _ id: PaymentIntent.ID,
        trace: TraceParent? = nil
    ) async throws(BelvoError) -> PaymentIntent {
        try await object(.readPaymentIntent, get(Path.paymentIntent(id), trace)) { (answer) throws(MalformedAnswer) in
            try asked(PaymentIntent(answer), for: id, \.id)
        }
    }

    /// Finds the intents that were created with an `external_id`. None means that Belvo's whole list was read and
    /// holds none; a list may lag behind a creation.
    public func findPaymentIntents(
        externalID: String,
        trace: TraceParent? = nil
    ) async throws(BelvoError) -> FoundByName<PaymentIntent> {
        let request = get(Path.paymentIntents, query: ["external_id": externalID], trace)
        return try await found(.findPaymentIntents, request, externalID: externalID, reading: PaymentIntent.init)
    }

    private func body(_ intent: NewPaymentIntent) -> [UInt8] {
        JSONWriter.object {
            let amount = Centavos.text(intent.amountCentavos)
            switch configuration.dialect.amount {
            case .number: $0.memberRaw("amount", amount.utf8)
            case .string: $0.member("amount", amount)
            }
            $0.memberArray("allowed_payment_method_types") { $0.element(paymentMethod) }
            switch configuration.dialect.intentCustomer {
            case .id: $0.member("customer", intent.customer.description)
            case .omitted: break
            }
            $0.member("description", intent.purpose)
            $0.member("statement_description", intent.statementDescription)
            $0.member("external_id", intent.externalID)
            if let metadata = intent.metadata { $0.memberRaw("metadata", metadata.bytes) }
            $0.memberObject("payment_method_details") {
                $0.memberObject(paymentMethod) {
                    $0.member("beneficiary_bank_account", intent.beneficiaryBankAccount.description)
                    $0.member("enrollment", intent.enrollment.description)
                }
            }
            $0.member("confirm", true)
        }
    }
}
