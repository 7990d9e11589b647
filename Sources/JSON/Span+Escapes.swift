/// Escape sequences (RFC 8259 §7).
extension Span<UInt8> {
    /// The end of the escape, or of the pair of them, that begins with the backslash at `start`. What is no text is
    /// refused, unless it is replaced later.
    func endOfEscape(from start: Int, replaces: Bool) throws(JSONSyntaxError) -> Int {
        guard byte(at: start + 1) == UInt8(ascii: "u") else {
            guard character(escapedBy: byte(at: start + 1)) != nil else {
                throw unexpected(.invalidEscape, at: start + 1)
            }
            return start + 2
        }
        guard let unit = codeUnit(at: start + 2) else { throw failure(.invalidEscape, at: start) }
        if unit == 0, !replaces { throw failure(.nullCharacter, at: start) }
        guard UTF16.isSurrogate(unit) else { return start + 6 }

        // RFC 8259 §8.2: half a pair is grammatical, but no text; it could not be written out again.
        if secondHalf(of: unit, at: start + 6) != nil { return start + 12 }
        guard replaces else { throw failure(.loneSurrogate, at: start) }
        return start + 6
    }

    /// The code unit that makes a whole pair with `first`, if its escape follows.
    private func secondHalf(of first: UInt16, at start: Int) -> UInt16? {
        guard UTF16.isLeadSurrogate(first), byte(at: start) == UInt8(ascii: "\\"),
            byte(at: start + 1) == UInt8(ascii: "u"), let second = codeUnit(at: start + 2)
        else { return nil }
        return UTF16.isTrailSurrogate(second) ? second : nil
    }

    /// The bytes of the text that a string's content stands for, U+FFFD for what is none. Only for content that was
    /// found to be right.
    func unescaped(_ content: Range<Int>) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(content.count)
        var place = content.lowerBound
        while place < content.upperBound {
            if self[place] == UInt8(ascii: "\\") {
                place = appendEscaped(at: place, to: &text)
            } else {
                text.append(self[place])
                place += 1
            }
        }
        return text
    }

    private func appendEscaped(at start: Int, to text: inout [UInt8]) -> Int {
        if let character = character(escapedBy: byte(at: start + 1)) {
            text.append(character)
            return start + 2
        }
        let first = codeUnit(at: start + 2) ?? 0
        let second = secondHalf(of: first, at: start + 6)
        if let second {
            let high = UInt32(first) - 0xD800
            text.append(utf8Of: 0x1_0000 + (high << 10) + (UInt32(second) - 0xDC00))
            return start + 12
        }
        text.append(utf8Of: first == 0 || UTF16.isSurrogate(first) ? 0xFFFD : UInt32(first))
        return start + 6
    }

    /// The character that a two-character escape stands for, or nil when it is none.
    private func character(escapedBy letter: UInt8) -> UInt8? {
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): letter
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: nil
        }
    }

    /// The value of four hexadecimal digits, in either case.
    private func codeUnit(at start: Int) -> UInt16? {
        var unit: UInt16 = 0
        for place in start..<start + 4 {
            let digit = byte(at: place)
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): unit = unit << 4 | UInt16(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "A")...UInt8(ascii: "F"): unit = unit << 4 | UInt16(digit - UInt8(ascii: "A") + 10)
            case UInt8(ascii: "a")...UInt8(ascii: "f"): unit = unit << 4 | UInt16(digit - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return unit
    }
}

extension [UInt8] {
    /// Appends the one to four bytes of a scalar (RFC 3629 §3). By hand: a string of its own for each takes 15 times as
    /// long, and a client chooses how many there are.
    fileprivate mutating func append(utf8Of scalar: UInt32) {
        func last(_ bits: UInt32) -> UInt8 { 0x80 | UInt8(truncatingIfNeeded: bits & 0x3F) }
        func first(_ mark: UInt8, _ bits: UInt32) -> UInt8 { mark | UInt8(truncatingIfNeeded: bits) }
        switch scalar {
        case ..<0x80:
            append(first(0, scalar))
        case ..<0x800:
            append(first(0xC0, scalar >> 6))
            append(last(scalar))
        case ..<0x1_0000:
            append(first(0xE0, scalar >> 12))
            append(last(scalar >> 6))
            append(last(scalar))
        default:
            append(first(0xF0, scalar >> 18))
            append(last(scalar >> 12))
            append(last(scalar >> 6))
            append(last(scalar))
        }
    }
}
