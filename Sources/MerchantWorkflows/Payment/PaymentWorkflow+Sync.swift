import Belvo
import FoundationEssentials
import Logging
import MerchantModel
import MerchantStore
import Payments

// What comes from outside about an intent: a webhook.
extension PaymentWorkflow {
    /// Reads an intent that a webhook named, and records Belvo's status, which is returned; one that is new here is
    /// imported. Nil when its customer is none of ours.
    ///
    /// `age` is how long the webhook has waited, or nil where there is none: then the intent's own age counts. One that
    /// is new may lack members that Belvo shows later. While the age is less than `lag`, a reading that seems to go on
    /// after the end is not believed; the webhook is worked on again, and until then the payment keeps its reference
    /// (`takes_reference`).
    ///
    /// `first` is a reading of it that has just been made. Money that one reading shows of what has failed keeps the
    /// reference until it is recorded, or for 20 s: the reading that has to agree may take long, fail, or show none
    /// (`SyncDeferred` is thrown), while other requests see copies that lag.
    func syncFromBelvo(
        _ id: Belvo.PaymentIntent.ID, shownAs first: Belvo.PaymentIntent? = nil, after age: Duration? = nil,
        lag: Duration = .zero, on context: CallContext
    ) async throws -> ProviderStatus? {
        var remote: Belvo.PaymentIntent
        if let first {
            remote = first
        } else {
            remote = try await dependencies.belvo.readPaymentIntent(id, trace: context.trace)
        }
        var seen = report(remote)
        var isReadAgain = false
        // Whether others of its name were looked for, where it is heard of by its name.
        var listing: Listing?
        for _ in 0..<attemptsMax {
            guard let stored = try await stored(remote) else {
                let result = try await holdingName(shownBy: remote) {
                    try await importForeign(remote, seen, after: age, on: context)
                }
                switch result {
                case .imported: return seen.status
                case .notOurs: return nil
                // Another writer was faster: there is a row now.
                case .overtaken: continue
                }
            }
            let known = stored.record
            // What is to be set right is named by what is known of it, or after that: its event would tell of money
            // that was never paid.
            let isWrong = known.isClosedAtBelvo && known.hasOtherTerms(than: seen)
            if try await nameImported(known, as: remote, byTermsShown: !isWrong, isHeard: age != nil) { continue }
            if known.belvoID == nil, listing == nil {
                listing = try await takeBetter(
                    than: remote, seen, for: stored, after: age ?? WebhookKind.lagMax, cause: context.cause)
                if listing == .showsBetter { continue }
            }
            // It may have been read from a copy that lags, or before the end was recorded that it seems to take back.
            if !isReadAgain, known.contradiction == nil, known.isLastStatusTakenBack(by: seen) {
                let hasShownMoney = seen.mayHavePaid
                if !hasShownMoney, (age ?? WebhookKind.lagMax) < lag, seen.status.end == nil {
                    throw SyncDeferred.takesLastStatusBack
                }
                if known.state == .failed, hasShownMoney { try await holdMoney(shownOf: id) }
                remote = try await dependencies.belvo.readPaymentIntent(id, trace: context.trace)
                seen = report(remote)
                isReadAgain = true
                if known.state == .failed, hasShownMoney, !seen.mayHavePaid, !known.isLastStatusTakenBack(by: seen) {
                    throw SyncDeferred.readingsDiffer
                }
                continue
            }
            // A status that Belvo takes back may become another end, and nothing else reads a paid payment.
            if known.state == .succeeded, seen.status.end == nil {
                throw BelvoError.malformedAnswer(reason: "it shows less than what was paid")
            }
            if known.belvoID == nil, listing == .unread { try await lookUpLater(known.id) }
            // Belvo may show the charge that has paid a moment later.
            if known.state == .succeeded, stored.clock.now - stored.updatedAt < .seconds(15) {
                seen.hasOnlyEndedCharges = false
            }
            // It was imported as two readings showed it: two others that agree set it right.
            if isWrong, !seen.isReadTwice {
                try await confirm(remote, on: context)
                seen.isReadTwice = true
            }
            let event = Payment.Event.reported(try await raisingAlarms(about: seen, against: known))
            // Many webhooks may name the same object at once, and must not block each other to write nothing new.
            if let next = try? known.transition(on: event), next == known { return seen.status }
            let written = try await recordEvent(event, on: stored, cause: context.cause)
            if isWrong { try await nameImported(written.record, as: remote) }
            if known.state == .failed, seen.mayHavePaid { try await releaseMoney(shownOf: id) }
            // Another intent of its name may have become the payment meanwhile: then this one is another.
            if let belvoID = written.record.belvoID, belvoID != remote.id.uuid { continue }
            return seen.status
        }
        throw WorkflowRefusal.contended
    }

