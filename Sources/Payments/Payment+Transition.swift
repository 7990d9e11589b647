import FoundationEssentials

extension Payment {
    /// The events of a payment.
    public enum Event: Sendable, Equatable {
        /// The assertion with this digest is about to be sent.
        case authorizationSent(digest: [UInt8])
        /// Belvo took the assertion.
        case authorizationAccepted
        /// Nothing of the assertion has left this machine. `sentBefore`: whether an earlier attempt was sent.
        case authorizationKeptBack(sentBefore: Bool)
        /// An answer says that the assertion was not let in: it may be sent again, and may have arrived all the same.
        case authorizationNotLetIn
        /// Belvo was read, or answered with the payment.
        case reported(Report)
        /// A charge or a transaction of it has collected money.
        case collected(Collection)
        /// A charge of it is under way: it was signed, whatever Belvo shows of it.
        case chargeUnderWay
        /// Belvo shows another payment with its transfer, and this one by now with `own`, if with any. `isPaid`:
        /// whether it shows this one as SUCCEEDED.
        case transferIsAnothers(own: EndToEndID?, isPaid: Bool)
        /// Belvo refused to create it, or never got the call.
        case refused(Failure)
        /// The state has lasted too long, and Belvo has just been read.
        case timedOut
        /// Belvo answered its creation with this id, and with something that differs from what was asked for.
        case acknowledged(UUID)
        /// The creation was sent, and Belvo does not know of it.
        case creationLost
        /// The creation was sent, and neither its answer nor a reading says what became of it.
        case creationUnknown
        /// The user gives it up. `isFreshlyRead`: whether Belvo was read just before.
        case cancelRequested(isFreshlyRead: Bool)
    }

    /// The content of Belvo's answer about a payment intent.
    public struct Report: Sendable, Equatable {
        public var belvoID: UUID
        public var externalID: String?
        public var status: ProviderStatus
        public var providerStatus: String
        public var amount: Money?
        public var currency: String?
        public var customer: UUID?
        public var beneficiaryBankAccount: UUID?
        public var enrollment: UUID?
        public var facts: ProviderFacts
        public var fidoOptions: [UInt8]?
        public var failureCode: String?
        public var failureMessage: String?
        /// Its charges that have collected money.
        public var collected: [Collection]
        /// Whether it shows charges, and each of them has ended without collecting.
        public var hasOnlyEndedCharges: Bool
        /// Whether a second reading showed the same.
        public var isReadTwice = false

        public init(
            belvoID: UUID, externalID: String?, status: ProviderStatus, providerStatus: String, amount: Money?,
            currency: String?, customer: UUID?, beneficiaryBankAccount: UUID?, enrollment: UUID?,
            facts: ProviderFacts, fidoOptions: [UInt8]?, failureCode: String?, failureMessage: String?,
            collected: [Collection] = [], hasOnlyEndedCharges: Bool = false
        ) {
            self.belvoID = belvoID
            self.externalID = externalID
            self.status = status
            self.providerStatus = providerStatus
            self.amount = amount
            self.currency = currency
            self.customer = customer
            self.beneficiaryBankAccount = beneficiaryBankAccount
            self.enrollment = enrollment
            self.facts = facts
            self.fidoOptions = fidoOptions
            self.failureCode = failureCode
            self.failureMessage = failureMessage
            self.collected = collected
            self.hasOnlyEndedCharges = hasOnlyEndedCharges
        }
    }

