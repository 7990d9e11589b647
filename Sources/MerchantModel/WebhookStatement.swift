import FoundationEssentials
import JSON
import Payments

/// The content of a webhook about a charge or a transaction, beside the name of its object.
///
/// None of it enters a record. It leads to the payment that is read, and it decides whether the reading is needed: a
/// webhook that only repeats what is known of a closed payment is done without one.
package struct WebhookStatement: Sendable, Equatable {
    /// The intent that the movement belongs to.
    package var intent: UUID?
    package var endToEndID: EndToEndID?
    package var status: String?
    /// `INFLOW` or `OUTFLOW`, as it came.
    package var direction: String?
    /// Nil also where there is one that cannot be read.
    package var amount: Money?
    package var namesAmount = false

    package init() {}

    /// Nothing is said by what cannot be read.
    package init(body: [UInt8]) {
        guard let data = (try? JSONDocument(parsing: body, limits: .tolerant))?.root["data"], data.kind == .object
        else { return }
        intent = data["payment_intent"]?.string.flatMap { UUID(uuidString: $0) }
        endToEndID = data["end_to_end_id"]?.string.flatMap { EndToEndID($0) }
        status = data["status"]?.string
        direction = data["transaction_type"]?.string
        let text = data["amount"].flatMap { $0.numberText ?? $0.string }
        namesAmount = data["amount"].map { $0.kind != .null } ?? false
        amount = text.flatMap { try? Money($0) }
    }
}
