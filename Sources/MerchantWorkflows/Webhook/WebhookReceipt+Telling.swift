import Belvo
import MerchantModel
import MerchantStore
import Payments

// What a webhook says, and whether that says more than Belvo shows.
extension Stored<WebhookReceipt> {
    /// For how long it has waited.
    var age: Duration { clock.now - record.lastReceivedAt }
}

extension WebhookReceipt {
    private var told: String? { WebhookKind(rawValue: type).flatMap { statement.told(as: $0) } }

    /// Whether it says more than Belvo shows.
    func isAhead(of shown: ProviderStatus) -> Bool {
        WebhookKind(rawValue: type).map { statement.isAhead(of: shown, as: $0) } ?? false
    }

    /// For how long a reading may lag that shows a payment going on after its end, as far as this webhook knows. One
    /// that says that it has ended is no sign that it goes on; one of a step before may be late itself.
    var lagAfterEnd: Duration {
        switch [.paymentIntents, .charges].contains(WebhookKind(rawValue: type)) ? told : nil {
        case "FAILED", "CANCELED": WebhookKind.lagMax
        case "PENDING", "PROCESSING": .seconds(5)
        default: .zero
        }
    }

    /// See `WebhookStatement.mayTellOfPayment`.
    var mayTellOfPayment: Bool {
        WebhookKind(rawValue: type).map { statement.mayTellOfPayment(as: $0) } ?? false
    }
}

extension WebhookStatement {
    /// Whether it says that money moves, has arrived or was taken back, or that an enrollment has succeeded or ended,
    /// where Belvo does not show that.
    ///
    /// The webhooks of steps before the end may be late: only one of an end counts against another end.
    func isAhead(of shown: ProviderStatus, as kind: WebhookKind) -> Bool {
        switch told(as: kind) {
        // An enrollment may end after it has succeeded.
        case "SUCCEEDED" where kind == .enrollments: shown == .pending
        case "SUCCEEDED": shown != .succeeded
        case "FAILED", "CANCELED": shown != .failed
        case "PROCESSING": shown == .pending
        default: false
        }
    }

    /// Whether it says that a charge or a transaction has brought money, or does not say what it has done.
    func mayTellOfPayment(as kind: WebhookKind) -> Bool {
        guard kind.isOfMovement else { return false }
        guard let told = told(as: kind) else { return isInflow != false }
        return switch ChargeStatus(told) {
        case .collected, .unknown: true
        case .waiting, .underWay, .ended: false
        }
    }

    /// The status that it says; none for money that goes back.
    func told(as kind: WebhookKind) -> String? {
        switch kind {
        case .paymentIntents, .charges, .enrollments: status
        case .transactions:
            switch isInflow {
            case true?: status ?? "SUCCEEDED"
            case false?: nil
            case nil: status
            }
        case .names: nil
        }
    }

    /// Whether money came in; nil where it does not say.
    fileprivate var isInflow: Bool? { direction.flatMap(Transaction.isInflow) }

    /// Whether a movement's webhook only repeats what is known of a payment that Belvo has closed as paid: then nothing
    /// has to be read.
    ///
    /// Whatever else it says, and whatever it says of a payment that was given up, has failed or is contradicted, is
    /// read.
    func onlyRepeats(_ payment: Payment, as kind: WebhookKind) -> Bool {
        guard payment.state == .succeeded, payment.isClosedAtBelvo, payment.contradiction == nil else { return false }
        if namesAmount, amount != payment.amount { return false }
        if let endToEndID, endToEndID != payment.facts.endToEndID { return false }
        if let intent, intent != payment.belvoID { return false }
        return switch kind {
        case .charges: status == "SUCCEEDED" && (endToEndID != nil || intent != nil)
        case .transactions:
            isInflow == true && (status ?? "SUCCEEDED") == "SUCCEEDED" && (endToEndID != nil || intent != nil)
        case .enrollments, .paymentIntents, .names: false
        }
    }
}
