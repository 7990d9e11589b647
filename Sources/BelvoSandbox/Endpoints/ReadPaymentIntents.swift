import HTTP

extension SandboxState {
    /// `GET /payments/br/payment-intents/{id}/`.
    func getPaymentIntent(_ call: Call) throws(Refusal) -> Response {
        guard let intent = intents[call.id], isReadable(intent.createdAt) else { throw .notFound }
        return Answer.object(.ok) { writeIntent(intent, to: &$0) }
    }

    /// `GET /payments/br/payment-intents/` (belvo-api.md §6.1), newest first unless the variants say otherwise.
    func listPaymentIntents(_ call: Call) throws(Refusal) -> Response {
        let query = call.query
        if let externalID = query["external_id"] {
            let found = intents(externalID: externalID).reversed().filter {
                isListed($0.createdAt) && matches($0, query)
            }
            return try list(found, call) { writeIntent($1, to: &$0) }
        }
        var found = intents.all.filter {
            isListed($0.createdAt) && (variants.listFilters == .ignored || matches($0, query))
        }
        let isSecond = (query["page"].flatMap { Int($0) } ?? 1).isMultiple(of: 2)
        if variants.listOrder == .newestFirst || variants.listOrder == .turning && !isSecond { found.reverse() }
        if variants.listEnd == .early {
            let page = query["page_size"].flatMap { Int($0) } ?? 100
            found = Array(found.prefix(max(1, min(page, found.count) / 2)))
        }
        return try list(found, call) { writeIntent(asListed($1), to: &$0) }
    }

    private func matches(_ intent: PaymentIntent, _ query: FormFields) -> Bool {
        query.allows("status", asListed(intent).status.rawValue)
            && query.allows("customer", intent.customer)
            // Timestamps of one spelling order as text does.
            && (query["created_at__gte"].map { $0 <= intent.createdAt.text } ?? true)
            && (query["created_at__lte"].map { $0 >= intent.createdAt.text } ?? true)
    }

    /// The intent as lists show it: for a while as it was before its last change.
    private func asListed(_ intent: PaymentIntent) -> PaymentIntent {
        guard let earlier = intent.statusBefore, earlier != intent.status,
            now - intent.updatedAt < .milliseconds(variants.listStateLagMilliseconds)
        else { return intent }
        var shown = intent
        shown.status = earlier
        shown.failure = nil
        return shown
    }

    /// The intents that were created under an `external_id`, oldest first.
    func intents(externalID: String) -> [PaymentIntent] {
        intentsByExternalID[externalID, default: []].compactMap { intents[$0] }
    }
}
