import HTTP
import JSON

extension SandboxState {
    /// `GET /payments/br/transactions/` (belvo-api.md §6.1).
    func listTransactions(_ call: Call) throws(Refusal) -> Response {
        let found = transactions.all.reversed().filter { transaction in
            call.query.allows("payment_intent", transaction.paymentIntent)
                && call.query.allows("customer", intents[transaction.paymentIntent]?.customer)
        }
        return try list(found, call) { writeTransaction($1, to: &$0) }
    }

    /// `GET /payments/br/transactions/{id}/`.
    func getTransaction(_ call: Call) throws(Refusal) -> Response {
        guard let transaction = transactions[call.id] else { throw .notFound }
        return Answer.object(.ok) { writeTransaction(transaction, to: &$0) }
    }

    private func writeTransaction(_ transaction: Transaction, to writer: inout JSONWriter) {
        guard let intent = intents[transaction.paymentIntent] else { return }
        transaction.write(to: &writer, intent: intent, createdBy: merchant)
    }
}
