import Belvo

extension BelvoError {
    /// Whether an answer to a reading was no answer to it, whatever the reason.
    var isNonsense: Bool {
        if case .malformedAnswer = self { true } else { false }
    }
}