    /// The answer of Belvo's list of a payment's name about an intent that was heard of by that name.
    private enum Listing {
        /// Another intent is the payment.
        case showsBetter
        case showsNoBetter
        case unread
    }

    /// Takes another intent of its name for a payment whose id at Belvo is not known, where that one is the payment
    /// rather (`closest`): Belvo may have several.
    ///
    /// What is under way as it was asked for, and what may have brought money, is never held up by a list that cannot
    /// be read, and nothing is for long.
    private func takeBetter(
        than remote: Belvo.PaymentIntent, _ seen: Payment.Report, for stored: Stored<Payment>, after age: Duration,
        cause: Cause
    ) async throws -> Listing {
        let isUnsigned = seen.status == .failed || seen.status == .pending
        guard isUnsigned || stored.record.fit(of: seen) < .whole else { return .unread }
        let found: Payment.Event?
        do {
            found = try await find(stored.record, at: dependencies.belvo, besides: remote)
        } catch let error as BelvoError {
            guard age < WebhookKind.lagMax, !seen.mayHavePaid else { return .unread }
            throw error
        }
        guard case .reported(let other)? = found, other.belvoID != remote.id.uuid,
            [nil, stored.record.amount].contains(other.amount)
        else { return .showsNoBetter }
        let written = try await recordEvent(.reported(other), on: stored, cause: cause)
        if written.record.belvoID == nil, age < WebhookKind.lagMax { throw SyncDeferred.mayBeOwn }
        return .showsBetter
    }

    /// The payment that Belvo shows: found by Belvo's id, or by ours while the answer to its creation is in transit.
    private func stored(_ remote: Belvo.PaymentIntent) async throws -> Stored<Payment>? {
        if let known = try await dependencies.store.payment(belvoID: remote.id.uuid) { return known }
        guard let own = remote.externalID.flatMap({ Payment.ID($0) }),
            let stored = try await dependencies.store.payment(own)
        else { return nil }
        // Any client may use our ids as names; of another customer it is another payment.
        if let payer = remote.customer, payer.uuid != stored.record.parties.customer { return nil }
        guard let known = stored.record.belvoID, known != remote.id.uuid else { return stored }
        try await noteTwin(remote.id.uuid, of: known, of: own)
        return nil
    }
}

