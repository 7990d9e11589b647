/// Why a text is not the value it was to be.
///
/// Each value has its own closed enum of faults; what they share is what a refusal needs: a stable code
/// for programs and a sentence for people. Neither ever holds the refused text, which may be personal.
public protocol ValueFault: Error, Equatable, Sendable, CustomStringConvertible {
    /// A snake_case word that stays the same between releases.
    var code: String { get }

    /// One English sentence that names the rule.
    var message: String { get }
}

extension ValueFault {
    public var description: String { message }
}
