/// A telephone number, kept as it was written: `+55 11 91234-5678`, `(11) 91234-5678`.
public struct PhoneNumber: Hashable, Sendable, Redacted {
    /// The fewest digits of a Brazilian subscriber's number, and the most of any number (ITU-T E.164 §6.2.1).
    public static let digitCounts = 8...15

    public let text: String

    /// Reads digits with an optional `+` before them and spaces, points, hyphens or parentheses among them.
    public init(_ text: String) throws(Fault) {
        let afterPlus = text.utf8.first == UInt8(ascii: "+") ? text.utf8.dropFirst() : text.utf8[...]
        let digits = afterPlus.count(where: ASCII.isDigit)
        let separators = afterPlus.count { " .-()".utf8.contains($0) }
        guard digits + separators == afterPlus.count, separators <= digits,
            PhoneNumber.digitCounts.contains(digits)
        else { throw .malformed }
        self.text = text
    }

    /// Why a text is no telephone number.
    public enum Fault: ValueFault, CaseIterable {
        case malformed

        public var code: String { "malformed" }
        public var message: String {
            "A telephone number has \(digitCounts.lowerBound) to \(digitCounts.upperBound) digits, "
                + "perhaps with a + before them and spaces, points, hyphens or parentheses among them."
        }
    }
}
