/// Brazilian tax numbers of people who do not exist.
public enum TaxNumber {
    /// A CPF with its two check digits, another for each number from 0 to 879,999,999.
    public static func cpf(_ number: Int) -> String {
        // Beginning with 1 and 2, so that no number is one digit repeated, which would be none.
        var digits = "\(120_000_000 + number)".utf8.map { Int($0) - 48 }
        for _ in 0..<2 {
            // Weights from 2 upwards, from the right; a remainder of 10 is written 0.
            let sum = digits.reversed().enumerated().reduce(0) { $0 + $1.element * ($1.offset + 2) }
            digits.append(sum * 10 % 11 % 10)
        }
        return digits.map(String.init).joined()
    }
}
