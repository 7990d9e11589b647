/// A line of text whose length lies within the bounds that its rule names.
///
/// It is kept as it came: not trimmed, not normalized. Each rule makes a type of its own, so that a
/// reference and a description cannot be swapped. All of them print as redacted, since people write names
/// into any field that takes text.
public struct BoundedText<Rule: TextRule>: Sendable, Redacted {
    public let text: String

    /// Takes a text that holds something to see, no control character, and as many Unicode scalars as the
    /// rule allows.
    ///
    /// Control characters are refused because each text is shown on one line, and because PostgreSQL
    /// stores no NUL.
    public init(_ text: String) throws(TextFault) {
        let count = text.unicodeScalars.count
        guard count >= Rule.length.lowerBound else { throw .tooShort(min: Rule.length.lowerBound) }
        guard count <= Rule.length.upperBound else { throw .tooLong(max: Rule.length.upperBound) }
        guard !text.unicodeScalars.contains(where: \.isControl) else {
            throw .controlCharacter
        }
        guard !text.unicodeScalars.allSatisfy(\.properties.isWhitespace) else { throw .blank }
        self.text = text
    }

    fileprivate init(checked text: String) {
        self.text = text
    }
}

// By bytes, as the database compares: to Swift's `==` two spellings of an accented letter are one, and two users
// or references would be one here and two there.
extension BoundedText: Hashable {
    public static func == (left: BoundedText, right: BoundedText) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

/// The bounds of one kind of text.
public protocol TextRule: Sendable {
    /// The permitted number of Unicode scalars.
    static var length: ClosedRange<Int> { get }
}

/// Why a text is not within its rule.
public enum TextFault: ValueFault {
    case tooShort(min: Int)
    case tooLong(max: Int)
    case controlCharacter
    case blank

    public var code: String {
        switch self {
        case .tooShort: "too_short"
        case .tooLong: "too_long"
        case .controlCharacter: "control_character"
        case .blank: "blank"
        }
    }

    public var message: String {
        switch self {
        case .tooShort(let min): "This text has at least \(min) \(min == 1 ? "character" : "characters")."
        case .tooLong(let max): "This text has at most \(max) characters."
        case .controlCharacter: "This text holds no control characters and no line breaks."
        case .blank: "This text is more than white space."
        }
    }
}

extension StatementDescription {
    /// The text on the statement where none of its own was given (merchant-api.md, payment intents).
    public init(_ description: PaymentDescription) {
        self.init(checked: description.text)
    }
}

extension Unicode.Scalar {
    /// Unicode's general category Cc, whose members never change; a lookup in Unicode's tables takes longer.
    fileprivate var isControl: Bool { value < 0x20 || 0x7F...0x9F ~= value }
}
