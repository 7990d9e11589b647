/// A sum of money in centavos, greater than zero.
struct Amount: Sendable, Hashable {
    let centavos: Int64

    init(centavos: Int64) {
        self.centavos = centavos
    }

    /// Reads `digits`, `digits.d` or `digits.dd`, with at most 13 digits before the point.
    ///
    /// A third decimal is refused even when it is 0, and so is an exponent: the documents speak of a
    /// number with at most two decimals (belvo-api.md §11, line 3).
    init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
            .map { Array($0) }
        let whole = parts[0]
        guard (1...13).contains(whole.count), parts.count == 1 || (1...2).contains(parts[1].count) else { return nil }
        let fraction = parts.count == 1 ? [] : parts[1]
        let digits = whole + fraction + [UInt8](repeating: 0x30, count: 2 - fraction.count)
        guard digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        centavos = digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
        guard centavos > 0 else { return nil }
    }

    /// Two decimals always, as answers spell it.
    var text: String {
        let cents = centavos % 100
        return "\(centavos / 100).\(cents < 10 ? "0" : "")\(cents)"
    }
}
