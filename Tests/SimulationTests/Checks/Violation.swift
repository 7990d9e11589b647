/// A promise that was broken.
struct Violation: Sendable, Hashable, CustomStringConvertible {
    enum Kind: String, Sendable, CaseIterable {
        /// Money moved twice, or may have.
        case double
        /// Something was promised or done, and is not there.
        case lost
        /// A record that did not reach its end.
        case stuck
        /// Anything else that must not be.
        case wrong
    }

    let kind: Kind
    let text: String

    var description: String { "\(kind.rawValue): \(text)" }
}
