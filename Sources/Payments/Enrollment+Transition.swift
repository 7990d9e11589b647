import FoundationEssentials

extension Enrollment {
    /// The events of an enrollment.
    public enum Event: Sendable, Equatable {
        /// Belvo has it under this id, and the bank waits at this address.
        case created(belvoID: UUID, redirectURL: String?)
        /// The bank's redirect brought a result.
        case redirectReceived
        /// Belvo has the redirect, or may have it: only reading shows it.
        case redirectPassedOn
        /// The redirect was not taken: Belvo was out of reach, or refused the code. Another one may come.
        case redirectNotTaken
        /// The bank is ready for the fingerprint.
        case optionsArrived([UInt8])
        /// The registration with this digest is about to be sent.
        case confirmationSent(digest: [UInt8])
        /// Belvo took the registration.
        case confirmationAccepted
        /// The registration was sent, and neither its answer nor a reading says what became of it.
        case confirmationUnknown
        /// The registration never left, or was not let in: the same one may be sent again.
        case confirmationNotSent
        /// Belvo was read.
        case reported(Report)
        /// Belvo refused a step finally.
        case refused(Failure)
        /// The state has lasted too long.
        case timedOut
        /// The creation was sent, and Belvo does not know of it.
        case creationLost
        /// The creation was sent, and neither its answer nor a reading says what became of it.
        case creationUnknown
    }

    /// The content of Belvo's answer about an enrollment.
    public struct Report: Sendable, Equatable {
        public var belvoID: UUID
        public var externalID: String?
        public var customer: UUID?
        public var status: ProviderStatus
        public var providerStatus: String
        public var providerDetailsStatus: String?
        public var redirectURL: String?
        public var expiresAt: String?
        public var payerInformation: [UInt8]?
        public var reasonCode: String?
        public var reasonMessage: String?

        public init(
            belvoID: UUID, externalID: String? = nil, customer: UUID? = nil, status: ProviderStatus,
            providerStatus: String, providerDetailsStatus: String? = nil, redirectURL: String? = nil,
            expiresAt: String? = nil, payerInformation: [UInt8]? = nil, reasonCode: String? = nil,
            reasonMessage: String? = nil
        ) {
            self.belvoID = belvoID
            self.externalID = externalID
            self.customer = customer
            self.status = status
            self.providerStatus = providerStatus
            self.providerDetailsStatus = providerDetailsStatus
            self.redirectURL = redirectURL
            self.expiresAt = expiresAt
            self.payerInformation = payerInformation
            self.reasonCode = reasonCode
            self.reasonMessage = reasonMessage
        }
    }

    /// The names of the members in which a report shows another enrollment than this one; empty when it may be this
    /// one. A member that is missing proves nothing, and no money hangs on it. A foreign enrollment was named by its
    /// maker.
    public func differences(from report: Report) -> [String] {
        var names: [String] = []
        if origin == .own, let theirs = report.externalID, theirs != id.description { names.append("external_id") }
        if let customerAtBelvo, let theirs = report.customer, theirs != customerAtBelvo { names.append("customer") }
        return names
    }

