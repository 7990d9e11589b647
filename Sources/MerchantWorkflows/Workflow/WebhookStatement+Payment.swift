import MerchantModel
import Payments

extension WebhookStatement {
    /// Whether it says that money moves, has arrived or was taken back, or that an enrollment has succeeded or ended,
    /// where Belvo does not show that.
    ///
    /// The webhooks of steps before the end may be late: only one of an end counts against another end.
    func isAhead(of shown: ProviderStatus, as kind: WebhookWorkflow.Kind) -> Bool {
        let told: String? =
            switch kind {
            case .paymentIntents, .charges, .enrollments: status
            case .transactions where direction == "INFLOW": status ?? "SUCCEEDED"
            case .transactions: direction == nil ? status : nil
            }
        return switch told {
        // An enrollment may end after it has succeeded.
        case "SUCCEEDED" where kind == .enrollments: shown == .pending
        case "SUCCEEDED": shown != .succeeded
        case "FAILED", "CANCELED": shown == .succeeded
        case "PROCESSING": shown == .pending
        default: false
        }
    }

    /// Whether a movement's webhook only repeats what is known of a payment that Belvo has closed as paid: then nothing
    /// has to be read.
    ///
    /// Whatever else it says, and whatever it says of a payment that was given up, has failed or is contradicted, is
    /// read.
    func onlyRepeats(_ payment: Payment, as kind: WebhookWorkflow.Kind) -> Bool {
        guard payment.state == .succeeded, payment.isClosedAtBelvo, !payment.isContradicted else { return false }
        if namesAmount, amount != payment.amount { return false }
        if let endToEndID, endToEndID != payment.facts.endToEndID { return false }
        if let intent, intent != payment.belvoID { return false }
        return switch kind {
        case .charges: status == "SUCCEEDED" && (endToEndID != nil || intent != nil)
        case .transactions:
            direction == "INFLOW" && (status ?? "SUCCEEDED") == "SUCCEEDED" && (endToEndID != nil || intent != nil)
        case .enrollments, .paymentIntents: false
        }
    }
}
