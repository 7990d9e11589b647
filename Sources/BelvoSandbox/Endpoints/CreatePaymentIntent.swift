import HTTP
import JSON

extension SandboxState {
    /// `POST /payments/br/payment-intents/` (belvo-api.md §6.1). The same `Belvo-Idempotency-Key` gives the
    /// first answer again; only creations that succeeded are remembered.
    mutating func createPaymentIntent(_ call: Call) throws(Refusal) -> Response {
        let key = call.request.headers["belvo-idempotency-key"]
        let digest = Digest.sha256(call.request.body)
        if let key, variants.keyReuse != .forgotten, let first = replays[key] {
            guard variants.keyReuse == .replayed || first.bodyDigest == digest else {
                throw .conflict("The idempotency key was used with another body.")
            }
            calls.noteReplay()
            return first.response
        }
        let intent = try makeIntent(call)
        open(intent)
        let response = Answer.object(.created) {
            writeIntent(intent, to: &$0, showsFIDOOptions: variants.fidoOptions == .onCreation)
        }
        if let key { replays[key] = Replay(bodyDigest: digest, response: response) }
        return response
    }

    func writeIntent(_ intent: PaymentIntent, to writer: inout JSONWriter, showsFIDOOptions: Bool = true) {
        intent.write(
            to: &writer, charge: charges[intent.charge], transactions: transactions(of: intent.charge),
            createdBy: merchant, variants: variants, relyingParty: configuration.relyingParty,
            timeoutMilliseconds: configuration.consentLifetime.microseconds / 1000,
            showsFIDOOptions: showsFIDOOptions)
    }

    /// The money of a charge, oldest first.
    func transactions(of charge: String) -> [Transaction] {
        charges[charge]?.transactions.compactMap { transactions[$0] } ?? []
    }

    private mutating func open(_ intent: PaymentIntent) {
        intents.add(intent)
        if let externalID = intent.externalID { intentsByExternalID[externalID, default: []].append(intent.id) }
        charges.add(
            Charge(
                id: intent.charge, paymentIntent: intent.id, createdAt: intent.createdAt,
                updatedAt: intent.createdAt, status: variants.intentStates == .documented ? .created : .pending))
        agenda.add(.expireIntent(intent.id), at: intent.createdAt + configuration.consentLifetime)
    }

    private func makeIntent(_ call: Call) throws(Refusal) -> PaymentIntent {
        let reader = JSONReader(try call.document())
        let amount = reader.read("amount") { value throws(JSONFault) in try readAmount(value) }
        _ = reader.read("allowed_payment_method_types", readMethodTypes)
        let customer = readCustomer(reader)
        let description = reader.string("description", length: 1...140)
        // The SDK's own payload has none (belvo-api.md §11, line 6).
        let statement = reader.optionalString("statement_description", length: 1...140)
        let externalID = reader.optionalString("external_id", length: 1...255)
        let metadata = reader.metadata()
        let parties = reader.object("payment_method_details")?.object("open_finance_biometric_pix")
            .flatMap { readParties($0, customer: customer) }
        if reader.bool("confirm") == false { reader.refuse("confirm", code: "invalid", "Must be true.") }
        guard let amount, let customer, let description, let parties, accepts(reader) else {
            throw refusal(reader)
        }
        let (moment, charge) = (now, entropy.uuid())
        return PaymentIntent(
            id: entropy.uuid(), externalID: externalID, metadata: metadata, amount: amount, customer: customer,
            enrollment: parties.enrollment.id, beneficiary: parties.beneficiary, description: description,
            statementDescription: statement, challenge: entropy.base64URL(32),
            credentialID: Base64URL.encode(parties.enrollment.credential?.id ?? []),
            endToEndID: EndToEndID.make(at: moment, entropy: entropy), consentID: "urn:mockbank:\(entropy.uuid())",
            externalPaymentID: entropy.uuid(), providerRequestID: entropy.uuid(), charge: charge,
            createdAt: moment, updatedAt: moment,
            status: variants.intentStates == .documented ? .requiresAction : .pending)
    }

    /// The receiving account, and the paying enrollment: usable, and this customer's.
    private func readParties(
        _ reader: JSONReader, customer: String?
    ) -> (beneficiary: String, enrollment: Enrollment)? {
        let beneficiary = reader.uuid("beneficiary_bank_account")
        if let beneficiary, bankAccounts[beneficiary] == nil {
            reader.refuse("beneficiary_bank_account", code: "does_not_exist", "There is no such bank account.")
        }
        let enrollment = reader.uuid("enrollment").flatMap { id -> Enrollment? in
            guard let found = enrollments[id], customer == nil || found.customer == customer else {
                reader.refuse("enrollment", code: "does_not_exist", "There is no such enrollment.")
                return nil
            }
            guard found.status == .succeeded else {
                reader.refuse("enrollment", code: "invalid_state", "The enrollment is not usable.")
                return nil
            }
            return found
        }
        guard let beneficiary, let enrollment else { return nil }
        return (beneficiary, enrollment)
    }

    private func readAmount(_ value: JSONValue) throws(JSONFault) -> Amount {
        let text: String? =
            switch variants.amounts {
            case .number: value.numberText
            case .string: value.string
            case .numberOrString: value.numberText ?? value.string
            }
        guard let text, let amount = Amount(text) else {
            throw .invalid("A number greater than zero with at most two decimals is required.")
        }
        return amount
    }
}

private func readMethodTypes(_ value: JSONValue) throws(JSONFault) {
    guard value.kind == .array, value.elements.map(\.string) == ["open_finance_biometric_pix"] else {
        throw .invalid("Must be [\"open_finance_biometric_pix\"].")
    }
}
