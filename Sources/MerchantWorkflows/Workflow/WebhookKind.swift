/// The types of Belvo's webhooks that say something about a record (belvo-api.md §8).
enum WebhookKind: String {
    case enrollments = "ENROLLMENTS"
    case paymentIntents = "PAYMENT_INTENTS"
    case charges = "CHARGES"
    case transactions = "TRANSACTIONS"
    /// None of Belvo's: it stands for a payment's name that is to be looked up at Belvo (`lookUpLater`).
    case names = "PAYMENT_NAMES"

    /// Whether its objects are charges or transactions.
    var isOfMovement: Bool { self == .charges || self == .transactions }

    /// For how long Belvo may not show what its webhook says: its readings may lag.
    static let lagMax = Duration.seconds(3_600)
}
