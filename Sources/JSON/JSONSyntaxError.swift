/// Why a text is not JSON, or not within the limits, and where.
///
/// It holds no byte of the text, so it may be logged and shown to the sender.
public struct JSONSyntaxError: Error, Equatable, Sendable {
    /// Bytes before the place. At most the length of the text.
    public let offset: Int

    /// The line of the place, from 1; lines end with a line feed.
    public let line: Int

    /// The column of the place in Unicode scalars, from 1.
    public let column: Int

    public let reason: Reason

    /// The fault at that place; its description is an English sentence.
    public enum Reason: Equatable, Sendable, CaseIterable {
        case textTooLong
        case nestedTooDeep
        case byteOrderMark
        case unexpectedEnd
        case trailingBytes
        case valueExpected
        case nameExpected
        case colonExpected
        case commaOrBracketExpected
        case commaOrBraceExpected
        case repeatedName
        case leadingZero
        case digitExpected
        case numberTooLong
        case exponentTooLarge
        case controlCharacter
        case invalidEscape
        case loneSurrogate
        case nullCharacter
        case invalidUTF8
    }

    /// Finds line and column of an offset; what lies before it need not be valid.
    init(_ reason: Reason, at offset: Int, in text: Span<UInt8>) {
        var (line, column) = (1, 1)
        for place in 0..<offset {
            switch text[place] {
            case UInt8(ascii: "\n"): (line, column) = (line + 1, 1)
            // The further bytes of a scalar (RFC 3629 §3).
            case 0x80...0xBF: break
            default: column += 1
            }
        }
        self.reason = reason
        self.offset = offset
        self.line = line
        self.column = column
    }
}

extension JSONSyntaxError: CustomStringConvertible {
    public var description: String { "Line \(line), column \(column): \(reason)" }
}

extension JSONSyntaxError.Reason: CustomStringConvertible {
    public var description: String {
        switch self {
        case .textTooLong: "The text is longer than allowed."
        case .nestedTooDeep: "Arrays and objects are nested deeper than allowed."
        case .byteOrderMark: "The text begins with a byte order mark."
        case .unexpectedEnd: "The text ends too early."
        case .trailingBytes: "Something follows the end of the value."
        case .valueExpected: "A value was expected."
        case .nameExpected: "A member name in double quotes was expected."
        case .colonExpected: "A colon was expected after the member name."
        case .commaOrBracketExpected: "A comma or a closing bracket was expected."
        case .commaOrBraceExpected: "A comma or a closing brace was expected."
        case .repeatedName: "The object has a member of this name already."
        case .leadingZero: "A number must not begin with a superfluous zero."
        case .digitExpected: "A digit was expected."
        case .numberTooLong: "The number is longer than allowed."
        case .exponentTooLarge: "The number's exponent has more digits than allowed."
        case .controlCharacter: "A control character in a string must be escaped."
        case .invalidEscape: "This is not an escape sequence."
        case .loneSurrogate: "The escape sequence is half of a surrogate pair."
        case .nullCharacter: "The character U+0000 is not allowed."
        case .invalidUTF8: "The string is not valid UTF-8."
        }
    }
}
