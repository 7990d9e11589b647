import FoundationEssentials

/// A user of the merchant as Belvo knows one: a person with a tax number.
public struct Customer: Sendable, Equatable {
    public typealias ID = Payments.ID<Customer>

    /// The state of the creation at Belvo.
    public enum State: String, Sendable, CaseIterable {
        /// Remembered, and asked for; the answer is not known.
        case creating
        /// Belvo has the customer.
        case created
        /// Belvo refused, or never received it. The user may try again.
        case failed
    }

    public let id: ID
    public let subject: UserSubject
    public var person: Person
    public package(set) var state: State
    public package(set) var belvoID: UUID?
    /// Why it could not be created; nil unless it has failed.
    public package(set) var failureCode: String?
    /// When Belvo created it: the day is the account tenure (belvo-api.md §3.1).
    public package(set) var belvoCreatedAt: Timestamp?
    public let createdAt: Timestamp

    /// The user's own data. Personal: encrypted at rest, and never in a log.
    public struct Person: Sendable, Equatable {
        public var name: PersonName
        public var taxID: TaxID
        public var email: EmailAddress?
        public var phone: PhoneNumber?

        public init(name: PersonName, taxID: TaxID, email: EmailAddress? = nil, phone: PhoneNumber? = nil) {
            self.name = name
            self.taxID = taxID
            self.email = email
            self.phone = phone
        }
    }

    public init(
        id: ID, subject: UserSubject, person: Person, state: State = .creating, belvoID: UUID? = nil,
        belvoCreatedAt: Timestamp? = nil, failureCode: String? = nil, createdAt: Timestamp
    ) {
        self.id = id
        self.subject = subject
        self.person = person
        self.state = state
        self.belvoID = belvoID
        self.belvoCreatedAt = belvoCreatedAt
        self.failureCode = failureCode
        self.createdAt = createdAt
    }

    /// The code of a customer whose tax number Belvo has under another name than ours: another account's, or that of
    /// a person who was erased.
    public static let identifierInUse = "identifier_in_use"

    public var accountTenure: AccountTenure? { belvoCreatedAt.map(AccountTenure.init(customerCreatedAt:)) }

    /// The events of a customer.
    public enum Event: Sendable, Equatable {
        /// Belvo has it under this id since then.
        case found(belvoID: UUID, createdAt: Timestamp)
        /// Belvo refused it, or it never arrived there.
        case notCreated(code: String)
        /// The creation was sent, and neither its answer nor a reading says what became of it.
        case creationUnknown
        /// The user asks for it once more after a failure.
        case triedAgain
    }

    /// The customer after the event.
    public func transition(on event: Event) throws(TransitionRefused) -> Customer {
        var next = self
        switch (state, event) {
        case (.creating, .found(let belvoID, let createdAt)), (.failed, .found(let belvoID, let createdAt)):
            next.state = .created
            next.failureCode = nil
            next.belvoID = belvoID
            next.belvoCreatedAt = createdAt
        case (.creating, .creationUnknown): break
        case (.creating, .notCreated(let code)):
            next.state = .failed
            next.failureCode = code
        case (.failed, .triedAgain):
            next.state = .creating
            next.failureCode = nil
        default: throw TransitionRefused(state: state.rawValue, event: event.name)
        }
        return next
    }
}

extension Customer.Event {
    /// The event's name, without what it carries.
    public var name: String {
        switch self {
        case .found: "found"
        case .notCreated(let code): "not_created: \(code)"
        case .creationUnknown: "creation_unknown"
        case .triedAgain: "tried_again"
        }
    }
}
