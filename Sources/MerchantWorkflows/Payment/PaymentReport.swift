import Belvo
import Logging
import Payments

extension PaymentWorkflow {
    /// Belvo's payment intent as a report, in the merchant's terms. An unknown status raises an alarm.
    ///
    /// What its charges show counts beside its own status. While one of them is under way the intent was signed and has
    /// not ended, whatever it says. One whose word is not known may have collected money: the intent was signed, and
    /// where it has FAILED an operator has to find out which is true.
    func report(_ intent: Belvo.PaymentIntent) -> Payment.Report {
        if case .unknown(let word) = intent.status {
            dependencies.log.error(
                "payment.unknown_status", metadata: ["belvo_id": "\(intent.id)", "status": "\(word)"])
        }
        var unknown = 0
        for case .unknown(let word) in intent.charges.map(\.status) {
            unknown += 1
            dependencies.log.error(
                "payment.unknown_charge_status", metadata: ["belvo_id": "\(intent.id)", "status": "\(word)"])
        }
        var status = ProviderStatus(intent.status)
        let isUnderWay = intent.charges.contains { $0.status == .underWay }
        if status == .pending && unknown > 0 || status != .succeeded && isUnderWay { status = .processing }
        let collected = intent.charges.filter { charge in
            if case .unknown = charge.status { status == .failed } else { charge.status == .collected }
        }
        return Payment.Report(
            belvoID: intent.id.uuid, externalID: intent.externalID, status: status,
            providerStatus: intent.status.word, amount: intent.amountCentavos.map(Money.init(centavos:)),
            currency: intent.currency, customer: intent.customer?.uuid,
            beneficiaryBankAccount: intent.beneficiaryBankAccount?.uuid, enrollment: intent.enrollment?.uuid,
            facts: Payment.ProviderFacts(
                provider: intent.biometricPix.provider, consentID: intent.biometricPix.consentID,
                endToEndID: intent.biometricPix.endToEndID.flatMap { EndToEndID($0) },
                externalPaymentID: intent.biometricPix.externalPaymentID,
                providerRequestID: intent.biometricPix.providerRequestID),
            fidoOptions: intent.biometricPix.fidoOptions?.json.bytes, failureCode: intent.failureCode,
            failureMessage: intent.failureMessage,
            collected: collected.map { charge in
                Payment.Collection(
                    transfer: charge.endToEndID.flatMap { EndToEndID($0) }, object: charge.id?.uuid,
                    amount: Payment.Collection.Amount(charge.amount))
            }, hasOnlyEndedCharges: !intent.charges.isEmpty && intent.charges.allSatisfy { $0.status == .ended })
    }
}

extension Belvo.Charge {
    /// The money that it has brought, as far as it says so itself.
    var collected: CollectedMoney {
        switch status {
        case .collected: .some(brought)
        case .underWay: .underWay
        case .unknown: .maybe(brought)
        case .waiting: .none
        case .ended: .ended
        }
    }

    /// The collection that the charge is; nil while it has collected nothing.
    var collection: Payment.Collection? {
        status == .collected ? brought : nil
    }

    /// The money that it brings, where it brings any.
    private var brought: Payment.Collection {
        Payment.Collection(
            transfer: endToEndID.flatMap { EndToEndID($0) }, object: id.uuid,
            amount: Payment.Collection.Amount(amount))
    }
}

/// The money that a charge or a transaction has brought.
enum CollectedMoney: Sendable, Equatable {
    case none
    /// None, and it will bring none.
    case ended
    /// None yet: the payment was signed, and money may move.
    case underWay
    case some(Payment.Collection)
    /// The word of the charge is not known: the payment was signed, and this may have come.
    case maybe(Payment.Collection)
    /// The transaction does not say whether money came in: some, unless its webhook says otherwise. Belvo makes one
    /// when money was received (belvo-api.md §7).
    case asTold

    /// Whether money has come by it, or may have, as far as it says so itself.
    var mayBeMoney: Bool {
        switch self {
        case .some, .maybe: true
        case .none, .ended, .underWay, .asTold: false
        }
    }
}

extension Belvo.Transaction {
    var collected: CollectedMoney {
        guard let isInflow else { return .asTold }
        return isInflow ? .some(Payment.Collection(transfer: nil, object: id.uuid)) : .none
    }
}

extension Payment.Collection.Amount {
    init(_ amount: ChargedAmount) {
        self =
            switch amount {
            case .unsaid: .unsaid
            case .reais(let centavos): .money(Money(centavos: centavos))
            case .unreadable: .unreadable
            }
    }
}

extension ProviderStatus {
    init(_ status: PaymentIntentStatus) {
        switch status {
        case .succeeded: self = .succeeded
        case .failed, .canceled: self = .failed
        // SCHEDULE_FINISHED ends a schedule, not a payment: its charge shows it (belvo-api.md §6.3).
        case .processing, .scheduled, .scheduleFinished: self = .processing
        case .pending, .requiresPaymentMethod, .requiresAction: self = .pending
        case .unknown: self = .unknown
        }
    }
}

extension Payment.Report {
    /// Whether it shows the payment as paid, or a charge that has collected.
    var mayHavePaid: Bool { status == .succeeded || !collected.isEmpty }
}
