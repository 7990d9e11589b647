extension Span<UInt8> {
    /// The end of a number (RFC 8259 §6): `[ minus ] int [ frac ] [ exp ]`.
    func endOfNumber(from start: Int) throws(JSONSyntaxError) -> Int {
        var end = byte(at: start) == UInt8(ascii: "-") ? start + 1 : start
        if byte(at: end) == UInt8(ascii: "0") {
            end += 1
            if isDigit(at: end) { throw failure(.leadingZero, at: end - 1) }
        } else {
            end = try endOfDigits(from: end)
        }
        if byte(at: end) == UInt8(ascii: ".") { end = try endOfDigits(from: end + 1) }
        if byte(at: end) | 0x20 == UInt8(ascii: "e") { end = try endOfExponent(from: end) }
        return end
    }

    private func endOfExponent(from start: Int) throws(JSONSyntaxError) -> Int {
        let sign = byte(at: start + 1)
        var digits = sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") ? start + 2 : start + 1
        let end = try endOfDigits(from: digits)
        while byte(at: digits) == UInt8(ascii: "0") { digits += 1 }
        guard end - digits <= JSONLimits.exponentDigitsMax else { throw failure(.exponentTooLarge, at: start) }
        return end
    }

    /// The end of one digit and all that follow it.
    @inline(__always)
    private func endOfDigits(from start: Int) throws(JSONSyntaxError) -> Int {
        guard isDigit(at: start) else { throw unexpected(.digitExpected, at: start) }
        var end = start + 1
        while isDigit(at: end) { end += 1 }
        return end
    }

    @inline(__always)
    private func isDigit(at place: Int) -> Bool {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte(at: place)
    }
}
