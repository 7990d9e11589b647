/// The small parts of the grammar: given where one begins in a text, each function answers where it ends, or throws
/// why it is none (RFC 8259 §§2, 3).
///
/// They stand on the span itself, because it travels in two registers and checks every access.
extension Span<UInt8> {
    /// A byte of the text, or 0 past its end, which nothing in the grammar accepts.
    @inline(__always)
    func byte(at place: Int) -> UInt8 {
        UInt(bitPattern: place) < UInt(bitPattern: count) ? self[place] : 0
    }

    @inline(__always)
    func endOfWhiteSpace(from start: Int) -> Int {
        var place = start
        while true {
            switch byte(at: place) {
            case 0x20, 0x0A, 0x0D, 0x09: place &+= 1
            default: return place
            }
        }
    }

    /// The end of `true`, `false` or `null`.
    func endOfWord(_ word: StaticString, from start: Int) throws(JSONSyntaxError) -> Int {
        for letter in 0..<word.utf8CodeUnitCount where byte(at: start + letter) != word.utf8Start[letter] {
            throw failure(.valueExpected, at: start)
        }
        return start + word.utf8CodeUnitCount
    }

    /// The failure for a byte that does not fit, or for there being none.
    func unexpected(_ reason: JSONSyntaxError.Reason, at place: Int) -> JSONSyntaxError {
        failure(place < count ? reason : .unexpectedEnd, at: place)
    }

    func failure(_ reason: JSONSyntaxError.Reason, at place: Int) -> JSONSyntaxError {
        JSONSyntaxError(reason, at: place, in: self)
    }
}
