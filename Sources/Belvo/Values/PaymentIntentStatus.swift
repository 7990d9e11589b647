/// Where a payment intent stands (belvo-api.md §6.3).
public enum PaymentIntentStatus: Hashable, Sendable {
    case pending
    case requiresPaymentMethod
    case requiresAction
    case processing
    case scheduled
    case succeeded
    case failed
    case canceled
    case scheduleFinished
    /// A word that Belvo's documents do not list, or none. It is not an end of anything.
    case unknown(String)

    /// Takes a word as Belvo spells it; case matters.
    public init(_ word: String) {
        self =
            switch word {
            case "PENDING": .pending
            case "REQUIRES_PAYMENT_METHOD": .requiresPaymentMethod
            case "REQUIRES_ACTION": .requiresAction
            case "PROCESSING": .processing
            case "SCHEDULED": .scheduled
            case "SUCCEEDED": .succeeded
            case "FAILED": .failed
            case "CANCELED": .canceled
            case "SCHEDULE_FINISHED": .scheduleFinished
            default: .unknown(word)
            }
    }

    /// The word as Belvo spells it.
    public var word: String {
        switch self {
        case .pending: "PENDING"
        case .requiresPaymentMethod: "REQUIRES_PAYMENT_METHOD"
        case .requiresAction: "REQUIRES_ACTION"
        case .processing: "PROCESSING"
        case .scheduled: "SCHEDULED"
        case .succeeded: "SUCCEEDED"
        case .failed: "FAILED"
        case .canceled: "CANCELED"
        case .scheduleFinished: "SCHEDULE_FINISHED"
        case .unknown(let word): word
        }
    }
}
