import FoundationEssentials

/// One attempt to pay: at Belvo a payment intent. Creating it moves no money; authorizing it does.
public struct Payment: Sendable, Equatable {
    public typealias ID = Payments.ID<Payment>

    /// The stages in the order in which they come, and the two ends.
    public enum State: String, Sendable, CaseIterable {
        /// Remembered, and asked for; the answer is not known.
        case creating
        /// Belvo has it and has not given the FIDO options yet.
        case awaitingOptions = "awaiting_options"
        /// The user has to sign it with a fingerprint.
        case awaitingSignature = "awaiting_signature"
        /// The signature was sent, or may have been: money may move from here on.
        case authorizing
        /// Made at Belvo without us, and not at its end: followed until Belvo says how it ends.
        case foreign = "observed"
        case succeeded
        case failed
    }

    /// The parties as Belvo knows them, fixed when the payment is made. Of a foreign one Belvo may leave out all but
    /// the customer, and show them later.
    public struct Parties: Sendable, Hashable {
        public let customer: UUID
        public package(set) var enrollment: UUID?
        public package(set) var beneficiaryBankAccount: UUID?

        public init(customer: UUID, enrollment: UUID?, beneficiaryBankAccount: UUID?) {
            self.customer = customer
            self.enrollment = enrollment
            self.beneficiaryBankAccount = beneficiaryBankAccount
        }
    }

    /// The members that Belvo adds to a payment on its way.
    public struct ProviderFacts: Sendable, Equatable {
        public var provider: String?
        public var consentID: String?
        public var endToEndID: EndToEndID?
        public var externalPaymentID: String?
        public var providerRequestID: String?

        public init(
            provider: String? = nil, consentID: String? = nil, endToEndID: EndToEndID? = nil,
            externalPaymentID: String? = nil, providerRequestID: String? = nil
        ) {
            self.provider = provider
            self.consentID = consentID
            self.endToEndID = endToEndID
            self.externalPaymentID = externalPaymentID
            self.providerRequestID = providerRequestID
        }
    }

    /// Belvo called the payment FAILED, and shows since that money may move (`mayMoveMoney`): an operator has to find
    /// out which is true. No reading ends it before an operator has settled the alarm, since one may lag.
    public struct Contradiction: Sendable, Hashable {
        /// An operator has settled the alarm: the next last status that Belvo shows is true. It is true of the moment
        /// of the reading.
        public package(set) var isSettled = false
        /// Belvo showed the payment as FAILED since, some seconds ago: a reading that shows it now does not lag by as
        /// much. It is true of the moment of the reading.
        public package(set) var wasFailureShown = false

        public init(isSettled: Bool = false, wasFailureShown: Bool = false) {
            self.isSettled = isSettled
            self.wasFailureShown = wasFailureShown
        }
    }

    public let id: ID
    public let origin: Origin
    public let subject: UserSubject
    /// Nil only where it is a foreign one's that names no enrollment of the same user.
    public let enrollment: Enrollment.ID?
    /// The institution of that enrollment, as far as the record has been stored: at which the calls about it are made.
    public package(set) var institution: UUID?
    public package(set) var parties: Parties
    /// Fixed, but for a foreign one: what it is Belvo alone knows.
    public package(set) var amount: Money
    /// Both nil only where it is a foreign one's, and Belvo shows none.
    public let description: PaymentDescription?
    public let statementDescription: StatementDescription?
    public var reference: Reference?
    public let metadata: Metadata?
    /// The same for every attempt to send this creation (belvo-api.md §1, `Belvo-Idempotency-Key`); nil where the
    /// creation was not ours.
    public let belvoIdempotencyKey: UUID?
    /// Whether the price is an order's: only such a payment pays the order.
    public let isPricedByOrder: Bool
    public let createdAt: Timestamp

    public package(set) var state: State
    /// Maybe signed, past its deadline, and Belvo has not decided: only Belvo's status ends it.
    public package(set) var isInDoubt: Bool
    public package(set) var belvoID: UUID?
    public package(set) var providerStatus: String?
    public package(set) var facts: ProviderFacts
    /// The exact JSON text that Belvo gave, for the phone.
    public package(set) var fidoOptions: [UInt8]?
    /// The digest of the assertion that was sent, so that the same one is known again.
    public package(set) var assertionDigest: [UInt8]?
    /// Whether Belvo has said that it took the assertion; until then only reading shows it.
    public package(set) var isAuthorizationAccepted = false
    /// The user has given it up; while its creation is not known it cannot be FAILED yet.
    public package(set) var isCancelRequested = false
    public package(set) var failure: Failure?

    // What decides whether Belvo may still pay it. No answer of Belvo takes one of the first four back.