    /// The names of the members in which a report differs from what was asked for; empty when it is this payment, as
    /// asked.
    ///
    /// In a report of SUCCEEDED a missing member differs; for every other status a member differs only if it is there.
    /// A foreign payment was not asked for here: it is compared with what Belvo showed before.
    public func differences(from report: Report) -> [String] {
        let isWhole = report.status == .succeeded
        func differs<Value: Equatable>(_ theirs: Value?, _ ours: Value?) -> Bool {
            theirs != ours && (isWhole || theirs != nil)
        }
        // Of a foreign one Belvo may leave out any of these, at any time.
        func partyDiffers(_ theirs: UUID?, _ ours: UUID?) -> Bool {
            differs(theirs, ours) && (origin == .own || theirs != nil && ours != nil)
        }
        var names: [String] = []
        if let belvoID, belvoID != report.belvoID { names.append("id") }
        if origin == .own, differs(report.externalID, id.description) { names.append("external_id") }
        if differs(report.amount, amount) { names.append("amount") }
        if differs(report.currency, Money.currency) { names.append("currency") }
        if differs(report.customer, parties.customer) { names.append("customer") }
        if partyDiffers(report.beneficiaryBankAccount, parties.beneficiaryBankAccount) {
            names.append("beneficiary_bank_account")
        }
        if partyDiffers(report.enrollment, parties.enrollment) { names.append("enrollment") }
        if isWhole, origin == .own, report.facts.endToEndID == nil { names.append("end_to_end_id") }
        return names
    }

    /// Whether Belvo takes its own last status back with this report, be it SUCCEEDED or FAILED. It changes no state:
    /// an operator has to act. Of these only a FAILED that is taken back is kept (`contradiction`).
    public func isLastStatusTakenBack(by report: Report) -> Bool {
        guard isClosedAtBelvo else { return false }
        return switch state {
        case .succeeded: report.status == .failed && differences(from: report).isEmpty
        // Whatever else the report shows: the intent of this id is not at its end, and money may move.
        case .failed: belvoID == report.belvoID && mayMoveMoney(report.status)
        default: false
        }
    }

    /// Whether a status after FAILED means that money may move. Belvo may show a payment that was signed as PENDING.
    private func mayMoveMoney(_ status: ProviderStatus) -> Bool {
        switch status {
        case .processing, .unknown: true
        case .pending: isMaybeSigned
        case .succeeded: contradiction?.isSettled != true
        case .failed: false
        }
    }

    /// This payment without an end-to-end id that belongs to another one; and without a success that rests on it.
    public func withoutRepeatedEndToEndID(before: Payment) -> Payment {
        var plain = state == .succeeded ? before : self
        plain.facts.endToEndID = nil
        plain.wasSeenSigned = plain.wasSeenSigned || state == .succeeded
        return plain
    }

    /// Whether its transfer may be another payment's, where Belvo shows this one with `own` by now, if with any, and as
    /// SUCCEEDED or not.
    ///
    /// What was paid keeps it until Belvo shows it paid by another. What has failed gives it up, unless it has brought
    /// money and no operator has settled yet that it has not.
    private func mayGiveUpTransfer(for own: EndToEndID?, isPaid: Bool) -> Bool {
        guard let transfer = facts.endToEndID, transfer != own, contradiction == nil else { return false }
        let hasCollected = collectedBy.contains(transfer.description)
        return switch state {
        case .failed: isClosedAtBelvo || !hasCollected
        case .succeeded: own != nil && isPaid
        default: !hasCollected || own != nil && isPaid
        }
    }