// A foreign intent.
extension PaymentWorkflow {
    /// Imports a foreign intent, if its customer is one of ours.
    ///
    /// An app cannot pay an order by making an intent itself. It names a reference, and counts under the order, only
    /// where it is a payment of ours that Belvo has twice: whichever of the two is paid, the reference is.
    private func importForeign(
        _ remote: Belvo.PaymentIntent, _ report: Payment.Report, after age: Duration?, on context: CallContext
    ) async throws -> ForeignRecordImport {
        if remote.customer == nil, let age, age < WebhookKind.lagMax { throw SyncDeferred.incomplete("customer") }
        // Many have no name of their own, and some no account, so that is believed within seconds.
        if let age, age < .seconds(5) {
            if remote.isNameless { throw SyncDeferred.incomplete("external_id") }
            if report.beneficiaryBankAccount == nil { throw SyncDeferred.incomplete("beneficiary_bank_account") }
        }
        try await confirm(remote, on: context)
        guard let payer = remote.customer, let owner = try await dependencies.store.owner(belvoID: payer.uuid) else {
            return .notOurs
        }
        if try await isNameContested(remote) { throw SyncDeferred.readingsDiffer }
        let named = try await payment(namedBy: remote, of: owner.subject)
        let recent = try await dependencies.store.recentPayments(of: owner.subject, over: report.amount)
        if !remote.showsPaymentID, named != nil || remote.isNameless && recent.isAnyUnknown,
            age ?? owner.age(of: remote.createdAt) < WebhookKind.lagMax
        {
            throw SyncDeferred.incomplete("external_id")
        }
        // An intent named after a payment of theirs counts also after the person was erased.
        if owner.isErased, named == nil { return .notOurs }
        // Under whatever name Belvo shows it, it may be the one that is being made here: its answer shows it.
        if try await dependencies.store.hasPaymentInFlight(of: owner.subject) {
            throw SyncDeferred.mayBeOwn
        }
        // A record without an amount in reais would say nothing of the money; Belvo may show it later.
        guard let centavos = remote.amountCentavos, centavos > 0 else { throw SyncDeferred.incomplete("amount") }
        guard remote.currency == Money.currency else { throw SyncDeferred.incomplete("currency") }
        // What goes to another account than the shop's is no payment of its.
        let isTwin = named?.isTwin(report) ?? false
        let seen = Payment(
            id: Payment.ID(dependencies.identities.next()), origin: .foreign, subject: owner.subject,
            enrollment: try await enrollment(of: remote, of: owner, on: context),
            parties: Payment.Parties(
                customer: payer.uuid, enrollment: report.enrollment,
                beneficiaryBankAccount: report.beneficiaryBankAccount),
            amount: Money(centavos: centavos),
            // Texts that an app could not have sent through here are left out: nothing depends on them.
            description: owner.isErased ? nil : remote.purpose.flatMap { try? PaymentDescription($0) },
            statementDescription: owner.isErased
                ? nil : remote.statementDescription.flatMap { try? StatementDescription($0) },
            reference: isTwin ? named?.reference : nil,
            metadata: owner.isErased ? nil : remote.metadata.flatMap { try? Metadata(json: $0.bytes) },
            belvoIdempotencyKey: nil,
            createdAt: owner.moment(remote.createdAt))
        let payment = try seen.transition(on: .reported(report))
        // A twin holds the reference of its payment; where there is none, its name links the two (`bears_name_of`).
        let name = isTwin && named?.reference != nil ? nil : named?.id
        if let imported = try await write(payment, seen: seen, of: owner, named: name, on: context) {
            logImport(imported, remote)
            // It may be another one of theirs, of which Belvo has several: what it shows as its name later counts.
            if remote.isNameless, named == nil, recent.isAny { try await readOnceMore(remote.id) }
            if imported.record.state == .succeeded {
                try await logAlarms(of: imported.record.id)
                try await raiseIfPaidTwice(imported.record, by: report.collected.map(\.transfer))
            }
            return .imported
        }
        // Overtaken; or two payments are to be one Pix, and this one is not believed.
        guard payment.facts.endToEndID != nil, try await dependencies.store.payment(belvoID: remote.id.uuid) == nil
        else {
            return .overtaken
        }
        if try await releaseTransfer(to: payment, cause: context.cause) { return .overtaken }
        let open = try seen.transition(on: .reported(report.undecided))
        guard let imported = try await write(open, seen: seen, of: owner, named: name, on: context) else {
            return .overtaken
        }
        dependencies.log.critical("payment.end_to_end_id_repeated", metadata: ["payment_id": "\(imported.record.id)"])
        _ = try await dependencies.store.raise(.endToEndIDRepeated, of: imported.record.id, "made without us")
        logImport(imported, remote)
        return .imported
    }

    /// Throws unless a second reading shows the same intent: its customer, its name and its terms decide for good
    /// whether it counts, and for which payment.
    private func confirm(_ remote: Belvo.PaymentIntent, on context: CallContext) async throws {
        let first = report(remote)
        try await confirm(remote, trace: context.trace) { report($0).isSame(as: first) }
    }

    private func confirmName(of remote: Belvo.PaymentIntent) async throws {
        try await confirm(remote) { $0.externalID == remote.externalID }
    }

    /// Throws unless a second reading agrees. The payment that it names is held then, as the one that the first named.
    private func confirm(
        _ remote: Belvo.PaymentIntent, trace: TraceParent? = nil, agrees: (Belvo.PaymentIntent) -> Bool
    ) async throws {
        let again = try await dependencies.belvo.readPaymentIntent(remote.id, trace: trace)
        guard agrees(again) else {
            _ = try await holdName(shownBy: again)
            throw SyncDeferred.readingsDiffer
        }
    }

    /// Whether Belvo's webhooks have lately named an intent after another payment than Belvo shows. Either may be
    /// wrong.
    private func isNameContested(_ remote: Belvo.PaymentIntent) async throws -> Bool {
        guard let shown = remote.externalID.flatMap({ Payment.ID($0) }) else { return false }
        return try await dependencies.store.isNameContested(ofIntent: remote.id.uuid, shownAs: shown)
    }

