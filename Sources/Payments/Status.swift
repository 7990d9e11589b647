/// A change that the state machine does not know. Nothing was changed.
public struct TransitionRefused: Error, Equatable, Sendable, CustomStringConvertible {
    public let state: String
    public let event: String

    public var description: String { "\(event) does not apply to the state \(state)" }
}

/// The status of a record for apps, whatever its state.
public enum Status: String, Sendable, CaseIterable {
    case pending = "PENDING"
    case succeeded = "SUCCEEDED"
    case failed = "FAILED"
}

/// Belvo's own word for a record's state, as far as it decides anything.
public enum ProviderStatus: Sendable, Hashable {
    /// Not decided yet, and nothing has been set going.
    case pending
    /// Set going, by whomever: money may be moving.
    case processing
    case succeeded
    case failed
    /// An unknown word: it decides nothing, and an operator has to act.
    case unknown

    /// Whether it says, or leaves open, that it was signed and has not ended.
    public var isSigned: Bool {
        switch self {
        case .pending, .failed: false
        case .processing, .succeeded, .unknown: true
        }
    }
}
