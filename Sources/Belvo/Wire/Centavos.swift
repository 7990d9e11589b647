/// Amounts of reais as Belvo spells them, in integer centavos and never in binary floating point.
enum Centavos {
    /// Two decimals always, which is a JSON number as well as the text of a string: `0.13`.
    static func text(_ centavos: Int64) -> String {
        let (reais, rest) = centavos.magnitude.quotientAndRemainder(dividingBy: 100)
        return "\(centavos < 0 ? "-" : "")\(reais).\(rest < 10 ? "0" : "")\(rest)"
    }

    /// Reads `digits` or `digits.digits` exactly.
    ///
    /// Decimals beyond the second may only be zeros. A sign, an exponent, a fraction of a centavo and what
    /// does not fit into 64 bits are no amount of money.
    static func parse(_ text: String) -> Int64? {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count <= 2, parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(isDigit) }) else { return nil }
        let decimals = parts.count == 2 ? Array(parts[1]) : []
        guard decimals.dropFirst(2).allSatisfy({ $0 == zero }) else { return nil }

        var centavos: Int64 = 0
        for digit in Array(parts[0]) + (decimals + [zero, zero]).prefix(2) {
            let (shifted, tooLarge) = centavos.multipliedReportingOverflow(by: 10)
            let (sum, tooLargeStill) = shifted.addingReportingOverflow(Int64(digit - zero))
            guard !tooLarge, !tooLargeStill else { return nil }
            centavos = sum
        }
        return centavos
    }

    private static let zero = UInt8(ascii: "0")

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= zero && byte <= UInt8(ascii: "9") }
}