    /// Keeps a payment from being signed whose name a reading shows of another intent, until that one is imported, or
    /// was read anew: the reading that is to confirm it may fail, or show another name, which is kept as well.
    private func holdingName(
        shownBy remote: Belvo.PaymentIntent, _ body: () async throws -> ForeignRecordImport
    ) async throws -> ForeignRecordImport {
        guard let name = try await holdName(shownBy: remote) else { return try await body() }
        let result = try await body()
        if result != .overtaken { try await releaseName(of: name, shownOf: remote.id) }
        return result
    }

    /// The payment whose name the reading shows, which is not signed from now on; nil where it is none of the same
    /// customer's.
    private func holdName(shownBy remote: Belvo.PaymentIntent) async throws -> Payment.ID? {
        guard let name = remote.externalID.flatMap({ Payment.ID($0) }),
            let payment = try await dependencies.store.payment(name)?.record,
            [nil, payment.parties.customer].contains(remote.customer?.uuid)
        else { return nil }
        try await holdName(of: name, shownBy: remote)
        return name
    }

    /// The user's payment whose id is the intent's `external_id`, or that its webhooks name where Belvo shows no such
    /// name. Where both are equal in all but Belvo's id the intent is its twin; else it is another payment, since any
    /// client can give an intent any name.
    private func payment(namedBy remote: Belvo.PaymentIntent, of subject: UserSubject) async throws -> Payment? {
        var name = remote.externalID.flatMap { Payment.ID($0) }
        if name == nil { name = try await dependencies.store.nameToldOfIntent(remote.id.uuid) }
        guard let name, let known = try await dependencies.store.payment(name)?.record, known.subject == subject,
            known.belvoID != remote.id.uuid
        else { return nil }
        return known
    }

    /// Gives an imported payment the name of ours that Belvo, or a webhook, shows only now, and with it the reference
    /// of that payment where it is its twin: at once, or once a later reading shows that. A name that Belvo shows has
    /// to be in a second reading, too: it binds the two for good. True where the row has changed.
    ///
    /// `isHeard` is whether a webhook had it read, which is worked on again where Belvo's webhooks name another
    /// payment.
    @discardableResult
    func nameImported(
        _ known: Payment, as remote: Belvo.PaymentIntent, byTermsShown: Bool = true, isHeard: Bool = false
    ) async throws -> Bool {
        guard known.origin == .foreign, let named = try await payment(namedBy: remote, of: known.subject) else {
            return false
        }
        guard try await !bearsAnotherName(known, than: named) else {
            if remote.showsPaymentID { try await raiseIfNamedOtherwise(known, as: remote) }
            return false
        }
        guard known.reference == nil else { return false }
        let isTwin = named.isTwin(known, shownAs: byTermsShown ? report(remote) : nil)
        guard isTwin || byTermsShown else { return false }
        let reference = isTwin ? named.reference : nil
        var isConfirmed = !remote.showsPaymentID
        for _ in 0..<attemptsMax {
            let unnamed = try await dependencies.store.unnamed(known.id, orBearing: reference == nil ? nil : named.id)
            guard let stored = unnamed else { return false }
            if !isConfirmed {
                try await holdName(of: named.id, shownBy: remote)
                if try await isNameContested(remote) {
                    if isHeard { throw SyncDeferred.readingsDiffer }
                    return false
                }
                try await confirmName(of: remote)
                isConfirmed = true
            }
            var next = stored.record
            next.reference = reference
            let isNamed = try await dependencies.store.name(
                stored, reference: reference, bearing: reference == nil ? named.id : nil,
                emitting: dependencies.event(next, before: stored.record, at: stored.clock.now))
            guard isNamed else { continue }
            dependencies.log.warning(
                "payment.named_late", metadata: ["payment_id": "\(known.id)", "external_id": "\(named.id)"])
            if let other = named.belvoID { try await noteTwin(remote.id.uuid, of: other, of: named.id) }
            try await logAlarms(of: known.id)
            if remote.showsPaymentID { try await releaseName(of: named.id, shownOf: remote.id) }
            return true
        }
        throw WorkflowRefusal.contended
    }

