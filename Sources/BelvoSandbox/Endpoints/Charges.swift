import HTTP
import JSON

extension SandboxState {
    /// `GET /payments/br/charges/`, and the same below an intent (belvo-api.md §0).
    func listCharges(_ call: Call, of intent: String?) throws(Refusal) -> Response {
        if let intent, intents[intent] == nil { throw .notFound }
        let query = call.query
        let statuses = query["status__in"].map { $0.split(separator: ",").map(String.init) }
        let found = charges.all.reversed().filter { charge in
            isListed(charge.createdAt)
                && (intent.map { $0 == charge.paymentIntent } ?? true)
                && query.allows("payment_intent", charge.paymentIntent)
                && query.allows("status", charge.status.rawValue)
                && (query["created_at__gte"].map { $0 <= charge.createdAt.text } ?? true)
                && (query["created_at__lte"].map { $0 >= charge.createdAt.text } ?? true)
                && (statuses?.contains(charge.status.rawValue) ?? true)
        }
        return try list(found, call) { writeCharge($1, to: &$0) }
    }

    /// `GET /payments/br/charges/{id}/`, and the same below an intent.
    func getCharge(_ call: Call, of intent: String?) throws(Refusal) -> Response {
        guard let charge = charges[call.ids.last ?? ""], intent.map({ $0 == charge.paymentIntent }) ?? true else {
            throw .notFound
        }
        return Answer.object(.ok) { writeCharge(charge, to: &$0) }
    }

    private func writeCharge(_ charge: Charge, to writer: inout JSONWriter) {
        guard let intent = intents[charge.paymentIntent] else { return }
        charge.write(
            to: &writer, intent: intent, transactions: transactions(of: charge.id), createdBy: merchant,
            variants: variants)
    }
}
