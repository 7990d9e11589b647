/// A promise that was broken.
public struct Violation: Sendable, Hashable, CustomStringConvertible {
    public enum Kind: String, Sendable, CaseIterable {
        /// Money moved twice, or may have.
        case double
        /// Something was promised or done, and is not there.
        case lost
        /// A record that did not reach its end.
        case stuck
        /// Anything else that must not be.
        case wrong
    }

    public let kind: Kind
    public let text: String

    public init(_ kind: Kind, _ text: String) {
        self.kind = kind
        self.text = text
    }

    public var description: String { "\(kind.rawValue): \(text)" }
}
