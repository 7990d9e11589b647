/// Single bytes as the grammars of RFC 9110 and RFC 9112 name them.
enum Octet {
    static let tab: UInt8 = 0x09
    static let lineFeed: UInt8 = 0x0A
    static let carriageReturn: UInt8 = 0x0D
    static let space: UInt8 = 0x20
    static let quote: UInt8 = 0x22
    static let percent: UInt8 = 0x25
    static let ampersand: UInt8 = 0x26
    static let asterisk: UInt8 = 0x2A
    static let plus: UInt8 = 0x2B
    static let comma: UInt8 = 0x2C
    static let dot: UInt8 = 0x2E
    static let slash: UInt8 = 0x2F
    static let zero: UInt8 = 0x30
    static let colon: UInt8 = 0x3A
    static let semicolon: UInt8 = 0x3B
    static let equals: UInt8 = 0x3D
    static let questionMark: UInt8 = 0x3F
    static let openingBracket: UInt8 = 0x5B
    static let backslash: UInt8 = 0x5C
    static let closingBracket: UInt8 = 0x5D

    /// `tchar` (RFC 9110 §5.6.2).
    static func isToken(_ byte: UInt8) -> Bool { ASCIISet.token.contains(byte) }

    static func isDigit(_ byte: UInt8) -> Bool { byte &- zero < 10 }

    /// The octets that a field value may not hold: every control character but the tab (RFC 9110 §5.5).
    static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 && byte != tab || byte == 0x7F }

    /// Optional white space (RFC 9110 §5.6.3).
    static func isBlank(_ byte: UInt8) -> Bool { byte == space || byte == tab }

    static func lowercased(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }

    /// The value of a hexadecimal digit, either case.
    static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }

    /// The digit of a value below 16, in upper case as RFC 3986 §2.1 wants it.
    static func hexDigit(_ value: UInt8) -> UInt8 { value < 10 ? zero + value : 0x41 + value - 10 }
}
