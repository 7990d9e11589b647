/// A person's device that is bound to an account at a bank (belvo-api.md §4.2).
public struct Enrollment: Sendable, Equatable, Redacted {
    public typealias ID = Identity<Enrollment>

    public let id: ID
    /// The identity that we gave it.
    public let externalID: String?
    /// `open_finance_biometric_pix` for those that this client creates.
    public let type: String?
    public let status: EnrollmentStatus
    /// Why it failed: a word to be compared without regard to case, and free text beside it.
    public let statusReasonCode: String?
    public let statusReasonMessage: String?
    public let details: Details
    public let metadata: RawJSON?
    /// ISO 8601 as Belvo wrote them.
    public let createdAt: String?
    public let updatedAt: String?

    public var description: String { "enrollment \(id) \(status.word)" }

    /// Belvo's details of the enrollment. Belvo may leave out any of it.
    public struct Details: Sendable, Equatable, Redacted {
        public let status: EnrollmentDetailsStatus?
        public let customer: Customer.ID?
        public let institution: Institution.ID?
        public let platform: String?
        public let name: String?
        public let callbackURL: String?
        /// Where the person approves the enrollment: https, or http on this machine. It holds the `state`.
        public let redirectURL: String?
        /// ISO 8601 as Belvo wrote it.
        public let expiresAt: String?
        /// The account, its number masked, as Belvo wrote it.
        public let payerInformation: RawJSON?
    }
}

extension Enrollment {
    init(_ answer: Answer) throws(MalformedAnswer) {
        id = try answer.id()
        externalID = try answer.exact("external_id")
        type = answer.plain("type", scalarsMax: 64)
        status = EnrollmentStatus(answer.word("status") ?? "")
        (statusReasonCode, statusReasonMessage) = answer.failure(
            code: "status_reason_code", message: "status_reason_message")
        details = try Details(answer.object("details"))
        metadata = answer.raw("metadata")
        createdAt = answer.plain("created_at", scalarsMax: 40)
        updatedAt = answer.plain("updated_at", scalarsMax: 40)
    }
}

extension Enrollment.Details {
    fileprivate init(_ answer: Answer?) throws(MalformedAnswer) {
        status = answer?.word("status").map(EnrollmentDetailsStatus.init)
        customer = try answer?.reference("customer")
        institution = try answer?.reference("institution")
        platform = answer?.plain("platform", scalarsMax: 64)
        name = answer?.plain("name")
        callbackURL = answer?.plain("callback_url", scalarsMax: 2000)
        redirectURL = try answer?.link("redirect_url")
        expiresAt = answer?.moment("expires_at")
        payerInformation = answer?.raw("payer_information")
    }
}