    /// The enrollment after the event: the one place that says which changes there are.
    ///
    /// Throws when the event does not apply to the present state; the caller then reads the record again.
    public func transition(on event: Event) throws(TransitionRefused) -> Enrollment {
        var next = self
        switch (state, event) {
        case (.creating, .creationUnknown): break
        case (.creating, .created(let belvoID, let redirectURL)):
            next.belvoID = belvoID
            next.redirectURL = redirectURL
            next.state = .atBank

        // Another redirect may be the good one as long as the bank has not continued.
        case (.atBank, .redirectReceived), (.creating, .redirectReceived), (.awaitingOptions, .redirectReceived),
            (.completing, .redirectReceived):
            next.state = .completing
        // A late one revives an enrollment that was only given up by time; what was signed before is void.
        case (.failed, .redirectReceived) where failure == .timedOut:
            next.state = .completing
            next.failure = nil
            next.registrationOptions = nil
            next.confirmationDigest = nil
            next.isConfirmationAccepted = false
        case (.completing, .redirectPassedOn): next.state = .awaitingOptions
        case (.completing, .redirectNotTaken): next.state = .atBank

        // Also at the bank: a redirect whose `state` the bank hid reached Belvo without our knowing whose it was.
        case (.awaitingOptions, .optionsArrived(let options)), (.atBank, .optionsArrived(let options)):
            next.registrationOptions = options
            next.state = .awaitingFingerprint
        case (.awaitingFingerprint, .confirmationSent(let digest)):
            next.confirmationDigest = digest
            next.state = .confirming
        case (.confirming, .confirmationAccepted): next.isConfirmationAccepted = true
        case (.confirming, .confirmationUnknown): break
        case (.confirming, .confirmationNotSent):
            next.confirmationDigest = nil
            next.state = .awaitingFingerprint

        case (_, .reported(let report)): next.apply(report)

        // A foreign record is not moved from here, nor given up by time.
        case (.succeeded, _), (.failed, _), (.foreign, _): throw refusal(of: event)
        case (_, .refused(let failure)): next.fail(failure)
        case (_, .timedOut): next.fail(.timedOut)
        case (.creating, .creationLost): next.fail(.creationLost)
        default: throw refusal(of: event)
        }
        return next
    }

    /// Takes over what Belvo says. Its SUCCEEDED and FAILED are taken whatever we thought, unless Belvo itself has
    /// already said FAILED.
    private mutating func apply(_ report: Report) {
        if state == .failed, failure?.authority == .belvo { return }
        // Belvo may have made two of one request: the one that is known here stays, and the other says nothing about
        // it.
        if let belvoID, belvoID != report.belvoID { return }
        // Of what shows another enrollment nothing is believed; the caller raises the alarm.
        guard differences(from: report).isEmpty else { return }
        belvoID = belvoID ?? report.belvoID
        // The maker of a foreign one has its user's way to the bank as well.
        if origin == .own { redirectURL = redirectURL ?? report.redirectURL }
        providerStatus = report.providerStatus
        providerDetailsStatus = report.providerDetailsStatus
        expiresAt = report.expiresAt ?? expiresAt
        payerInformation = report.payerInformation ?? payerInformation
        switch report.status {
        case .succeeded:
            state = .succeeded
            failure = nil
        case .failed:
            // What was usable was taken back, by the user or by the bank (belvo-api.md §5).
            let code = report.reasonCode ?? (state == .succeeded ? "revoked" : "unexpected")
            fail(Failure(code: code, message: report.reasonMessage, authority: .belvo))
        case .pending, .processing, .unknown:
            if state == .creating { state = .atBank }
            // A redirect whose `state` the bank hid reached Belvo without our knowing whose it was.
            if state == .atBank, report.providerDetailsStatus == Self.redirectIsDone { state = .awaitingOptions }
        }
    }

    /// Belvo's `details.status` once the bank has approved (belvo-api.md §5, §9).
    private static let redirectIsDone = "AWAITING_ENROLLMENT"

    private mutating func fail(_ failure: Failure) {
        state = .failed
        self.failure = failure
    }

    private func refusal(of event: Event) -> TransitionRefused {
        TransitionRefused(state: state.rawValue, event: event.name)
    }
}

extension Enrollment.Event {
    /// The event's name, without what it carries.
    public var name: String {
        switch self {
        case .created: "created"
        case .redirectReceived: "redirect_received"
        case .redirectPassedOn: "redirect_passed_on"
        case .redirectNotTaken: "redirect_not_taken"
        case .optionsArrived: "options_arrived"
        case .confirmationSent: "confirmation_sent"
        case .confirmationAccepted: "confirmation_accepted"
        case .confirmationUnknown: "confirmation_unknown"
        case .confirmationNotSent: "confirmation_not_sent"
        case .reported: "reported"
        case .refused: "refused"
        case .timedOut: "timed_out"
        case .creationLost: "creation_lost"
        case .creationUnknown: "creation_unknown"
        }
    }
}
