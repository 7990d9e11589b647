import Belvo
import BelvoGate
import FoundationEssentials
import Logging
import MerchantModel
import MerchantStore
import Payments

// Finding a payment at Belvo, by Belvo's id or by ours.
extension PaymentWorkflow {
    /// Reads the payment at Belvo; nil when Belvo does not know it.
    func read(_ payment: Payment, from belvo: Belvo.Client) async throws -> Payment.Event? {
        guard let belvoID = payment.belvoID else { return try await find(payment, at: belvo) }
        let intent = try await belvo.readPaymentIntent(Belvo.PaymentIntent.ID(belvoID))
        return .reported(try await raisingAlarms(about: report(intent), against: payment))
    }

    /// Finds a payment whose id at Belvo is not known by its name; nil when Belvo does not know it. `seen` is an intent
    /// of that name that has been read already, which Belvo's list may not show yet.
    func find(_ payment: Payment, at belvo: Belvo.Client, besides seen: Belvo.PaymentIntent? = nil) async throws
        -> Payment.Event?
    {
        let found = try await belvo.findPaymentIntents(externalID: payment.id.description)
        let named = found.named.filter { $0.id != seen?.id } + (seen.map { [$0] } ?? [])
        // Any client may use our ids as names: of several intents those of this customer count. One alone may be this
        // payment, shown wrong.
        let payers = named.filter { $0.customer == nil || $0.customer?.uuid == payment.parties.customer }
        let own = payers.isEmpty ? named : payers
        guard let intent = furthest(of: own, for: payment) else {
            try await check(found.others, against: payment)
            return nil
        }
        for twin in own where twin.id != intent.id {
            try await noteTwin(twin.id.uuid, of: intent.id.uuid, of: payment.id)
            try await importLater(twin.id, named: payment.id)
        }
        return .reported(try await raisingAlarms(about: report(intent), against: payment))
    }

    /// The intent that is the payment: of several the one that is furthest along, so that a failed twin does not fail
    /// the payment. One that differs from what was asked for, and holds the reference as a twin does, is not the
    /// payment where another is as asked.
    private func furthest(of own: [Belvo.PaymentIntent], for payment: Payment) -> Belvo.PaymentIntent? {
        func furthest(of intents: [Belvo.PaymentIntent]) -> Belvo.PaymentIntent? {
            intents.max { ProviderStatus($0.status).weight < ProviderStatus($1.status).weight }
        }
        guard let first = furthest(of: own), !payment.isShown(by: .reported(report(first))),
            payment.isTwin(report(first)),
            let asAsked = furthest(of: own.filter { payment.isShown(by: .reported(report($0))) })
        else { return furthest(of: own) }
        return asAsked
    }

    /// Has a twin imported once the payment has an id of its own, as if a webhook had named it. Until then the payment
    /// keeps its reference, and is not signed.
    func importLater(_ twin: Belvo.PaymentIntent.ID, named payment: Payment.ID) async throws {
        try await dependencies.store.insertWebhook(
            NewWebhook(
                id: dependencies.identities.next(),
                digest: dependencies.store.vault.lookup("listed \(twin)", for: .webhook),
                type: WebhookKind.paymentIntents.rawValue, code: "LISTED_TWICE", object: twin.uuid,
                externalID: payment.uuid, outcome: .received, body: []))
    }

    /// Has Belvo's list of a payment's name read, since the payment is about to become an intent that was heard of by
    /// that name: Belvo may have others. Until then the payment keeps its reference.
    func lookUpLater(_ payment: Payment.ID) async throws {
        try await dependencies.store.insertWebhook(
            NewWebhook(
                id: dependencies.identities.next(),
                digest: dependencies.store.vault.lookup("named \(payment)", for: .webhook),
                type: WebhookKind.names.rawValue, code: "HEARD_OF", object: payment.uuid,
                externalID: payment.uuid, outcome: .received, body: []))
    }

    /// Has every other intent of a payment's name imported that is not known here. For an hour a list that cannot be
    /// read, or does not show the payment itself, is asked again.
    func importOthers(beside id: Payment.ID, after age: Duration) async throws {
        guard let payment = try await dependencies.store.payment(id)?.record else { return }
        let mayLag = age < WebhookKind.lagMax
        do {
            let origin = CallOrigin.current ?? .user(payment.subject)
            let named = try await CallOrigin.$current.withValue(origin.reading(of: payment.subject)) {
                try await CallOrigin.about(payment.institutionID) {
                    try await dependencies.belvo.findPaymentIntents(externalID: id.description).named
                }
            }
            for other in named where other.id.uuid != payment.belvoID {
                guard [nil, payment.parties.customer].contains(other.customer?.uuid),
                    try await dependencies.store.payment(belvoID: other.id.uuid) == nil
                else { continue }
                try await importLater(other.id, named: id)
            }
            guard let belvoID = payment.belvoID, named.contains(where: { $0.id.uuid == belvoID }) else {
                if mayLag { throw SyncDeferred.incomplete("the payment itself") }
                return
            }
        } catch let error as BelvoError {
            if mayLag { throw error }
            dependencies.log.warning(
                "payment.unreadable", metadata: ["payment_id": "\(id)", "reason": "\(error)"])
        }
    }

    /// Throws when Belvo lists something that can be this payment but for its name, so that it may not be called
    /// absent.
    ///
    /// What is known here already is another one; what has failed cannot be paid any more.
    private func check(_ others: [Belvo.PaymentIntent], against payment: Payment) async throws {
        for other in others where other.status != .failed && payment.isLike(report(other)) {
            if try await dependencies.store.payment(belvoID: other.id.uuid) != nil { continue }
            if let name = other.externalID.flatMap({ Payment.ID($0) }),
                try await dependencies.store.payment(name) != nil
            {
                continue
            }
            dependencies.log.error(
                "payment.name_differs", metadata: ["payment_id": "\(payment.id)", "belvo_id": "\(other.id)"])
            throw BelvoError.malformedAnswer(reason: "external_id is another's on what may be this payment")
        }
    }
}

extension Payment {
    /// Whether the event is a reading that shows this payment, and not another one.
    func isShown(by event: Event) -> Bool {
        if case .reported(let report) = event { differences(from: report).isEmpty } else { false }
    }

    /// Whether the report is of an intent that holds this payment's reference as its twin: the same user's money for
    /// the shop's account, at whichever bank it is paid and whatever Belvo leaves out.
    func isTwin(_ report: Report) -> Bool {
        report.amount == amount && report.currency == Money.currency
            && [nil, parties.customer].contains(report.customer)
            && [nil, parties.beneficiaryBankAccount].contains(report.beneficiaryBankAccount)
    }

    /// Whether the report shows all that was asked for, under whatever name.
    fileprivate func isLike(_ report: Report) -> Bool {
        Set(differences(from: report)).isSubset(of: ["external_id", "end_to_end_id"])
    }
}

extension ProviderStatus {
    /// The rank by how likely it is that money has moved.
    fileprivate var weight: Int {
        switch self {
        case .failed: 0
        case .pending: 1
        case .unknown: 2
        case .processing: 3
        case .succeeded: 4
        }
    }
}
