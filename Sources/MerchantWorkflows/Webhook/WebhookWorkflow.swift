import Belvo
import BelvoGate
import FoundationEssentials
import Logging
import MerchantModel
import MerchantStore
import Payments

/// How Belvo's webhooks are worked on: stored first, and then taken as a hint to read the object again.
///
/// A webhook may be forged, late, doubled or out of order. So nothing that it says enters a record: the object that it
/// names is read. What it says decides about the webhook alone: one that only repeats what a closed payment shows is
/// done without a reading (`onlyRepeats`), and one that is ahead of Belvo's readings is kept for a while (`isAhead`).
package struct WebhookWorkflow: Sendable {
    let dependencies: Dependencies
    /// On whose behalf objects are read that are not known here.
    let origin: CallOrigin

    package init(dependencies: Dependencies, origin: CallOrigin = .webhooks) {
        self.dependencies = dependencies
        self.origin = origin
    }

    /// The content of a webhook.
    package struct WebhookHint: Sendable {
        let type: String
        let code: String
        let object: UUID?
        let externalID: UUID?
        /// The body as it came.
        let body: [UInt8]

        package init(type: String, code: String, object: UUID?, externalID: UUID?, body: [UInt8]) {
            self.type = type
            self.code = code
            self.object = object
            self.externalID = externalID
            self.body = body
        }
    }

    /// How long a charge's webhook that names no payment rests: that of its intent comes beside it and is worked on
    /// before, and then nothing has to be read.
    static let movementRest = Duration.seconds(2)

    /// For how long a movement that brought money is read again for the intent that it does not name yet.
    static let unnamedMax = Duration.seconds(60)

    /// For how long a webhook is processed whose object cannot be read.
    static let retryMax = Duration.seconds(3 * 86_400)

    /// Stores the webhook. Throws when that is not certain: Belvo then sends it again.
    package func receive(_ hint: WebhookHint, digest: [UInt8]) async throws {
        let kind = WebhookKind(rawValue: hint.type)
        let isKnown = kind != nil && kind != .names && hint.object != nil
        if !isKnown {
            dependencies.log.notice(
                "webhook.ignored", metadata: ["type": "\(hint.type)", "code": "\(hint.code)"])
        }
        let isOfMovement = kind?.isOfMovement ?? false
        let receipt = NewWebhook(
            id: dependencies.identities.next(), digest: digest, type: hint.type, code: hint.code, object: hint.object,
            externalID: hint.externalID,
            takesEarlierName: kind.map { WebhookStatement(body: hint.body).mayTellOfPayment(as: $0) } ?? false,
            outcome: isKnown ? .received : .ignored, body: hint.body, rest: isOfMovement ? Self.movementRest : .zero)
        try await dependencies.webhookIntake.insert(
            receipt, into: dependencies.store, lease: dependencies.workLease + dependencies.workWindow)
    }

    /// The result of reading an object.
    enum Reading: Sendable {
        /// Whether it is a customer's of ours, and the status that Belvo shows of it.
        case read(isOurs: Bool, shows: ProviderStatus? = nil)
        /// Belvo does not know it.
        case absent(BelvoError)
        case failed(any Error)
        /// The database failed in between, which is logged: the webhook is due again after its lease.
        case interrupted
    }

    /// Reads what a webhook is about that has waited for so long, and records what Belvo says of it. What is new here
    /// and a customer's of ours is imported: an app's SDK can make it without us (belvo-api.md §2.1).
    ///
    /// `owner` is whose it is known to be here; nil while it is not. `isAgain` says whether it was tried before.
    func read(
        _ target: Target, of owner: Store.ObjectOwner?, after age: Duration, lag: Duration, isAgain: Bool = false
    ) async -> Reading {
        await reading(target.id, of: owner, isAgain: isAgain) {
            let status: ProviderStatus?
            switch target.kind {
            case .enrollment:
                status = try await EnrollmentWorkflow(dependencies: dependencies).syncFromBelvo(
                    Belvo.Enrollment.ID(target.id), on: .webhook)
            case .intent:
                status = try await PaymentWorkflow(dependencies: dependencies).syncFromBelvo(
                    Belvo.PaymentIntent.ID(target.id), after: age, lag: lag, on: .webhook)
            case .name:
                try await PaymentWorkflow(dependencies: dependencies).importOthers(
                    beside: Payment.ID(target.id), after: age)
                return .read(isOurs: true)
            }
            return .read(isOurs: status != nil, shows: status)
        }
    }

    /// An object whose reading settles webhooks.
    struct Target: Hashable, Sendable {
        enum Kind { case enrollment, intent, name }
        let kind: Kind
        let id: UUID
    }

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
                // Its webhook names a payment of ours, or it was read to be of one, or it brought money: it may name
                // its intent later.
                let mayBringMoney = collected.mayBeMoney
                let isYoung = receipts.contains { $0.age < Self.unnamedMax }
                if owner != nil || mayBringMoney && isYoung {
                    return .ends(.failed(BelvoError.malformedAnswer(reason: "it names no payment intent")))
                }
                if mayBringMoney { logWithoutIntent(id, kind) }
                return .ends(.read(isOurs: false))
            }
        } catch {
            return .ends(await reading(id, of: owner) { throw error })
        }
    }

    /// Has a movement's webhooks keep the reference of the intent that the movement was read to belong to. Where they
    /// keep another one's, a row of the server's own keeps that of this one: either of the readings may be odd.
    private func note(
        _ receipts: [Stored<WebhookReceipt>], of movement: UUID, _ kind: WebhookKind, areOf intent: UUID
    ) async throws {
        for receipt in receipts where receipt.record.externalID == nil {
            try await dependencies.store.note(receipt, isOf: intent)
        }
        let others = Set(
            receipts.filter { $0.record.statement != WebhookStatement() }.compactMap(\.record.externalID)
        ).subtracting([intent])
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
        _ receipt: WebhookReceipt, collected: CollectedMoney, for intent: UUID, after reading: Reading
    ) async -> Reading {
        guard case .read(isOurs: true, let shown) = reading else { return reading }
        let collection: Payment.Collection
        switch collected {
        case .none: return reading
        // It has ended, as its webhook says, and another charge has paid.
        case .ended: return shown == .succeeded ? .read(isOurs: true) : reading
        case .underWay:
            return await self.reading(intent, of: nil) {
                let known = try await dependencies.store.payment(belvoID: intent)?.record
                if let known, (try? known.transition(on: .chargeUnderWay)) != known {
                    try await confirm(receipt, shows: collected, for: intent)
                }
                try await PaymentWorkflow(dependencies: dependencies).noteUnderWay(intent, cause: .webhook)
                // The payment's row says so from now on, whatever Belvo shows of the intent.
                return .read(isOurs: true)
            }
        // Money may have come of which Belvo shows nothing else: a person finds out.
        case .maybe(let read) where shown == .failed: collection = read
        case .maybe where shown == .succeeded: return .read(isOurs: true)
        case .maybe:
            let noted = await noting(receipt, collected: .underWay, for: intent, after: reading)
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
            if try await dependencies.store.payment(belvoID: intent)?.record.isDisputed(by: collection) ?? false {
                try await confirm(receipt, shows: collected, for: intent)
            }
            try await PaymentWorkflow(dependencies: dependencies).noteCollected(
                intent, by: collection, cause: .webhook)
            // The payment's row says so from now on: nothing has to be read again.
            return .read(isOurs: true)
        }
    }

    /// Throws unless a second reading of a charge or a transaction shows the same: one odd reading disputes no payment,
    /// and takes none for another one's money.
    private func confirm(
        _ receipt: WebhookReceipt, shows collected: CollectedMoney, for intent: UUID
    ) async throws {
        guard let kind = WebhookKind(rawValue: receipt.type), let object = receipt.object else { return }
        let owner = try await dependencies.store.owners(ofObjects: [intent])[intent]
        switch await readMovement(object, kind, of: owner) {
        case .belongs(to: intent, let again) where again == collected: return
        // One whose word is not known counts as under way.
        case .belongs(to: intent, .maybe) where collected == .underWay: return
        case .ends(.failed(let error)): throw error
        case .ends(.absent(let error)): throw error
        default: throw SyncDeferred.readingsDiffer
        }
    }

    /// The change of a webhook's row after a reading; nil where nothing is to be written.
    ///
    /// Where a webhook says more than Belvo shows, the reading may lag: it is read again before the webhook
    /// is closed, because that payment may not be polled any more.
    ///
    /// `intent` is the one that a movement was read to belong to.
    func settlement(
        of receipt: Stored<WebhookReceipt>, after reading: Reading, intent: UUID? = nil
    ) -> WebhookSettlement? {
        let age = receipt.age
        let failure: any Error
        var isAbsent = false
        switch reading {
        case .interrupted: return nil
        case .read(isOurs: true, let status?) where receipt.record.isAhead(of: status):
            guard age < WebhookKind.lagMax else {
                logNeverShown(receipt.record)
                return WebhookSettlement(of: receipt, outcome: .done)
            }
            failure = BelvoError.malformedAnswer(reason: "it shows less than the webhook says")
        case .read(let isOurs, _): return WebhookSettlement(of: receipt, outcome: isOurs ? .done : .notOurs)
        case .absent where age >= WebhookKind.lagMax:
            if receipt.record.mayTellOfPayment { logNeverShown(receipt.record) }
            return WebhookSettlement(of: receipt, outcome: .notOurs)
        case .absent(let error):
            isAbsent = true
            failure = error
        case .failed(let error): failure = error
        }
        guard age < Self.retryMax else {
            dependencies.log.error("webhook.expired", metadata: ["webhook_id": "\(receipt.record.id)"])
            return WebhookSettlement(of: receipt, outcome: .expired)
        }
        dependencies.log.warning(
            "webhook.unreadable", metadata: ["webhook_id": "\(receipt.record.id)", "reason": "\(failure)"])
        return WebhookSettlement(
            of: receipt, outcome: .received, nextPoll: pause(after: age, failure), isAbsent: isAbsent, intent: intent)
    }

    private func logNeverShown(_ receipt: WebhookReceipt) {
        dependencies.log.error(
            "webhook.never_shown",
            metadata: [
                "webhook_id": "\(receipt.id)",
                "object_id": "\(receipt.object.map { $0.uuidString.lowercased() } ?? "")",
            ])
    }

    /// How long a webhook rests whose reading has failed: 1 s, 2 s and 4 s, however rarely records are polled; then
    /// longer and longer. While Belvo is away it does not grow by as much: none shall wait long when Belvo is back.
    private func pause(after age: Duration, _ failure: any Error) -> Duration {
        if age < .seconds(7) { return retryPause(after: age) }
        let pauseMax: Duration =
            if dependencies.gate.isShut {
                .seconds(5)  // Calls are few then.
            } else if let failure = failure as? BelvoError, failure.speaksOfOutage {
                age < .seconds(600) ? .seconds(10) : .seconds(60)
            } else if failure is SyncDeferred {
                .seconds(120)  // Until then it keeps a reference.
            } else {
                .seconds(900)
            }
        return max(min(age / 4, pauseMax), dependencies.timeouts.pollInterval)
    }

    private func origin(of owner: Store.ObjectOwner?, isAgain: Bool = false) -> CallOrigin {
        guard let owner else { return isAgain ? origin.again : origin }
        let known = origin.reading(of: owner.subject)
        return owner.institution.map { known.about($0) } ?? known
    }

    private func reading(
        _ object: UUID, of owner: Store.ObjectOwner?, isAgain: Bool = false, _ body: () async throws -> Reading
    ) async -> Reading {
        do {
            return try await CallOrigin.$current.withValue(origin(of: owner, isAgain: isAgain)) { try await body() }
        } catch let error as BelvoError {
            if case .notFound = error { return .absent(error) }
            return .failed(error)
        } catch let error as SyncDeferred {
            return .failed(error)
        } catch {
            dependencies.log.warning(
                "poll.failed",
                metadata: [
                    "worker": "webhooks", "record_id": "\(object.uuidString.lowercased())", "reason": "\(error)",
                ])
            return .interrupted
        }
    }
}

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

/// How long to wait before the next attempt to read or to send, after so long a time: 1 s, 2 s, 4 s and so on, a minute
/// at most.
private func retryPause(after age: Duration) -> Duration {
    var pause = Duration.seconds(1)
    while pause < .seconds(60), age >= pause * 2 - .seconds(1) { pause *= 2 }
    return min(pause, .seconds(60))
}
