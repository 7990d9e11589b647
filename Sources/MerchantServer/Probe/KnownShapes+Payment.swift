// What a person's part and a payment add to the answers.
extension KnownShapes {
    private static let transaction: Set<String> = [
        "amount", "beneficiary", "created_at", "created_by", "currency", "customer", "description", "id",
        "payment_intent", "transaction_type",
    ]

    /// An intent's charge, by itself.
    private static let charge = Members(
        always: Set(intent.always.compactMap { $0.hasPrefix("charges[].") ? String($0.dropFirst(10)) : nil }),
        sometimes: under("transactions[].", transaction))

    /// An intent that may have been paid.
    private static let intent = Members(
        always: calls["createPaymentIntent"]?.always ?? [],
        sometimes: (calls["createPaymentIntent"]?.sometimes ?? [])
            .union(under("charges[].transactions[].", transaction)))

    private static let page: Set<String> = ["count", "next", "previous", "results[]"]

    private static func list(of entries: Members) -> Members {
        Members(
            always: page.union(under("results[].", entries.always)), sometimes: under("results[].", entries.sometimes))
    }

    private static func under(_ path: String, _ names: Set<String>) -> Set<String> { Set(names.map { path + $0 }) }

    private static func webhook(_ data: Set<String>) -> Members {
        Members(
            always: under("data.", data).union([
                "data", "external_id", "object_id", "webhook_code", "webhook_id", "webhook_type",
            ]))
    }

    static let afterwards: [String: Members] = [
        "completeRedirection": calls["readEnrollment"] ?? Members(always: []),
        "createPaymentIntent": intent,
        "readPaymentIntent": intent,
        "findPaymentIntents": list(of: intent),
        "readCharge": charge,
        "listCharges": list(of: charge),
        "readTransaction": Members(always: transaction),
        "webhook ENROLLMENTS": webhook(["metadata", "status", "status_reason_code", "status_reason_message"]),
        "webhook PAYMENT_INTENTS": webhook([
            "end_to_end_id", "failure_code", "failure_message", "metadata", "status",
        ]),
        "webhook CHARGES": webhook(["end_to_end_id", "failure_code", "failure_message", "metadata", "status"]),
        "webhook TRANSACTIONS": webhook(["amount", "currency", "end_to_end_id", "payment_intent", "transaction_type"]),
    ]
}
