/// One device's registration at one bank (belvo-api.md §4 and §5).
struct Enrollment: Sendable, Identifiable {
    let id: String
    let externalID: String?
    /// JSON text of an object.
    let metadata: [UInt8]
    let customer: String
    let institution: String
    let name: String?
    let platform: String
    let callbackURL: String
    let redirectURL: String
    let deviceID: String
    let createdAt: Timestamp
    var updatedAt: Timestamp

    var status = Status.pending
    var details = Details.awaitingAccountHolder
    var reason: Reason?
    var redirection: Redirection
    var registration: Registration
    var credential: Credential?
    /// Signatures counted by the authenticator so far (WebAuthn §6.1.1).
    var signatureCount: UInt32 = 0

    enum Status: String, Sendable, CaseIterable {
        case pending = "PENDING"
        case succeeded = "SUCCEEDED"
        case failed = "FAILED"
        case canceled = "CANCELED"
    }

    enum Details: Sendable {
        case awaitingAccountHolder, awaitingEnrollment, authorized, rejected, revoked
    }

    /// Why it failed: a name of belvo-api.md §5 and an English sentence.
    struct Reason: Sendable {
        let code: String
        let message: String

        static let rejectedByUser = Reason(code: "REJECTED_BY_USER", message: "The user rejected the enrollment.")
        static let expired = Reason(
            code: "CANCELED_DUE_TO_EXPIRATION", message: "The enrollment was not completed in time.")
        static let biometrics = Reason(
            code: "BIOMETRIC_VALIDATION_ERROR", message: "The institution could not validate the biometric data.")
        static let redirection = Reason(
            code: "REDIRECTION_BACK_FROM_INSTITUTION_FAILED", message: "The institution refused the code.")
        static let revoked = Reason(code: "REJECTED_OTHER", message: "The institution revoked the enrollment.")
    }

    /// The way to the bank and back.
    struct Redirection: Sendable {
        let state: String
        let nonce: String
        /// The handle of a pushed authorization request (RFC 9126 §2.2).
        let requestURI: String
        /// The bank's answer, once it came.
        var answer: BankAnswer?
        /// When Belvo was told, for the first time with a right code.
        var completedAt: Timestamp?
    }

    /// The way of the FIDO registration options.
    struct Registration: Sendable {
        /// The user handle that the options name.
        let userID: String
        var callsTooEarly = 0
        var isReady = false
        /// Every challenge handed out, the newest last.
        var challenges: [String] = []
    }
}

/// A bank's answer to a consent: the parameters of its redirect.
enum BankAnswer: Sendable {
    case approved(code: String, idToken: String)
    case refused(error: String, description: String)
}