    /// Something of its authorize has left this machine, or may have. It is written before the call; false again only
    /// where this call, and none before it, provably sent nothing (`authorizationKeptBack`).
    public package(set) var wasAuthorizeSent = false
    /// Belvo has shown it as anything but unsigned, by whichever signature.
    public package(set) var wasSeenSigned = false
    /// Belvo has shown a last status of it.
    public package(set) var isClosedAtBelvo = false
    /// It was given up and is known to be unsigned: Belvo was read since, or never had it.
    public package(set) var isReleased = false
    /// The ids of the transfers, charges and transactions that have collected money for it, as far as Belvo showed them
    /// while the payment was not SUCCEEDED here (`Collection`).
    public package(set) var collectedBy: Set<String> = []
    /// Belvo takes the FAILED back that it showed; nil while it does not.
    public package(set) var contradiction: Contradiction?
    /// Its user may hold a token for Belvo's SDK, which can sign it without us (belvo-api.md §2.1). It is true of the
    /// moment of the reading: the token expires.
    public package(set) var isSignableElsewhere = false

    /// A new payment: about to be asked for, or seen at Belvo.
    public init(
        id: ID, origin: Origin = .own, subject: UserSubject, enrollment: Enrollment.ID?, parties: Parties,
        amount: Money, description: PaymentDescription?, statementDescription: StatementDescription?,
        reference: Reference?, metadata: Metadata?, belvoIdempotencyKey: UUID?, isPricedByOrder: Bool = false,
        createdAt: Timestamp
    ) {
        self.id = id
        self.origin = origin
        self.subject = subject
        self.enrollment = enrollment
        self.parties = parties
        self.amount = amount
        self.description = description
        self.statementDescription = statementDescription
        self.reference = reference
        self.metadata = metadata
        self.belvoIdempotencyKey = belvoIdempotencyKey
        self.isPricedByOrder = isPricedByOrder
        self.createdAt = createdAt
        state = origin == .own ? .creating : .foreign
        isInDoubt = false
        facts = ProviderFacts()
    }

    /// Whether Belvo may still pay this payment (reliability.md, promise 1). While it may, the payment is polled,
    /// whatever its own state says.
    ///
    /// This property decides about this payment alone: whether it is polled, what an app does next, and which alarms
    /// are raised. Whether another payment for the reference may be opened or authorized is decided in the database, by
    /// the trigger function `guard_payment`: it refuses while a payment for which `takes_reference` is true exists,
    /// that is one that was paid, is contradicted, is still polled, or has failed and is named by a webhook that has
    /// not been worked on. The two agree on what is polled because the constraint `what_may_be_paid_is_polled` holds
    /// (`may_belvo_pay` is this property without the token). docs/money-rules.md shows these functions as they are.
    public var mayBelvoStillPay: Bool {
        if contradiction != nil { return true }
        if isClosedAtBelvo { return false }
        return isMaybeSigned || !isReleased || isSignableElsewhere && mayBeKnownToBelvo
    }

    /// Whether its creation may have reached Belvo: also one that was refused, since what answers may not be what acts.
    private var mayBeKnownToBelvo: Bool { belvoID != nil || failure != .notSent }

    /// Whether a signature may be at Belvo, sent by this server or from elsewhere: money may be moving.
    public var isMaybeSigned: Bool { wasAuthorizeSent || wasSeenSigned }

    /// The state as the history names it.
    public var historyState: String { isInDoubt ? "in_doubt" : state.rawValue }

    public var status: Status {
        switch state {
        case .succeeded: .succeeded
        case .failed: .failed
        default: .pending
        }
    }

    /// When a creation that was just sent is polled, and counts as lost where Belvo does not show it.
    public static func creationSchedule(_ timeouts: Timeouts) -> Schedule {
        Schedule(firstPoll: timeouts.askingDeadline + .seconds(5), deadline: timeouts.creationGrace)
    }

    /// When a payment in its present state is polled; nothing when Belvo can do nothing more about it.
    ///
    /// `signatureTime` is the life of the challenge as the FIDO options give it.
    public func schedule(_ timeouts: Timeouts, signatureTime: Duration?) -> Schedule? {
        switch state {
        case .creating: return Self.creationSchedule(timeouts)
        case .awaitingOptions: return Schedule(firstPoll: timeouts.pollInterval, deadline: timeouts.pollDeadline)
        case .awaitingSignature:
            let deadline = min(signatureTime.map { $0 + .seconds(60) } ?? timeouts.userDeadline, timeouts.userDeadline)
            return Schedule(firstPoll: isMaybeSigned ? timeouts.pollInterval : deadline, deadline: deadline)
        case .authorizing: return Schedule(firstPoll: timeouts.pollInterval, deadline: timeouts.pollDeadline)
        // No step of ours waits for it: the deadline only says from when on it is polled ever less often.
        case .foreign: return Schedule(firstPoll: timeouts.pollInterval, deadline: timeouts.pollDeadline)
        case .succeeded: return nil
        case .failed:
            guard mayBelvoStillPay else { return nil }
            return Schedule(firstPoll: timeouts.pollInterval, deadline: timeouts.pollDeadline)
        }
    }
}
