import HTTP

extension SandboxState {
    /// `GET /payments/br/payment-intents/{id}/`.
    func getPaymentIntent(_ call: Call) throws(Refusal) -> Response {
        guard let intent = intents[call.id], isReadable(intent.createdAt) else { throw .notFound }
        return Answer.object(.ok) { writeIntent(intent, to: &$0) }
    }

    /// `GET /payments/br/payment-intents/` (belvo-api.md §6.1), newest first.
    func listPaymentIntents(_ call: Call) throws(Refusal) -> Response {
        let query = call.query
        let candidates = query["external_id"].map { intents(externalID: $0) } ?? intents.all
        let found = candidates.reversed().filter { intent in
            isListed(intent.createdAt)
                && query.allows("status", intent.status.rawValue)
                && query.allows("customer", intent.customer)
                // Timestamps of one spelling order as text does.
                && (query["created_at__gte"].map { $0 <= intent.createdAt.text } ?? true)
                && (query["created_at__lte"].map { $0 >= intent.createdAt.text } ?? true)
        }
        return try list(found, call) { writeIntent($1, to: &$0) }
    }

    /// The intents that were created under an `external_id`, oldest first.
    func intents(externalID: String) -> [PaymentIntent] {
        intentsByExternalID[externalID, default: []].compactMap { intents[$0] }
    }
}
