import Belvo
import FoundationEssentials
import Logging
import MerchantModel
import MerchantStore
import Payments

/// Compares one day's payment intents and charges at Belvo with our payments, in both directions.
///
/// It finds what polling cannot: payments that an app's SDK made without us, a success that came after we had given
/// up, and money collected twice. Where only our knowledge is behind, the payment is due for a poll at once, so that
/// the next run finds it in order.
package struct Reconciliation: Sendable {
    let dependencies: Dependencies

    package init(dependencies: Dependencies) {
        self.dependencies = dependencies
    }

    /// The differences of the day, which are stored as well; those of an earlier run that are gone are marked so.
    package func run(_ day: UTCDay) async throws -> [Difference] {
        let intents = try await dependencies.belvo.listPaymentIntents(
            createdFrom: day.begin.description, to: day.end.description
        )
        let charges = try await dependencies.belvo.listCharges(
            createdFrom: day.begin.description, to: day.end.description
        )

        var differences = (intents.unreadable + charges.unreadable).map {
            Difference(kind: .unreadable, payment: nil, intent: nil, ours: nil, theirs: $0)
        }
        var seen: [Belvo.PaymentIntent.ID: Payment?] = [:]
        let listed = shownLast(intents.items, by: \.id).filter { day.mayHold($0.createdAt) }
        for intent in listed {
            let payment = try await payment(for: intent)
            seen[intent.id] = .some(payment?.record)
            if let payment {
                differences += try await compare(payment.record, intent)
            } else {
                differences.append(.unknownHere(intent))
            }
            differences += try await misnamed(payment?.record, intent)
        }
        differences += try await missing(on: day, besides: Set(seen.keys.map(\.uuid)))
        let charged = shownLast(charges.items, by: \.id).filter { day.mayHold($0.createdAt) }
        differences += try await compare(charged, seen)
        let ofOtherDays = await collected(by: charged, besides: Set(listed.map(\.id)))
        differences += ofOtherDays.unreadable
        differences += try await chargedTwice(charged, listed, ofOtherDays.byIntent)
        differences += try await uncollected(charged, ofOtherDays.byIntent)
        differences += try await dependencies.store.doublePaid(on: day)
        try await dependencies.store.note(differences, of: day)
        return differences
    }

    /// Our row for what Belvo shows.
    private func payment(for intent: Belvo.PaymentIntent) async throws -> Stored<Payment>? {
        if let known = try await dependencies.store.payment(belvoID: intent.id.uuid) { return known }
        guard let own = intent.externalID.flatMap({ Payment.ID($0) }) else { return nil }
        return try await dependencies.store.payment(own)
    }

    /// The differences between the two. Where our row is behind it is polled, and a second transfer is an alarm.
    private func compare(_ payment: Payment, _ intent: Belvo.PaymentIntent) async throws -> [Difference] {
        do {
            try await workflow.completeImported(payment, as: intent, cause: Self.cause)
        } catch is SyncDeferred, is BelvoError {
            // Another reading does not show what the list shows: it stays a difference.
        }
        // It is read for the payment until that succeeds, which is not signed meanwhile.
        if let known = payment.belvoID, known != intent.id.uuid, intent.status != .failed,
            [nil, payment.parties.customer].contains(intent.customer?.uuid)
        {
            try await workflow.importLater(intent.id, named: payment.id, listedAs: intent)
        }
        if try await isBehind(payment, intent) { _ = try await dependencies.store.requeue(.payment, payment.id.uuid) }
        // Another intent of its name is imported, and compared by all that it shows.
        if intent.status == .succeeded, [nil, intent.id.uuid].contains(payment.belvoID) {
            try await raiseIfPaidTwice(payment, by: intent.biometricPix.endToEndID)
        }
        return differences(between: payment, and: intent)
    }

    private func raiseIfPaidTwice(_ payment: Payment, by transfer: String?) async throws {
        try await workflow.raiseIfPaidTwice(payment, by: [transfer.flatMap { EndToEndID($0) }])
    }

    private func differences(between payment: Payment, and intent: Belvo.PaymentIntent) -> [Difference] {
        var found: [Difference] = []
        func differs(_ kind: Difference.Kind, _ ours: String?, _ theirs: String?) {
            guard ours != theirs else { return }
            found.append(
                Difference(kind: kind, payment: payment.id.uuid, intent: intent.id.uuid, ours: ours, theirs: theirs))
        }
        // Two intents under one of our ids: the second has no row, and is not what the payment is compared with.
        if let known = payment.belvoID, known != intent.id.uuid {
            differs(.unknownHere, known.uuidString.lowercased(), intent.id.description)
            return found
        }
        let end = ProviderStatus(intent.status).end
        // What was given up before it was signed is open at Belvo until it cannot be signed there either.
        let isAbandoned = end == nil && payment.failure?.authority == .merchant
        if end != payment.status.end, !isAbandoned {
            differs(.status, payment.historyState, intent.status.word)
        }
        differs(.amount, payment.amount.description, intent.amountCentavos.map { Money(centavos: $0).description })
        // A foreign intent has any id that its maker gave it.
        if payment.origin == .own {
            // Another name is any client's text, which may name a person.
            let theirs = intent.externalID.map { Payment.ID($0)?.description ?? "no id of ours" }
            differs(.externalID, payment.id.description, theirs)
        }
        if payment.status == .succeeded || intent.status == .succeeded {
            differs(.endToEndID, payment.facts.endToEndID?.description, intent.biometricPix.endToEndID)
        }
        return found
    }

    /// An intent that was imported and bears the id of a payment of ours: it is a second one, or its own row is not
    /// here any more, as after a restore. An id of version 7 may be one of ours that is not known.
    private func misnamed(_ payment: Payment?, _ intent: Belvo.PaymentIntent) async throws -> [Difference] {
        guard let payment, payment.origin == .foreign, let name = intent.externalID.flatMap({ Payment.ID($0) })
        else { return [] }
        if !name.uuid.isVersion7, try await dependencies.store.payment(name) == nil { return [] }
        return [
            Difference(
                kind: .externalID, payment: payment.id.uuid, intent: intent.id.uuid, ours: nil, theirs: "\(name)")
        ]
    }

    /// Whether Belvo shows an end that is not ours, or takes one back. A reading records it: once for a payment that
    /// was paid, which no reading changes. What an operator has settled stays a difference of the day.
    private func isBehind(_ payment: Payment, _ intent: Belvo.PaymentIntent) async throws -> Bool {
        guard payment.contradiction == nil else { return false }
        guard let end = ProviderStatus(intent.status).end else {
            let report = workflow.report(intent)
            // One that was given up here as unsigned and is under way at Belvo is read again as well.
            let isUnderWay = !payment.isClosedAtBelvo && !payment.mayBelvoStillPay && report.status.isSigned
            return payment.state == .failed && (payment.isLastStatusTakenBack(by: report) || isUnderWay)
        }
        guard payment.status.end != end else { return false }
        guard payment.state == .succeeded else { return true }
        return try await !dependencies.store.hasSettled(.contradiction, of: payment.id)
    }

    /// How many readings may fail to leave this machine before the run ends without a result.
    private static let failuresMax = 3

    /// Our payments of the day that Belvo's list does not show, and Belvo does not know when asked.
    private func missing(on day: UTCDay, besides seen: Set<UUID>) async throws -> [Difference] {
        var differences: [Difference] = []
        var failures = 0
        for payment in try await dependencies.store.payments(knownAtBelvoOn: day) {
            guard let belvoID = payment.record.belvoID, !seen.contains(belvoID) else { continue }
            do {
                let intent = try await dependencies.belvo.readPaymentIntent(Belvo.PaymentIntent.ID(belvoID))
                differences += try await compare(payment.record, intent)
            } catch BelvoError.notFound {
                differences.append(
                    Difference(
                        kind: .unknownAtBelvo, payment: payment.record.id.uuid, intent: belvoID,
                        ours: payment.record.historyState, theirs: nil))
            } catch let error as BelvoError {
                // One that cannot be read keeps no other from being compared. Where Belvo is away the gate shuts.
                if case .unreachable = error { failures += 1 }
                guard failures <= Self.failuresMax else { throw error }
                differences.append(
                    Difference(
                        kind: .unreadable, payment: payment.record.id.uuid, intent: belvoID,
                        ours: payment.record.historyState, theirs: "\(error)"))
            }
        }
        return differences
    }

    /// Payments that are paid here and of which Belvo shows only charges that have collected nothing.
    private func uncollected(
        _ charges: [Belvo.Charge], _ collected: [Belvo.PaymentIntent.ID: Set<UUID>]
    ) async throws -> [Difference] {
        var differences: [Difference] = []
        let byIntent = Dictionary(grouping: charges.filter { $0.paymentIntent != nil }, by: \.paymentIntent)
        for (intent, charges) in byIntent where charges.allSatisfy(\.hasCollectedNothing) {
            guard let intent, collected[intent, default: []].isEmpty,
                let payment = try await dependencies.store.payment(belvoID: intent.uuid)?.record,
                payment.status == .succeeded
            else { continue }
            differences.append(
                Difference(
                    kind: .chargeStatus, payment: payment.id.uuid, intent: intent.uuid, ours: payment.historyState,
                    theirs: charges[0].statusWord))
        }
        return differences
    }

    private func compare(
        _ charges: [Belvo.Charge], _ seen: [Belvo.PaymentIntent.ID: Payment?]
    ) async throws -> [Difference] {
        var differences: [Difference] = []
        for charge in charges {
            guard let intent = charge.paymentIntent else {
                if charge.collection != nil { differences.append(.withoutIntent(charge)) }
                continue
            }
            let collection: Payment.Collection
            switch charge.collected {
            case .some(let brought), .maybe(let brought): collection = brought
            case .none, .ended, .underWay, .asTold: continue
            }
            // The charge may be of an intent of another day, and another intent may bear the payment's name.
            let listed = (seen[intent] ?? nil).flatMap { [nil, intent.uuid].contains($0.belvoID) ? $0 : nil }
            let payment =
                if let listed { listed } else { try await dependencies.store.payment(belvoID: intent.uuid)?.record }
            // What a charge of an unknown word would have brought counts where nothing else has paid.
            let isUnsure = charge.collection == nil
            if isUnsure, payment?.status == .succeeded { continue }
            // It may have been paid since the intents were listed, and contradicts nothing then. What no webhook has
            // named is imported.
            if payment?.status != .succeeded { await sync(intent) }
            let known = try await dependencies.store.payment(belvoID: intent.uuid)?.record
            func differs(_ kind: Difference.Kind, _ ours: String?, _ theirs: String?) {
                let id = (payment ?? known)?.id.uuid
                differences.append(
                    Difference(kind: kind, payment: id, intent: intent.uuid, ours: ours, theirs: theirs))
            }
            if payment?.status != .succeeded { differs(.chargeStatus, payment?.historyState, charge.statusWord) }
            if let payment = payment ?? known, let brought = collection.otherAmount(than: payment.amount) {
                differs(.chargeAmount, payment.amount.description, brought)
            }
            // What an old page shows of a charge may be over: the same word now is one to ask about.
            let isStillUnsure = isUnsure && known?.state == .failed ? await isUnsureNow(charge.id) : false
            if !isUnsure || isStillUnsure, try await !isShownOtherwise(charge, disputing: known, by: collection) {
                try await workflow.noteCollected(intent.uuid, by: collection, cause: Self.cause)
            }
            if let payment, payment.status != .succeeded {
                _ = try await dependencies.store.requeue(.payment, payment.id.uuid)
            }
        }
        return differences
    }

    /// Whether what a list shows of a charge would dispute a payment, and a reading of the charge shows something else.
    private func isShownOtherwise(
        _ charge: Belvo.Charge, disputing payment: Payment?, by collection: Payment.Collection
    ) async throws -> Bool {
        guard let payment, payment.isDisputed(by: collection) else { return false }
        do {
            let again = try await dependencies.belvo.readCharge(charge.id)
            return again.paymentIntent != charge.paymentIntent || again.collected != charge.collected
        } catch {
            return false
        }
    }

    /// The charges that have collected for intents of other days, of whichever days these are: as each intent shows
    /// them, or else its own list of charges. What cannot be read is a difference.
    private func collected(
        by charges: [Belvo.Charge], besides listed: Set<Belvo.PaymentIntent.ID>
    ) async -> (byIntent: [Belvo.PaymentIntent.ID: Set<UUID>], unreadable: [Difference]) {
        let ofDay = Dictionary(grouping: charges.filter { $0.paymentIntent != nil }, by: \.paymentIntent)
        var byIntent: [Belvo.PaymentIntent.ID: Set<UUID>] = [:]
        var unreadable: [Difference] = []
        for (intent, charges) in ofDay {
            guard let intent, !listed.contains(intent) else { continue }
            do {
                var collected = self.collected(try await dependencies.belvo.readPaymentIntent(intent))
                if collected.subtracting(charges.map(\.id.uuid)).isEmpty {
                    let all = try await dependencies.belvo.listCharges(of: intent).items
                    let own = all.filter { [nil, intent].contains($0.paymentIntent) }
                    collected.formUnion(own.filter(\.hasCollected).map(\.id.uuid))
                }
                byIntent[intent] = collected
            } catch BelvoError.notFound {
                // It is another merchant's, or Belvo has no such list.
            } catch {
                unreadable.append(
                    Difference(kind: .unreadable, payment: nil, intent: intent.uuid, ours: nil, theirs: "\(error)"))
            }
        }
        return (byIntent, unreadable)
    }

    private func collected(_ intent: Belvo.PaymentIntent) -> Set<UUID> {
        Set(workflow.report(intent).collected.compactMap(\.object))
    }

    /// Intents for which more than one charge has collected, of whichever days these are.
    private func chargedTwice(
        _ charges: [Belvo.Charge], _ listed: [Belvo.PaymentIntent],
        _ ofOtherDays: [Belvo.PaymentIntent.ID: Set<UUID>]
    ) async throws -> [Difference] {
        var byIntent = ofOtherDays
        for intent in listed { byIntent[intent.id] = collected(intent) }
        for charge in charges where charge.hasCollected {
            if let intent = charge.paymentIntent { byIntent[intent, default: []].insert(charge.id.uuid) }
        }
        var differences: [Difference] = []
        for (intent, charges) in byIntent where charges.count > 1 {
            let payment = try await dependencies.store.payment(belvoID: intent.uuid)
            differences.append(
                Difference(
                    kind: .chargedTwice, payment: payment?.record.id.uuid, intent: intent.uuid, ours: nil,
                    theirs: "\(charges.count) charges"))
        }
        return differences
    }

    private var workflow: PaymentWorkflow { PaymentWorkflow(dependencies: dependencies) }
    private static let cause = Cause(actor: .operator, requestID: nil)

    /// Records what Belvo shows of an intent now, as if a webhook had named it. Where it cannot be read it stays a
    /// difference.
    private func sync(_ intent: Belvo.PaymentIntent.ID) async {
        _ = try? await workflow.syncFromBelvo(intent, on: CallContext(cause: Self.cause, trace: nil))
    }

    /// Whether a charge of which a list has shown an unknown word may have collected, as it is now.
    private func isUnsureNow(_ id: Charge.ID) async -> Bool {
        guard let charge = try? await dependencies.belvo.readCharge(id) else { return true }
        return switch charge.collected {
        case .some, .maybe, .asTold: true
        case .none, .ended, .underWay: false
        }
    }
}

