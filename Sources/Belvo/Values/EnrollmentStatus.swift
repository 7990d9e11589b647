/// Where an enrollment stands (belvo-api.md §5). Only this word decides; `details.status` explains.
public enum EnrollmentStatus: Hashable, Sendable {
    case pending
    /// Usable, and not the end: the person or the bank may revoke it.
    case succeeded
    case failed
    case canceled
    /// A word that Belvo's documents do not list, or none. It is not an end of anything.
    case unknown(String)

    /// Takes a word as Belvo spells it; case matters.
    public init(_ word: String) {
        self =
            switch word {
            case "PENDING": .pending
            case "SUCCEEDED": .succeeded
            case "FAILED": .failed
            case "CANCELED": .canceled
            default: .unknown(word)
            }
    }

    /// The word as Belvo spells it.
    public var word: String {
        switch self {
        case .pending: "PENDING"
        case .succeeded: "SUCCEEDED"
        case .failed: "FAILED"
        case .canceled: "CANCELED"
        case .unknown(let word): word
        }
    }
}

/// Where the bank's side of an enrollment stands, `details.status` (belvo-api.md §5, §9).
///
/// It may lag behind and contradict the enrollment's own status (§11, line 11): show it, never decide on it.
public enum EnrollmentDetailsStatus: Hashable, Sendable {
    case awaitingRiskSignals
    case awaitingAccountHolderValidation
    case awaitingEnrollment
    /// `AUTHORIZED`, also in the spelling of Open Finance Brasil, `AUTHORISED` (belvo-api.md §11, line 12).
    case authorized
    case rejected
    case revoked
    case error
    case unknown(String)

    /// Takes a word as Belvo spells it; case matters.
    public init(_ word: String) {
        self =
            switch word {
            case "AWAITING_RISK_SIGNALS": .awaitingRiskSignals
            case "AWAITING_ACCOUNT_HOLDER_VALIDATION": .awaitingAccountHolderValidation
            case "AWAITING_ENROLLMENT": .awaitingEnrollment
            case "AUTHORIZED", "AUTHORISED": .authorized
            case "REJECTED": .rejected
            case "REVOKED": .revoked
            case "ERROR": .error
            default: .unknown(word)
            }
    }

    /// The word as Belvo spells it.
    public var word: String {
        switch self {
        case .awaitingRiskSignals: "AWAITING_RISK_SIGNALS"
        case .awaitingAccountHolderValidation: "AWAITING_ACCOUNT_HOLDER_VALIDATION"
        case .awaitingEnrollment: "AWAITING_ENROLLMENT"
        case .authorized: "AUTHORIZED"
        case .rejected: "REJECTED"
        case .revoked: "REVOKED"
        case .error: "ERROR"
        case .unknown(let word): word
        }
    }
}