    private func bearsAnotherName(_ known: Payment, than named: Payment) async throws -> Bool {
        if let reference = known.reference { return reference != named.reference }
        return try await dependencies.store.bearsAnotherName(known.id, than: named.id)
    }

    /// Raises the alarm where two readings show an imported payment with the name of another payment than the one it
    /// was joined to: one of the two was wrong, and which is a question to Belvo.
    private func raiseIfNamedOtherwise(_ known: Payment, as remote: Belvo.PaymentIntent) async throws {
        try await confirmName(of: remote)
        try await raiseOnce(.differs, of: known, "external_id is now \(remote.externalID ?? "")")
    }

    /// Takes over what Belvo shows only now of an imported payment that is not polled any more: its name, its transfer,
    /// and that another amount was paid, or to the shop's account.
    func completeImported(_ known: Payment, as remote: Belvo.PaymentIntent, cause: Cause) async throws {
        let seen = report(remote)
        if known.origin == .foreign, known.isClosedAtBelvo, known.hasOtherTerms(than: seen) || known.lacks(seen) {
            _ = try await syncFromBelvo(remote.id, on: CallContext(cause: cause, trace: nil))
        } else {
            try await nameImported(known, as: remote)
        }
    }

    private func write(
        _ payment: Payment, seen: Payment, of owner: Owner, named: Payment.ID?, on context: CallContext
    ) async throws -> Stored<Payment>? {
        try await dependencies.store.importForeign(
            payment, of: owner, named: named,
            plan: .entered(payment.schedule(dependencies.timeouts, signatureTime: nil)), cause: context.cause,
            emitting: dependencies.event(payment, before: seen, at: owner.clock.now))
    }

    /// The enrollment that pays, if the same user has it; imported itself where it is new.
    private func enrollment(
        of remote: Belvo.PaymentIntent, of owner: Owner, on context: CallContext
    ) async throws -> Enrollment.ID? {
        guard let id = remote.enrollment else { return nil }
        var known = try await dependencies.store.enrollment(belvoID: id.uuid)
        if known == nil, !owner.isErased {
            do {
                _ = try await EnrollmentWorkflow(dependencies: dependencies).syncFromBelvo(id, on: context)
            } catch BelvoError.notFound {
                return nil  // The payment is there all the same.
            }
            known = try await dependencies.store.enrollment(belvoID: id.uuid)
        }
        return known?.record.subject == owner.subject ? known?.record.id : nil
    }

    /// An operator should know of money that moves without an order.
    private func logImport(_ imported: Stored<Payment>, _ remote: Belvo.PaymentIntent) {
        dependencies.funnelCounts.count(imported.record)
        dependencies.log.warning(
            "payment.taken_in",
            metadata: [
                "payment_id": "\(imported.record.id)", "belvo_id": "\(remote.id)",
                "state": "\(imported.record.state.rawValue)",
            ])
    }
}

extension Belvo.PaymentIntent {
    /// Whether it shows no `external_id`.
    fileprivate var isNameless: Bool { externalID?.allSatisfy(\.isWhitespace) ?? true }

    /// Whether its `external_id` can be the id of a payment of ours.
    fileprivate var showsPaymentID: Bool { externalID.flatMap { Payment.ID($0) } != nil }
}

extension Payment {
    /// Whether a report shows the account, or the transfer, of a payment of which none is known.
    fileprivate func lacks(_ report: Report) -> Bool {
        parties.beneficiaryBankAccount == nil && report.beneficiaryBankAccount != nil
            || state == .succeeded && facts.endToEndID == nil && report.facts.endToEndID != nil
    }

    /// Whether a report shows another amount or account of a foreign payment than is known.
    fileprivate func hasOtherTerms(than report: Report) -> Bool {
        guard origin == .foreign, belvoID == report.belvoID else { return false }
        func differs<Value: Equatable>(_ theirs: Value?, _ ours: Value?) -> Bool {
            theirs != nil && ours != nil && theirs != ours
        }
        return differs(report.amount, amount)
            || differs(report.beneficiaryBankAccount, parties.beneficiaryBankAccount)
    }
}

extension Payment.Report {
    /// The report without an end-to-end id that is another payment's, and without a status that rests on it.
    fileprivate var undecided: Payment.Report {
        var rest = self
        rest.facts.endToEndID = nil
        if status == .succeeded { rest.status = .unknown }
        return rest
    }
}