/// The items of a list, each once and as it was shown last: a page may repeat what one before it has shown.
private func shownLast<Item, ID: Hashable>(_ items: [Item], by id: KeyPath<Item, ID>) -> [Item] {
    var seen: Set<ID> = []
    return items.reversed().filter { seen.insert($0[keyPath: id]).inserted }.reversed()
}

extension Belvo.Charge {
    fileprivate var hasCollected: Bool {
        if case .some = collected { true } else { false }
    }

    fileprivate var hasCollectedNothing: Bool {
        switch status {
        case .waiting: !statusWord.isEmpty
        case .underWay, .ended: true
        case .collected, .unknown: false
        }
    }
}

extension Difference {
    fileprivate static func withoutIntent(_ charge: Belvo.Charge) -> Difference {
        Difference(
            kind: .unreadable, payment: nil, intent: nil, ours: nil, theirs: "\(charge) names no payment intent")
    }

    fileprivate static func unknownHere(_ intent: Belvo.PaymentIntent) -> Difference {
        Difference(
            kind: .unknownHere, payment: nil, intent: intent.id.uuid, ours: nil,
            theirs: "\(intent.status.word) \(intent.amountCentavos.map { Money(centavos: $0).description } ?? "")")
    }
}

extension UTCDay {
    /// Whether something that Belvo dates so may be of this day; what has no readable date may.
    fileprivate func mayHold(_ text: String?) -> Bool {
        guard let text, let moment = try? Timestamp(text) else { return true }
        return contains(moment)
    }
}

/// How something ended, if it did.
enum End {
    case succeeded, failed
}

extension ProviderStatus {
    var end: End? {
        switch self {
        case .succeeded: .succeeded
        case .failed: .failed
        case .pending, .processing, .unknown: nil
        }
    }
}

extension Payments.Status {
    var end: End? {
        switch self {
        case .succeeded: .succeeded
        case .failed: .failed
        case .pending: nil
        }
    }
}
