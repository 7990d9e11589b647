import FoundationEssentials

/// A user's device that is bound to a bank: made once, it lets payments be signed with a fingerprint.
public struct Enrollment: Sendable, Equatable {
    public typealias ID = Payments.ID<Enrollment>

    /// The stages in the order in which they come, and the two ends.
    public enum State: String, Sendable, CaseIterable {
        /// Remembered, and asked for; the answer is not known.
        case creating
        /// The user has to approve it at the bank.
        case atBank = "at_bank"
        /// The bank's redirect arrived and is being passed on.
        case completing
        /// The bank prepares the FIDO registration options.
        case awaitingOptions = "awaiting_options"
        /// The user has to register a fingerprint.
        case awaitingFingerprint = "awaiting_fingerprint"
        /// The registration was sent; the bank decides.
        case confirming
        /// Made at Belvo without us, and not at its end: followed until Belvo says how it ends.
        case foreign = "observed"
        case succeeded
        case failed
    }

    /// The kind of device that is enrolled.
    public enum Platform: String, Sendable, CaseIterable {
        case ios = "IOS"
        case android = "ANDROID"
        case browser = "BROWSER"
    }

    /// The bank, as it was shown to the user.
    public struct Institution: Sendable, Hashable {
        public let id: UUID
        public let displayName: String
        public let iconLogo: String?

        public init(id: UUID, displayName: String, iconLogo: String?) {
            self.id = id
            self.displayName = displayName
            self.iconLogo = iconLogo
        }
    }

    public let id: ID
    public let origin: Origin
    public let subject: UserSubject
    public let customer: Customer.ID
    /// Belvo's id of that customer; nil where the record has not been stored yet.
    public package(set) var customerAtBelvo: UUID?
    public let institution: Institution
    /// Nil only where it is a foreign one's, and Belvo names none that is known here.
    public let platform: Platform?
    public let name: EnrollmentName?
    /// Nil only where it is a foreign one's, and Belvo names none.
    public let callbackURL: String?
    public let metadata: Metadata?
    public let createdAt: Timestamp

    public package(set) var state: State
    public package(set) var belvoID: UUID?
    /// Where the user approves it; holds the bank's `state`, unless that was pushed beforehand.
    public package(set) var redirectURL: String?
    /// The exact JSON text that Belvo gave, for the phone.
    public package(set) var registrationOptions: [UInt8]?
    /// The digest of the registration that was sent, so that the same one is known again.
    public package(set) var confirmationDigest: [UInt8]?
    /// Whether Belvo has said that it took the registration; until then only reading shows it.
    public package(set) var isConfirmationAccepted = false
    /// Belvo's words, top level and in the details.
    public package(set) var providerStatus: String?
    public package(set) var providerDetailsStatus: String?
    /// When the enrollment itself ends, as Belvo wrote it.
    public package(set) var expiresAt: String?
    /// The payer's account as Belvo gave it, JSON text. Personal.
    public package(set) var payerInformation: [UInt8]?
    public package(set) var failure: Failure?

    /// A new enrollment: about to be asked for, or seen at Belvo.
    public init(
        id: ID, origin: Origin = .own, subject: UserSubject, customer: Customer.ID, institution: Institution,
        platform: Platform?, name: EnrollmentName?, callbackURL: String?, metadata: Metadata?, createdAt: Timestamp
    ) {
        self.id = id
        self.origin = origin
        self.subject = subject
        self.customer = customer
        self.institution = institution
        self.platform = platform
        self.name = name
        self.callbackURL = callbackURL
        self.metadata = metadata
        self.createdAt = createdAt
        state = origin == .own ? .creating : .foreign
    }

    /// Whether it was usable and has been taken back, as Belvo's `details.status` says (belvo-api.md §5, §9).
    public var isRevoked: Bool { state == .failed && providerDetailsStatus == "REVOKED" }

    /// Whether Belvo said no to the registration itself. Its challenge is used up: the same can never succeed.
    public var isConfirmationRefused: Bool {
        state == .failed && confirmationDigest != nil && !isConfirmationAccepted && failure?.authority == .merchant
            && failure != .timedOut
    }

    public var status: Status {
        switch state {
        case .succeeded: .succeeded
        case .failed: .failed
        default: .pending
        }
    }

    /// Whether the next step is the user's, at the bank or with a finger.
    public var waitsForPerson: Bool {
        state == .atBank && redirectURL != nil || state == .awaitingFingerprint
    }

    /// When a creation that was just sent is polled, and counts as lost where Belvo does not show it.
    public static func creationSchedule(_ timeouts: Timeouts) -> Schedule {
        Schedule(firstPoll: timeouts.askingDeadline + .seconds(5), deadline: timeouts.creationGrace)
    }

    /// When an enrollment is polled whose registration is about to be sent.
    public func sendingSchedule(_ timeouts: Timeouts) -> Schedule {
        Schedule(firstPoll: timeouts.askingDeadline + .seconds(5), deadline: timeouts.pollDeadline)
    }

    /// When an enrollment in its present state is polled; nothing when it is terminal.
    public func schedule(_ timeouts: Timeouts) -> Schedule? {
        switch state {
        case .creating: Self.creationSchedule(timeouts)
        // Where the user has to go is not known yet.
        case .atBank where redirectURL == nil:
            Schedule(firstPoll: timeouts.pollInterval, deadline: timeouts.userDeadline)
        // Belvo is not asked while a person is busy: the first poll is the last.
        case .atBank, .awaitingFingerprint:
            Schedule(firstPoll: timeouts.userDeadline, deadline: timeouts.userDeadline)
        case .completing:
            Schedule(firstPoll: timeouts.callDeadline + .seconds(5), deadline: timeouts.userDeadline)
        // The user has the phone in the hand, and banks are often done at once.
        case .awaitingOptions, .confirming:
            Schedule(firstPoll: min(timeouts.pollInterval, .milliseconds(500)), deadline: timeouts.pollDeadline)
        // No step of ours waits for it: the deadline only says from when on it is polled ever less often.
        case .foreign: Schedule(firstPoll: timeouts.pollInterval, deadline: timeouts.pollDeadline)
        case .succeeded, .failed: nil
        }
    }
}
