import Belvo
import BelvoGate
import FoundationEssentials
import Logging
import MerchantModel
import MerchantStore
import Payments

// Charges and transactions: what is read of them for their webhooks.
extension WebhookWorkflow {
    /// Where a charge or a transaction belongs.
    enum Movement: Sendable {
        case belongs(to: UUID, collected: CollectedMoney)
        /// To no intent, or it could not be read.
        case ends(Reading)
    }

    /// Reads a charge or a transaction, to learn which intent it belongs to. `owner` is that of the intent that its
    /// webhook names, or an earlier reading has shown, as far as that is known here.
    ///
    /// Its webhooks, where they are handed in, keep the intent's reference from this reading on: before anything else
    /// is read, which may take long.
    func readMovement(
        _ id: UUID, _ kind: WebhookKind, of owner: Store.ObjectOwner?, noting receipts: [Stored<WebhookReceipt>] = []
    ) async -> Movement {
        let isAgain = !receipts.isEmpty && receipts.allSatisfy { $0.record.attempts > 0 }
        do {
            return try await CallOrigin.$current.withValue(origin(of: owner, isAgain: isAgain)) {
                let (intent, collected): (Belvo.PaymentIntent.ID?, CollectedMoney)
                if kind == .charges {
                    let charge = try await dependencies.belvo.readCharge(Charge.ID(id))
                    if case .unknown(let word) = charge.status {
                        dependencies.log.error(
                            "payment.unknown_charge_status",
                            metadata: ["charge_id": "\(charge.id)", "status": "\(word)"])
                    }
                    (intent, collected) = (charge.paymentIntent, charge.collected)
                } else {
                    let transaction = try await dependencies.belvo.readTransaction(Transaction.ID(id))
                    (intent, collected) = (transaction.paymentIntent, transaction.collected)
                }
                if let intent {
                    try await note(receipts, of: id, kind, areOf: intent.uuid)
                    return .belongs(to: intent.uuid, collected: collected)
                }
                let patience = patience(for: receipts, of: owner, withoutIntent: collected)
                if (receipts.map(\.age).min() ?? .zero) < patience {
                    return .ends(.failed(BelvoError.malformedAnswer(reason: "it names no payment intent")))
                }
                if mayBring(collected, by: receipts) { logWithoutIntent(id, kind) }
                return .ends(.read(isOurs: false))
            }
        } catch {
            return .ends(await reading(id, of: owner) { throw error })
        }
    }

    /// For how long a movement that names no intent is read again for one: as long as any object where its webhook
    /// names a payment of ours, an hour where only an earlier reading did, and a minute where it brought money.
    private func patience(
        for receipts: [Stored<WebhookReceipt>], of owner: Store.ObjectOwner?, withoutIntent collected: CollectedMoney
    ) -> Duration {
        guard owner != nil else { return mayBring(collected, by: receipts) ? Self.unnamedMax : .zero }
        let isNamed = receipts.isEmpty || receipts.contains { $0.record.statement.intent != nil }
        return isNamed ? Self.retryMax : WebhookKind.lagMax
    }

    /// Whether a movement has brought money, by its reading, or by its webhooks, which may be ahead of that.
    private func mayBring(_ collected: CollectedMoney, by receipts: [Stored<WebhookReceipt>]) -> Bool {
        collected.mayBeMoney
            || receipts.contains { receipt in
                let mayBeAhead = collected != .none || receipt.record.type == WebhookKind.charges.rawValue
                return mayBeAhead && receipt.record.mayTellOfPayment
            }
    }

    /// Has a movement's webhooks keep the reference of the intent that the movement was read to belong to. Where they
    /// keep another one's, a row of the server's own keeps that of this one: either of the readings may be odd.
    private func note(
        _ receipts: [Stored<WebhookReceipt>], of movement: UUID, _ kind: WebhookKind, areOf intent: UUID
    ) async throws {
        var others: Set<UUID> = []
        for receipt in receipts {
            var kept = receipt.record.externalID
            if kept == nil { kept = try await dependencies.store.note(receipt, isOf: intent) }
            // What the server itself has to read makes no more of it.
            if let kept, kept != intent, receipt.record.isOfBelvo { others.insert(kept) }
        }
        guard !others.isEmpty else { return }
        let payment = try await dependencies.store.payment(belvoID: intent)?.record.id.uuid
        guard others != payment.map({ [$0] }) else { return }
        try await dependencies.store.insertWebhook(
            NewWebhook(
                id: dependencies.identities.next(),
                digest: dependencies.store.vault.lookup("\(kind) \(movement) as \(intent)", for: .webhook),
                type: kind.rawValue, code: "READ_AS", object: movement, externalID: intent, outcome: .received, body: []
            ),
            isOpenKept: true)
    }

