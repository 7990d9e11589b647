import FoundationEssentials
import JSON
import Payments

/// One event for the merchant's shop, as it is sent (merchant-api.md, "Fine points").
package struct ShopEvent: Sendable, Equatable {
    /// The kind of the event.
    package enum Kind: String, Sendable, CaseIterable {
        case paymentSucceeded = "payment.succeeded"
        case paymentFailed = "payment.failed"
        case paymentInDoubt = "payment.in_doubt"
        case enrollmentSucceeded = "enrollment.succeeded"
        case enrollmentFailed = "enrollment.failed"
        case orderDisputed = "order.disputed"
    }

    /// The `webhook-id`.
    package let id: UUID
    package let kind: Kind
    /// The JSON that is sent, byte for byte, by every attempt.
    package let body: [UInt8]
}

extension ShopEvent {
    /// The event for a payment's change; nothing for a change that leads to no end and no doubt.
    package init?(_ after: Payment, before: Payment, at moment: Timestamp, id: () -> UUID) {
        // A foreign payment has an event, too, once Belvo shows that it is the shop's, which payment it is, and that
        // another amount was paid than was shown before.
        let isNewlyKnown =
            before.parties.beneficiaryBankAccount != after.parties.beneficiaryBankAccount
            || before.reference == nil && after.reference != nil
            || after.state == .succeeded && before.amount != after.amount
        guard after.historyState != before.historyState || isNewlyKnown else { return nil }
        // A creation that was not let in is the app's to repeat, and nothing to the shop.
        if before.state == .creating, [.notSent, .notLetIn].contains(after.failure) { return nil }
        let kind: Kind
        switch after.state {
        case .succeeded: kind = .paymentSucceeded
        // A twin that was not paid says nothing of its reference, which the payment itself may have paid.
        case .failed where after.origin == .foreign && after.reference != nil: return nil
        case .failed: kind = .paymentFailed
        default:
            guard after.isInDoubt else { return nil }
            kind = .paymentInDoubt
        }
        self.id = id()
        self.kind = kind
        body = ShopEvent.body(kind, at: moment) { told in
            told.member("id", after.id.description)
            told.member("belvo_id", after.belvoID.map { $0.uuidString.lowercased() })
            told.member("reference", after.reference?.text)
            told.member("subject", after.subject.text)
            told.member("status", after.status.rawValue)
            told.member("amount", after.amount.description)
            told.member("currency", Money.currency)
            told.member("end_to_end_id", after.facts.endToEndID?.description)
            told.member("failure_code", after.failure?.code)
        }
    }

    /// The event for an enrollment's change.
    package init?(_ after: Enrollment, before: Enrollment, at moment: Timestamp, id: () -> UUID) {
        guard after.state != before.state else { return nil }
        let kind: Kind
        switch after.state {
        case .succeeded: kind = .enrollmentSucceeded
        case .failed: kind = .enrollmentFailed
        default: return nil
        }
        self.id = id()
        self.kind = kind
        body = ShopEvent.body(kind, at: moment) { told in
            told.member("id", after.id.description)
            told.member("belvo_id", after.belvoID.map { $0.uuidString.lowercased() })
            told.member("subject", after.subject.text)
            told.member("status", after.status.rawValue)
            told.member("failure_code", after.failure?.code)
        }
    }

    /// An event that money has arrived for an order which is not its own payment, once.
    package init(disputed order: Order, by payment: Payment.ID, at moment: Timestamp, id: UUID) {
        self.id = id
        kind = .orderDisputed
        body = ShopEvent.body(.orderDisputed, at: moment) { told in
            told.member("id", payment.description)
            told.member("reference", order.reference.text)
            told.member("subject", order.subject.text)
            told.member("status", Order.Status.disputed.rawValue)
            told.member("amount", order.amount.description)
            told.member("currency", Money.currency)
        }
    }

    private static func body(
        _ kind: Kind, at moment: Timestamp, _ told: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        JSONWriter.object { event in
            event.member("type", kind.rawValue)
            event.member("timestamp", moment)
            event.memberObject("data", told)
        }
    }
}
