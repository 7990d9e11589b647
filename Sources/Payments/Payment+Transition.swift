import FoundationEssentials

extension Payment {
    /// What can happen to a payment.
    public enum Event: Sendable, Equatable {
        /// The assertion with this digest is about to be sent.
        case authorizationSent(digest: [UInt8])
        /// Belvo took the assertion.
        case authorizationAccepted
        /// The assertion never left, or was not let in: the same one may be sent again.
        case authorizationNotSent
        /// Belvo was read, or answered with the payment.
        case reported(Report)
        /// Belvo refused to create or to authorize it.
        case refused(Failure)
        /// The state has lasted too long.
        case timedOut
        /// The creation was sent, and Belvo does not know of it.
        case creationLost
        /// The creation was sent, and neither its answer nor a look-up says what became of it.
        case creationUnknown
        /// The user gives it up.
        case cancelRequested
    }

    /// What Belvo says of a payment intent.
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

        public init(
            belvoID: UUID, externalID: String?, status: ProviderStatus, providerStatus: String, amount: Money?,
            currency: String?, customer: UUID?, beneficiaryBankAccount: UUID?, enrollment: UUID?,
            facts: ProviderFacts, fidoOptions: [UInt8]?, failureCode: String?, failureMessage: String?
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
        }
    }

    /// In what a report differs from what was asked for; empty when it is this payment, paid as asked.
    ///
    /// A member that is missing differs: before money counts as paid, nothing is guessed. An observed payment was asked
    /// for by somebody else: it has to be what Belvo showed when it was taken in.
    public func differences(from report: Report) -> [String] {
        var names: [String] = []
        if let belvoID, belvoID != report.belvoID { names.append("id") }
        if origin == .own, report.externalID != id.description { names.append("external_id") }
        if report.amount != amount { names.append("amount") }
        if report.currency != Money.currency { names.append("currency") }
        if report.customer != parties.customer { names.append("customer") }
        if report.beneficiaryBankAccount != parties.beneficiaryBankAccount { names.append("beneficiary_bank_account") }
        if report.enrollment != parties.enrollment { names.append("enrollment") }
        if origin == .own, report.facts.endToEndID == nil { names.append("end_to_end_id") }
        return names
    }

    /// This payment without an end-to-end id that belongs to another one; and without a success that rests on it.
    public func withoutRepeatedEndToEndID(before: Payment) -> Payment {
        var plain = state == .succeeded ? before : self
        plain.facts.endToEndID = nil
        return plain
    }

    /// Whether this payment may be given up by time, or another one opened in its place, after Belvo said this of it.
    ///
    /// Not while money may be moving, whoever set it going, and not while anything is unclear.
    public func mayLapse(after report: Report) -> Bool {
        switch report.status {
        case .failed: true
        case .pending: assertionDigest == nil
        case .succeeded, .processing, .unknown: false
        }
    }

    /// The payment after the event: the one place that says which changes there are.
    ///
    /// Throws when the event does not apply to the present state; the caller then reads the record again.
    public func transition(on event: Event) throws(TransitionRefused) -> Payment {
        var next = self
        switch (state, event) {
        case (_, .reported(let report)): next.apply(report)
        // What somebody else made is nobody's to sign or to cancel from here, nor to give up by time.
        case (.succeeded, _), (.failed, _), (.observed, _): throw refusal(of: event)

        case (.creating, .creationUnknown): break

        // What may be known at Belvo is given up when it is known there, or known to be absent.
        case (.creating, .cancelRequested): next.isCancelRequested = true
        case (.awaitingOptions, .cancelRequested), (.awaitingSignature, .cancelRequested):
            next.isCancelRequested = true
            next.fail(.canceled)

        case (.awaitingSignature, .authorizationSent(let digest)) where !isCancelRequested:
            next.assertionDigest = digest
            next.state = .authorizing
        case (.authorizing, .authorizationAccepted): next.isAuthorizationAccepted = true
        case (.authorizing, .authorizationNotSent):
            next.assertionDigest = nil
            next.isInDoubt = false
            next.state = .awaitingSignature

        case (_, .refused(let failure)): next.fail(failure)
        // Never by time once it was authorized: the bank may still pay it.
        case (.authorizing, .timedOut): next.isInDoubt = true
        case (_, .timedOut): next.fail(isCancelRequested ? .canceled : .timedOut)
        case (.creating, .creationLost): next.fail(isCancelRequested ? .canceled : .creationLost)
        default: throw refusal(of: event)
        }
        return next
    }

    /// Takes over what Belvo says, unless Belvo itself has already said the last word.
    ///
    /// A SUCCEEDED that differs from what was asked for changes nothing: the record stays as it is and the caller
    /// raises the alarm.
    private mutating func apply(_ report: Report) {
        if state == .succeeded { return }
        if state == .failed, failure?.authority == .belvo { return }
        if report.status == .succeeded, !differences(from: report).isEmpty { return }
        belvoID = belvoID ?? report.belvoID
        providerStatus = report.providerStatus
        facts.take(report.facts)
        // An observed one is not signed here.
        if origin == .own { fidoOptions = fidoOptions ?? report.fidoOptions }
        switch report.status {
        case .succeeded:
            state = .succeeded
            isInDoubt = false
            failure = nil
        case .failed:
            fail(Failure(code: report.failureCode ?? "unexpected", message: report.failureMessage, authority: .belvo))
        case .pending, .processing, .unknown:
            if state == .creating || state == .awaitingOptions {
                state = fidoOptions == nil ? .awaitingOptions : .awaitingSignature
            }
            // Given up before it was known; unless somebody has authorized it elsewhere meanwhile.
            if isCancelRequested, status == .pending, mayLapse(after: report) { fail(.canceled) }
        }
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
        case .authorizationNotSent: "authorization_not_sent"
        case .reported: "reported"
        case .refused: "refused"
        case .timedOut: "timed_out"
        case .creationLost: "creation_lost"
        case .creationUnknown: "creation_unknown"
        case .cancelRequested: "cancel_requested"
        }
    }
}