    /// Logs money that neither its object nor its webhook says the payment of: it may be for one of ours.
    private func logWithoutIntent(_ id: UUID, _ kind: WebhookKind) {
        dependencies.log.error(
            "payment.collected_without_intent",
            metadata: ["type": "\(kind.rawValue)", "object_id": "\(id.uuidString.lowercased())"])
    }

    /// The reading of an intent, after what its movement has collected was recorded, or has raised an alarm. The
    /// movement was read; but a transaction names no transfer, only its webhook does.
    func noting(
        _ stored: Stored<WebhookReceipt>, collected: CollectedMoney, for intent: UUID, after reading: Reading
    ) async -> Reading {
        guard case .read(isOurs: true, let shown) = reading else { return reading }
        let receipt = stored.record
        let collection: Payment.Collection
        switch collected {
        case .none: return reading
        // It has ended, as its webhook says, and another charge has paid.
        case .ended: return shown == .succeeded ? .read(isOurs: true) : reading
        case .underWay:
            return await self.reading(intent, of: nil) {
                let known = try await dependencies.store.payment(belvoID: intent)?.record
                if let known, (try? known.transition(on: .chargeUnderWay)) != known {
                    try await confirm(stored, shows: collected, for: intent)
                }
                try await PaymentWorkflow(dependencies: dependencies).noteUnderWay(intent, cause: .webhook)
                // The payment's row says so from now on, whatever Belvo shows of the intent. A webhook that says that
                // money has come is ahead of this reading.
                return .read(isOurs: true, shows: receipt.mayTellOfPayment ? .processing : nil)
            }
        // Money may have come of which Belvo shows nothing else: a person finds out.
        case .maybe(let read) where shown == .failed: collection = read
        case .maybe where shown == .succeeded: return .read(isOurs: true)
        case .maybe:
            let noted = await noting(stored, collected: .underWay, for: intent, after: reading)
            guard case .read = noted else { return noted }
            // The webhook keeps the charge in mind until its intent has ended.
            return .failed(BelvoError.malformedAnswer(reason: "the charge's status is not known"))
        case .asTold where !receipt.mayTellOfPayment: return reading
        case .some(let read) where read.transfer != nil: collection = read
        case .some, .asTold:
            let told = receipt.mayTellOfPayment ? receipt.statement.endToEndID : nil
            let amount: Payment.Collection.Amount =
                if case .some(let read) = collected { read.amount } else { .unsaid }
            collection = Payment.Collection(transfer: told, object: receipt.object, amount: amount)
        }
        return await self.reading(intent, of: nil) {
            let payments = PaymentWorkflow(dependencies: dependencies)
            if let known = try await dependencies.store.payment(belvoID: intent)?.record,
                known.isDisputed(by: collection)
            {
                // A webhook that says so keeps the reference itself.
                if known.state != .succeeded, known.contradiction == nil, !receipt.mayTellOfPayment {
                    try await payments.holdMoney(shownOf: Belvo.PaymentIntent.ID(intent))
                }
                try await confirm(stored, shows: collected, for: intent)
            }
            try await payments.noteCollected(intent, by: collection, cause: .webhook)
            // The payment's row says so from now on: nothing has to be read again.
            return .read(isOurs: true)
        }
    }

    /// Throws unless a second reading of a charge or a transaction shows the same: one odd reading disputes no payment,
    /// and takes none for another one's money.
    private func confirm(
        _ receipt: Stored<WebhookReceipt>, shows collected: CollectedMoney, for intent: UUID
    ) async throws {
        guard let kind = WebhookKind(rawValue: receipt.record.type), let object = receipt.record.object else { return }
        let owner = try await dependencies.store.owners(ofObjects: [intent])[intent]
        switch await readMovement(object, kind, of: owner, noting: [receipt]) {
        case .belongs(to: intent, let again) where again == collected: return
        // One whose word is not known counts as under way.
        case .belongs(to: intent, .maybe) where collected == .underWay: return
        case .ends(.failed(let error)): throw error
        case .ends(.absent(let error)): throw error
        default: throw SyncDeferred.readingsDiffer
        }
    }
}
