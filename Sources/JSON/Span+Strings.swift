extension Span<UInt8> {
    /// The place behind the closing quote of the string whose opening one is at `start` (RFC 8259 §7).
    @inline(__always)
    func endOfString(from start: Int, replaces: Bool) throws(JSONSyntaxError) -> (end: Int, hasEscapes: Bool) {
        let end = endOfPlainASCII(from: start + 1)
        if byte(at: end) == UInt8(ascii: "\"") { return (end + 1, false) }
        return try endOfMixedString(from: end, replaces: replaces)
    }

    /// The same for a string that holds more than plain ASCII, from the first place where it does.
    private func endOfMixedString(
        from start: Int,
        replaces: Bool
    ) throws(JSONSyntaxError) -> (end: Int, hasEscapes: Bool) {
        var place = start
        var hasEscapes = false
        while true {
            switch byte(at: place) {
            case UInt8(ascii: "\""):
                return (place + 1, hasEscapes)
            case UInt8(ascii: "\\"):
                hasEscapes = true
                place = try endOfEscape(from: place, replaces: replaces)
            case 0x80...:
                place = try endOfMultibyteScalar(from: place)
            default:
                throw unexpected(.controlCharacter, at: place)
            }
            place = endOfPlainASCII(from: place)
        }
    }

    /// The end of one scalar of two to four bytes, as the table of RFC 3629 §4 has them: no overlong form, no
    /// surrogate, nothing past U+10FFFF.
    private func endOfMultibyteScalar(from start: Int) throws(JSONSyntaxError) -> Int {
        let second: ClosedRange<UInt8>
        let length: Int
        switch byte(at: start) {
        case 0xC2...0xDF: (second, length) = (0x80...0xBF, 2)
        case 0xE0: (second, length) = (0xA0...0xBF, 3)
        case 0xED: (second, length) = (0x80...0x9F, 3)
        case 0xE1...0xEF: (second, length) = (0x80...0xBF, 3)
        case 0xF0: (second, length) = (0x90...0xBF, 4)
        case 0xF1...0xF3: (second, length) = (0x80...0xBF, 4)
        case 0xF4: (second, length) = (0x80...0x8F, 4)
        default: throw failure(.invalidUTF8, at: start)
        }
        guard second ~= byte(at: start + 1) else { throw failure(.invalidUTF8, at: start) }
        for place in start + 2..<start + length where !(0x80...0xBF ~= byte(at: place)) {
            throw failure(.invalidUTF8, at: start)
        }
        return start + length
    }
}
