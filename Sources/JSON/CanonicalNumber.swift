/// A number's value, spelled in one way: its significant digits as an integer, and a power of ten when it is not 0.
///
/// `1`, `1.0`, `10e-1` are all `1`; `100` is `1e2`; `-0` is `0`. It may be a few bytes longer (`10` is
/// `1e1`), but `1e999` stays as short as it is.
struct CanonicalNumber {
    let bytes: [UInt8]

    /// Takes a number that the indexer has checked.
    init(_ text: ArraySlice<UInt8>) {
        let mantissa = text.prefix { $0 | 0x20 != UInt8(ascii: "e") }
        let isNegative = mantissa.first == UInt8(ascii: "-")
        let fraction = mantissa.drop { $0 != UInt8(ascii: ".") }.dropFirst()
        var digits = mantissa.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: ".") }.drop { $0 == zero }
        var exponent = CanonicalNumber.exponent(text.dropFirst(mantissa.count + 1)) - fraction.count
        while digits.last == zero {
            digits.removeLast()
            exponent += 1
        }
        guard !digits.isEmpty else {
            bytes = [zero]
            return
        }
        bytes = (isNegative ? [UInt8(ascii: "-")] : []) + digits + (exponent == 0 ? [] : Array("e\(exponent)".utf8))
    }

    /// The value of an exponent's sign and digits, of which the indexer lets few enough through.
    private static func exponent(_ text: ArraySlice<UInt8>) -> Int {
        Int(String(decoding: text, as: UTF8.self)) ?? 0
    }
}

private let zero = UInt8(ascii: "0")
