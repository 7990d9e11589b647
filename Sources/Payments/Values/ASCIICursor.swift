/// A place in a text of fixed shape, which moves on over what is there and stays where it is not.
struct ASCIICursor {
    private var rest: Substring.UTF8View

    init(_ text: some StringProtocol) {
        rest = String(text)[...].utf8
    }

    var isAtEnd: Bool { rest.isEmpty }

    /// Moves over one byte that the predicate accepts, and returns it.
    mutating func take(where accepts: (UInt8) -> Bool) -> UInt8? {
        guard let byte = rest.first, accepts(byte) else { return nil }
        rest.removeFirst()
        return byte
    }

    /// Moves over exactly this ASCII character.
    @discardableResult
    mutating func take(_ character: Unicode.Scalar) -> Bool {
        take { $0 == UInt8(ascii: character) } != nil
    }

    /// Moves over exactly `count` decimal digits, at most 18, and returns their value.
    mutating func number(digits count: Int) -> Int? {
        var number = 0
        for _ in 0..<count {
            guard let digit = take(where: ASCII.isDigit) else { return nil }
            number = number * 10 + Int(digit - ASCII.zero)
        }
        return number
    }
}

/// Classes of ASCII bytes, and numbers written in them.
enum ASCII {
    static let zero = UInt8(ascii: "0")

    static func isDigit(_ byte: UInt8) -> Bool { byte &- zero < 10 }
    static func isUppercaseLetter(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "A") < 26 }
    static func isLetter(_ byte: UInt8) -> Bool { isUppercaseLetter(byte & ~0x20) }

    static func uppercased(_ byte: UInt8) -> UInt8 { isLetter(byte) ? byte & ~0x20 : byte }

    /// Appends the last `width` decimal digits of a number that is not negative.
    static func append(_ number: Int64, width: Int, to text: inout [UInt8]) {
        let end = text.count + width
        text.append(contentsOf: repeatElement(zero, count: width))
        var number = number
        for index in stride(from: end - 1, through: end - width, by: -1) {
            text[index] = zero + UInt8(number % 10)
            number /= 10
        }
    }
}
