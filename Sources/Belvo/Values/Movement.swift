/// An attempt to collect a payment intent (belvo-api.md §6.1, `Charge`).
public struct Charge: Sendable, Equatable, Redacted {
    public typealias ID = Identity<Charge>

    public let id: ID
    /// The intent that it belongs to; nil when left out.
    public let paymentIntent: PaymentIntent.ID?
    public let status: ChargeStatus
    /// `SUCCEEDED`, `FAILED` and the like, as Belvo spells it.
    public let statusWord: String
    public let amount: ChargedAmount
    public let endToEndID: String?
    /// ISO 8601 as Belvo wrote it.
    public let createdAt: String?

    public var description: String { "charge \(id) \(statusWord)" }
}

/// Money that came in (belvo-api.md §6.1, `Transaction`).
public struct Transaction: Sendable, Equatable, Redacted {
    public typealias ID = Identity<Transaction>

    public let id: ID
    /// The intent that it came of; nil when left out.
    public let paymentIntent: PaymentIntent.ID?
    /// Whether money came in; nil where the answer does not say.
    public let isInflow: Bool?

    public var description: String { "transaction \(id)" }
}

/// The amount that a charge says it is of.
public enum ChargedAmount: Sendable, Equatable {
    case unsaid
    case reais(centavos: Int64)
    /// It is no amount, or of another currency.
    case unreadable
}

extension ChargedAmount {
    init(_ charge: Answer) {
        do throws(MalformedAnswer) {
            let currency = try charge.exact("currency", bytesMax: 16)
            let centavos = try charge.centavos("amount")
            self =
                if currency != nil, currency != "BRL" { .unreadable } else {
                    centavos.map { .reais(centavos: $0) } ?? .unsaid
                }
        } catch {
            self = .unreadable
        }
    }
}

extension Charge {
    init(_ answer: Answer) throws(MalformedAnswer) {
        id = try answer.id()
        paymentIntent = try answer.reference("payment_intent")
        statusWord = answer.word("status") ?? ""
        status = ChargeStatus(statusWord)
        amount = ChargedAmount(answer)
        let information = try answer.object("payment_method_information")?.object(paymentMethod)
        endToEndID = try information?.exact("end_to_end_id", bytesMax: 100)
        createdAt = answer.plain("created_at", scalarsMax: 40)
    }
}

extension Transaction {
    /// Whether this word for a transaction's type says that money came in; nil for one that says nothing. Belvo has
    /// `INFLOW` and `OUTFLOW` (belvo-api.md §6.1).
    public static func isInflow(_ word: String) -> Bool? {
        switch word.uppercased() {
        case "INFLOW", "CREDIT": true
        case "OUTFLOW", "DEBIT": false
        default: nil
        }
    }

    init(_ answer: Answer) throws(MalformedAnswer) {
        id = try answer.id()
        paymentIntent = try answer.reference("payment_intent")
        isInflow = answer.word("transaction_type").flatMap(Self.isInflow)
    }
}
