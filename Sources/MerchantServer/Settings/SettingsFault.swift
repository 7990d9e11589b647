/// Everything that is wrong with the settings, at once.
///
/// It holds names and rules and never a value, so it may be printed and logged.
package struct SettingsFault: Error, Equatable, Sendable {
    /// Never empty; in the order in which the settings are documented.
    package let problems: [SettingsProblem]
}

/// One thing that is wrong with the settings.
package struct SettingsProblem: Equatable, Sendable {
    /// The setting's name, or the place in the file where a name was expected.
    package let name: String
    package let kind: Kind
    /// The fault, or the expectation: the rest of a sentence that the name begins.
    package let message: String

    /// The kind of a fault in a setting.
    package enum Kind: Sendable {
        case missing
        /// It is there and cannot be read; an empty value is of this kind.
        case malformed
        /// It does not go together with another setting.
        case contradictory
        /// The file holds a name that no setting has.
        case unknown
        /// It works, and makes an attack easier than it has to be: no fault, but a warning.
        case weak
    }

    init(_ name: String, _ kind: Kind, _ message: String) {
        self.name = name
        self.kind = kind
        self.message = message
    }
}

extension SettingsFault: CustomStringConvertible {
    package var description: String {
        let count = problems.count == 1 ? "One problem" : "\(problems.count) problems"
        return (["\(count) with the settings:"] + problems.map { "  \($0)" }).joined(separator: "\n")
    }
}

extension SettingsProblem: CustomStringConvertible {
    package var description: String { "\(name) \(message)." }
}
