/// One payment from creation to settlement (belvo-api.md §6).
struct PaymentIntent: Sendable, Identifiable {
    let id: String
    let externalID: String?
    /// JSON text of an object.
    let metadata: [UInt8]
    let amount: Amount
    let customer: String
    let enrollment: String
    let beneficiary: String
    let description: String
    let statementDescription: String?
    let challenge: String
    let credentialID: String
    let endToEndID: String
    let consentID: String
    let externalPaymentID: String
    let providerRequestID: String
    let charge: String
    let createdAt: Timestamp
    var updatedAt: Timestamp

    var status: Status {
        didSet { if oldValue != status { statusBefore = oldValue } }
    }
    /// The status before the last change; nil while it is as it was made.
    private(set) var statusBefore: Status?
    var failure: Failure?
    /// Whether a signature was accepted: an intent takes one.
    var isAuthorized = false

    enum Status: String, Sendable, CaseIterable {
        case requiresAction = "REQUIRES_ACTION"
        case pending = "PENDING"
        case processing = "PROCESSING"
        case scheduled = "SCHEDULED"
        case succeeded = "SUCCEEDED"
        case failed = "FAILED"
        case canceled = "CANCELED"

        var isTerminal: Bool { self == .succeeded || self == .failed || self == .canceled }
    }
}

/// Why money did not move: a name of belvo-api.md §6.5 and an English sentence.
struct Failure: Sendable {
    let code: String
    let message: String

    static let consentExpired = Failure(
        code: "consent_expired", message: "The payment consent was not accepted in time.")
    static let signature = Failure(
        code: "charge_settlement_failed", message: "The institution could not validate the biometric data.")
    static let enrollmentRevoked = Failure(
        code: "beneficiary_bank_revoked_authorization", message: "The enrollment is not valid any more.")
    static let insufficientFunds = Failure(code: "insufficient_funds", message: "The payer has not enough funds.")
}

/// The one try to take a payment's money (belvo-api.md §6.4).
struct Charge: Sendable, Identifiable {
    let id: String
    let paymentIntent: String
    let createdAt: Timestamp
    var updatedAt: Timestamp
    var status: Status
    var failure: Failure?
    var transactions: [String] = []

    enum Status: String, Sendable {
        case created = "CREATED"
        case pending = "PENDING"
        case processing = "PROCESSING"
        case scheduled = "SCHEDULED"
        case succeeded = "SUCCEEDED"
        case failed = "FAILED"
        case canceled = "CANCELED"
    }
}

/// Money that arrived.
struct Transaction: Sendable, Identifiable {
    let id: String
    let paymentIntent: String
    let createdAt: Timestamp
}
