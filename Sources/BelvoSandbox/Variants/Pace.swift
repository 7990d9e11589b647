/// When something that waits for the bank reaches its end.
public enum Settlement: Sendable, Equatable {
    /// In the call that began it.
    case immediately
    /// So long after it.
    case after(Duration)
    /// When a test or an operator says so.
    case whenTold
}

/// When the FIDO registration options of a redirected enrollment are there.
public enum Readiness: Sendable, Equatable {
    /// After that many calls that found them missing.
    case afterCalls(Int)
    /// So long after the redirection was completed.
    case after(Duration)
    /// When a test or an operator says so.
    case whenTold
}

extension Settlement: SwitchText {
    public init?(switchText: String) {
        switch switchText {
        case "immediately": self = .immediately
        case "when_told": self = .whenTold
        default:
            guard let span = Duration(switchText: switchText) else { return nil }
            self = .after(span)
        }
    }

    public var switchText: String {
        switch self {
        case .immediately: "immediately"
        case .after(let span): span.switchText
        case .whenTold: "when_told"
        }
    }

    public static var choices: [String] { ["immediately", "when_told", "after_ms:N"] }
}

extension Readiness: SwitchText {
    public init?(switchText: String) {
        if switchText == "when_told" {
            self = .whenTold
        } else if let span = Duration(switchText: switchText) {
            self = .after(span)
        } else if switchText.hasPrefix("after_calls:"), let count = Int(switchText.dropFirst(12)), count >= 0 {
            self = .afterCalls(count)
        } else {
            return nil
        }
    }

    public var switchText: String {
        switch self {
        case .afterCalls(let count): "after_calls:\(count)"
        case .after(let span): span.switchText
        case .whenTold: "when_told"
        }
    }

    public static var choices: [String] { ["after_calls:N", "after_ms:N", "when_told"] }
}

extension Duration {
    fileprivate init?(switchText: String) {
        guard switchText.hasPrefix("after_ms:"), let count = Int(switchText.dropFirst(9)), count >= 0 else {
            return nil
        }
        self = .milliseconds(count)
    }

    fileprivate var switchText: String { "after_ms:\(microseconds / 1000)" }
}