    /// The payment after the event: the one place that says which changes there are.
    ///
    /// Throws when the event does not apply to the present state; the caller then reads the record again.
    public func transition(on event: Event) throws(TransitionRefused) -> Payment {
        var next = self
        switch (state, event) {
        case (_, .chargeUnderWay): next.wasSeenSigned = next.wasSeenSigned || !isClosedAtBelvo
        case (_, .transferIsAnothers(let own, let isPaid)) where mayGiveUpTransfer(for: own, isPaid: isPaid):
            next.facts.endToEndID = own
        case (_, .reported(let report)): next.apply(report)
        case (_, .collected(let collection)): next.noteCollected([collection])
        // A foreign record is not signed or canceled from here, nor given up by time.
        case (.succeeded, _), (.failed, _), (.foreign, _): throw refusal(of: event)

        case (.creating, .creationUnknown): break
        case (.creating, .acknowledged(let id)): next.belvoID = belvoID ?? id

        // What may be known at Belvo is given up when it is known there, or known to be absent.
        case (.creating, .cancelRequested): next.isCancelRequested = true
        case (.awaitingOptions, .cancelRequested(let isRead)) where !isMaybeSigned,
            (.awaitingSignature, .cancelRequested(let isRead)) where !isMaybeSigned:
            next.isCancelRequested = true
            next.fail(.canceled)
            next.isReleased = isRead

        case (.awaitingSignature, .authorizationSent(let digest)) where !isCancelRequested && !wasSeenSigned:
            next.assertionDigest = digest
            next.wasAuthorizeSent = true
            next.state = .authorizing
        case (.authorizing, .authorizationAccepted): next.isAuthorizationAccepted = true
        case (.authorizing, .authorizationKeptBack(let sentBefore)):
            next.wasAuthorizeSent = sentBefore
            next.awaitSignatureAgain()
        case (.authorizing, .authorizationNotLetIn): next.awaitSignatureAgain()

        case (.creating, .refused(let failure)):
            next.fail(failure)
            next.isReleased = true
        case (.creating, .creationLost):
            next.fail(isCancelRequested ? .canceled : .creationLost)
            next.isReleased = true
        // Never by time once it may be signed: the bank may still pay it.
        case (_, .timedOut) where isMaybeSigned: next.isInDoubt = true
        case (_, .timedOut):
            next.fail(isCancelRequested ? .canceled : .timedOut)
            next.isReleased = true
        default: throw refusal(of: event)
        }
        return next
    }

    /// Belvo's status of what is paid.
    private static let paidWord = "SUCCEEDED"

    /// Takes over what Belvo says. Money that a charge has collected counts, whatever word the same answer has for the
    /// intent.
    private mutating func apply(_ report: Report) {
        let collected = (belvoID ?? report.belvoID) == report.belvoID ? report.collected : []
        let isPaid = report.status == .succeeded && differences(from: report).isEmpty
        if !isPaid { noteCollected(collected) }
        takeOver(report)
        if isPaid { noteCollected(collected) }
    }

    /// Takes over the status and the facts of a report, unless Belvo itself has already shown a last status.
    ///
    /// A report that differs from what was asked for counts only as a sign that money may be moving; the record stays
    /// as it is and the caller raises the alarm.
    private mutating func takeOver(_ report: Report) {
        let wasContradicted = contradiction != nil
        if let known = contradiction, known.isSettled, [.succeeded, .failed].contains(report.status),
            differences(from: report).isEmpty
        {
            // SUCCEEDED is taken over at once, FAILED by a second reading that shows it: one may lag.
            if report.status == .succeeded || known.wasFailureShown {
                contradiction = nil
                isClosedAtBelvo = false
            }
            providerStatus = report.providerStatus
        } else if state == .failed, isLastStatusTakenBack(by: report) {
            // No later reading ends it, nor takes back that Belvo showed it as paid: one may lag. An operator ends it,
            // by settling the alarm.
            if providerStatus != Self.paidWord { providerStatus = report.providerStatus }
            contradiction = contradiction ?? Contradiction()
        }
        if isClosedAtBelvo {
            // Nothing else reads it again: what Belvo shows late is taken over as well.
            let isCompleted = parties.beneficiaryBankAccount == nil && differences(from: report).isEmpty
            if isCompleted || report.isReadTwice { takeForeignTerms(report) }
            // One that was made without us counts as paid before Belvo names its transfer.
            if origin == .foreign, state == .succeeded, facts.endToEndID == nil, report.status == .succeeded,
                differences(from: report).isEmpty
            {
                facts.take(report.facts)
            }
            return
        }
        guard differences(from: report).isEmpty else {
            if report.status.isSigned { wasSeenSigned = true }
            takeForeignTerms(report)
            return
        }
        takeForeignTerms(report)
        belvoID = belvoID ?? report.belvoID
        providerStatus = report.providerStatus
        facts.take(report.facts)
        // A foreign one is not signed here.
        if origin == .own { fidoOptions = fidoOptions ?? report.fidoOptions }
        switch report.status {
        case .succeeded:
            state = .succeeded
            isInDoubt = false
            failure = nil
            isClosedAtBelvo = true
        case .failed:
            fail(Failure(code: report.failureCode ?? "unexpected", message: report.failureMessage, authority: .belvo))
            isClosedAtBelvo = true
            if !collectedBy.isEmpty, !wasContradicted { contradiction = Contradiction() }
        case .pending, .processing, .unknown:
            if report.status.isSigned { wasSeenSigned = true }
            if state == .creating || state == .awaitingOptions {
                state = fidoOptions == nil ? .awaitingOptions : .awaitingSignature
            }
            guard !isMaybeSigned else { return }
            // Given up before it was known; unless it was authorized elsewhere meanwhile.
            if isCancelRequested, status == .pending { fail(.canceled) }
            if state == .failed { isReleased = true }
        }
    }

