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
        try await completeImported(payment, as: intent, cause: .poller)
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
        let own = try await unknown(payers.isEmpty ? named : payers, to: payment)
        guard let intent = closest(of: own, to: payment) else {
            try await check(found.others, against: payment)
            return nil
        }
        for twin in own where twin.id != intent.id {
            try await noteTwin(twin.id.uuid, of: intent.id.uuid, of: payment.id)
            // Where none of them is the payment, reading one by one again would find the same again.
            if payment.fit(of: report(intent)) > .differs {
                try await importLater(twin.id, named: payment.id, listedAs: twin)
            }
        }
        return .reported(try await raisingAlarms(about: report(intent), against: payment))
    }

    /// The intents that have no row of their own. What Belvo shows only now of one that was imported is taken over.
    private func unknown(_ intents: [Belvo.PaymentIntent], to payment: Payment) async throws -> [Belvo.PaymentIntent] {
        var unknown: [Belvo.PaymentIntent] = []
        for intent in intents {
            let known = try await dependencies.store.payment(belvoID: intent.id.uuid)
            if let known, known.record.id != payment.id, known.record.origin == .foreign {
                try await completeImported(known.record, as: intent, cause: .poller)
            } else {
                unknown.append(intent)
            }
        }
        return unknown
    }

    /// The intent that is the payment: of several the one that shows most of what was asked for, and of these the one
    /// that is furthest along, so that a failed twin does not fail the payment. The others are imported, and hold the
    /// reference as far as they are the same user's money for the shop (`isTwin`).
    private func closest(of own: [Belvo.PaymentIntent], to payment: Payment) -> Belvo.PaymentIntent? {
        func rank(_ intent: Belvo.PaymentIntent) -> (Payment.Fit, Int) {
            (payment.fit(of: report(intent)), ProviderStatus(intent.status).weight)
        }
        return own.max { rank($0) < rank($1) }
    }

    /// Has a twin imported once the payment has an id of its own, as if a webhook had named it. Until then the payment
    /// keeps its reference, and is not signed.
    func importLater(
        _ twin: Belvo.PaymentIntent.ID, named payment: Payment.ID, listedAs remote: Belvo.PaymentIntent? = nil
    ) async throws {
        try await readLater(
            .paymentIntents, remote.map(showsMoney) ?? false ? "LISTED_PAID" : "LISTED_TWICE", twin.uuid, of: payment,
            knownAs: "listed \(twin) as \(payment)")
    }

    /// Whether it shows money that has come, or is under way.
    private func showsMoney(_ remote: Belvo.PaymentIntent) -> Bool {
        remote.status == .processing || report(remote).mayHavePaid
    }

    /// Has an intent read that Belvo has shown with a payment's name: until then the payment is not signed.
    func holdName(of payment: Payment.ID, shownBy remote: Belvo.PaymentIntent) async throws {
        try await readLater(
            .paymentIntents, showsMoney(remote) ? "SHOWN_AS_PAID" : "SHOWN_AS", remote.id.uuid, of: payment,
            knownAs: Self.shown(remote.id, as: payment))
    }

    /// Has it not read for that any more: what it is to the payment is recorded.
    func releaseName(of payment: Payment.ID, shownOf intent: Belvo.PaymentIntent.ID) async throws {
        try await dependencies.store.closeWebhook(
            dependencies.store.vault.lookup(Self.shown(intent, as: payment), for: .webhook))
    }

    private static func shown(_ intent: Belvo.PaymentIntent.ID, as payment: Payment.ID) -> String {
        "shown \(intent) as \(payment)"
    }

    /// Has Belvo's list of a payment's name read, since the payment is about to become an intent that was heard of by
    /// that name: Belvo may have others. Until then the payment keeps its reference.
    func lookUpLater(_ payment: Payment.ID) async throws {
        try await readLater(.names, "HEARD_OF", payment.uuid, of: payment, knownAs: "named \(payment)")
    }

    /// Has an intent that was imported without a name read once more when Belvo's readings do not lag any more.
    func readOnceMore(_ intent: Belvo.PaymentIntent.ID) async throws {
        try await readLater(
            .paymentIntents, "NAMELESS", intent.uuid, of: nil, knownAs: "nameless \(intent)", rest: WebhookKind.lagMax)
    }

    /// Has an intent read again of which one reading has shown money that Belvo does not show as paid: until then its
    /// payment keeps its reference, also when it fails meanwhile. Copies of Belvo's that lag show the same by then;
    /// each reading that shows it has it rest anew, and a list does not: it may show it for good.
    func holdMoney(shownOf intent: Belvo.PaymentIntent.ID, byList isListed: Bool = false) async throws {
        try await readLater(
            .paymentIntents, "SHOWN_PAID", intent.uuid, of: nil, knownAs: Self.paid(intent), rest: .seconds(20),
            isOpenKept: isListed)
    }

    /// Has it not read for that any more: what another reading has confirmed is recorded.
    func releaseMoney(shownOf intent: Belvo.PaymentIntent.ID) async throws {
        try await dependencies.store.closeWebhook(
            dependencies.store.vault.lookup(Self.paid(intent), for: .webhook))
    }

    private static func paid(_ intent: Belvo.PaymentIntent.ID) -> String { "paid \(intent)" }

    private func readLater(
        _ kind: WebhookKind, _ code: String, _ object: UUID, of payment: Payment.ID?, knownAs text: String,
        rest: Duration = .zero, isOpenKept: Bool = true
    ) async throws {
        try await dependencies.store.insertWebhook(
            NewWebhook(
                id: dependencies.identities.next(), digest: dependencies.store.vault.lookup(text, for: .webhook),
                type: kind.rawValue, code: code, object: object, externalID: payment?.uuid, outcome: .received,
                body: [], rest: rest), isOpenKept: isOpenKept)
    }

    /// Has every other intent of a payment's name imported that is not known here; a payment that has become none of
    /// them takes the one that is as asked for. For an hour a list that cannot be read, or does not show what the
    /// payment has become, is asked again.
    func importOthers(beside id: Payment.ID, after age: Duration) async throws {
        guard let stored = try await dependencies.store.payment(id) else { return }
        let payment = stored.record
        let mayLag = age < WebhookKind.lagMax
        let origin = (CallOrigin.current ?? .user(payment.subject)).reading(of: payment.subject)
        do {
            try await CallOrigin.$current.withValue(origin) {
                try await CallOrigin.about(payment.institutionID) {
                    if let belvoID = payment.belvoID {
                        try await importOthers(named: id, than: belvoID, of: payment.parties.customer, mayLag: mayLag)
                    } else {
                        try await takeClosest(to: stored)
                    }
                }
            }
        } catch let error as BelvoError {
            if mayLag { throw error }
            dependencies.log.warning(
                "payment.unreadable", metadata: ["payment_id": "\(id)", "reason": "\(error)"])
        }
    }

    private func importOthers(
        named id: Payment.ID, than belvoID: UUID, of customer: UUID, mayLag: Bool
    ) async throws {
        let named = try await dependencies.belvo.findPaymentIntents(externalID: id.description).named
        for other in named where other.id.uuid != belvoID {
            guard [nil, customer].contains(other.customer?.uuid),
                try await dependencies.store.payment(belvoID: other.id.uuid) == nil
            else { continue }
            try await importLater(other.id, named: id, listedAs: other)
        }
        guard !mayLag || named.contains(where: { $0.id.uuid == belvoID }) else {
            throw SyncDeferred.incomplete("the payment itself")
        }
    }

    private func takeClosest(to stored: Stored<Payment>) async throws {
        let payment = stored.record
        guard let found = try await find(payment, at: dependencies.belvo) else { return }
        if payment.isShown(by: found) { try await recordEvent(found, on: stored, cause: .webhook) }
        // It may have become another of them meanwhile: then this one is another.
        if let other = Payment.belvoID(in: found),
            let present = try await dependencies.store.payment(payment.id)?.record.belvoID, present != other
        {
            try await importLater(Belvo.PaymentIntent.ID(other), named: payment.id)
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

    /// How much of what was asked for a report of an intent of the payment's name shows.
    enum Fit: Int, Comparable {
        case differs, partly, whole

        static func < (one: Fit, other: Fit) -> Bool { one.rawValue < other.rawValue }
    }

    /// The fit of a report; a status says nothing of it, but that SUCCEEDED has to show everything.
    func fit(of report: Report) -> Fit {
        guard differences(from: report).isEmpty else { return .differs }
        let isWhole =
            report.amount != nil && report.customer != nil && report.enrollment == parties.enrollment
            && report.beneficiaryBankAccount == parties.beneficiaryBankAccount
        return isWhole ? .whole : .partly
    }

    /// Whether the report, of an intent of the same user's and of this payment's name, is of money for the shop's
    /// account: then it holds the payment's reference as its twin, at whichever bank it is paid.
    func isTwin(_ report: Report) -> Bool {
        isTwin(of: report.amount, to: report.beneficiaryBankAccount)
    }

    /// Whether an imported payment of this payment's name is its twin, by what is known of it or by what is shown now:
    /// one of the two readings may be wrong.
    func isTwin(_ imported: Payment, shownAs report: Report?) -> Bool {
        let known = imported.parties.beneficiaryBankAccount
        let shown = report?.beneficiaryBankAccount
        return isTwin(of: imported.amount, to: known ?? shown)
            || report.map { isTwin(of: $0.amount, to: shown ?? known) } ?? false
    }

    private func isTwin(of amount: Money?, to account: UUID?) -> Bool {
        amount == self.amount && [nil, parties.beneficiaryBankAccount].contains(account)
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
