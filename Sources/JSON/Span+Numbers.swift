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

    /// The value of a number that the grammar has let through; nil for a fraction, an exponent, an overflow.
    func int64(_ number: Range<Int>) -> Int64? {
        let isNegative = self[number.lowerBound] == UInt8(ascii: "-")
        let digits = extracting((isNegative ? number.lowerBound + 1 : number.lowerBound)..<number.upperBound)
        var value: Int64 = 0
        for place in digits.indices {
            let digit = digits[place] &- UInt8(ascii: "0")
            guard digit <= 9 else { return nil }
            // Towards the sign at once, since the least Int64 has no positive twin.
            let (shifted, overflowed) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflowedAgain) = shifted.addingReportingOverflow(isNegative ? -Int64(digit) : Int64(digit))
            if overflowed || overflowedAgain { return nil }
            value = sum
        }
        return value
    }
}