    /// Money was collected for it: it was signed, whatever Belvo shows of the intent. Belvo's FAILED is contradicted,
    /// be it shown before or later, and an operator has to find out which is true. What he has settled is contradicted
    /// anew by another collection, and not by the same.
    private mutating func noteCollected(_ collections: [Collection]) {
        guard state != .succeeded, !collections.isEmpty else { return }
        let isNew = !collections.allSatisfy { $0.isKnown(in: collectedBy) }
        collectedBy = collections.reduce(collectedBy) { $1.noted(in: $0) }
        if !isClosedAtBelvo {
            wasSeenSigned = true
        } else if isNew, contradiction?.isSettled ?? true {
            contradiction = Contradiction()
        }
    }

    /// Takes over what Belvo shows a foreign payment to be: it was not asked for here, so the latest reading counts.
    /// Where it differs from the one before, its status counts only when the next one shows the same.
    private mutating func takeForeignTerms(_ report: Report) {
        guard origin == .foreign, belvoID == report.belvoID, report.customer == parties.customer,
            report.currency == Money.currency
        else { return }
        amount = report.amount ?? amount
        parties.enrollment = report.enrollment ?? parties.enrollment
        parties.beneficiaryBankAccount = report.beneficiaryBankAccount ?? parties.beneficiaryBankAccount
    }

    private mutating func awaitSignatureAgain() {
        assertionDigest = nil
        isInDoubt = false
        state = .awaitingSignature
    }

    private mutating func fail(_ failure: Failure) {
        state = .failed
        isInDoubt = false
        self.failure = failure
    }

    private func refusal(of event: Event) -> TransitionRefused {
        TransitionRefused(state: state.rawValue, event: event.name)
    }
}

extension Payment.ProviderFacts {
    /// Takes over what the other has; what it leaves out stays.
    mutating func take(_ other: Payment.ProviderFacts) {
        provider = other.provider ?? provider
        consentID = other.consentID ?? consentID
        endToEndID = other.endToEndID ?? endToEndID
        externalPaymentID = other.externalPaymentID ?? externalPaymentID
        providerRequestID = other.providerRequestID ?? providerRequestID
    }
}

extension Payment.Event {
    /// The event's name, without what it carries.
    public var name: String {
        switch self {
        case .authorizationSent: "authorization_sent"
        case .authorizationAccepted: "authorization_accepted"
        case .authorizationKeptBack: "authorization_kept_back"
        case .authorizationNotLetIn: "authorization_not_let_in"
        case .reported: "reported"
        case .collected: "collected"
        case .chargeUnderWay: "charge_under_way"
        case .transferIsAnothers: "transfer_is_anothers"
        case .refused: "refused"
        case .timedOut: "timed_out"
        case .acknowledged: "acknowledged"
        case .creationLost: "creation_lost"
        case .creationUnknown: "creation_unknown"
        case .cancelRequested: "cancel_requested"
        }
    }
}
