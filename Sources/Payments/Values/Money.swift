/// An amount of Brazilian reais, exact to the centavo.
public struct Money: Hashable, Sendable {
    /// The amount in hundredths of a real.
    public let centavos: Int64

    public init(centavos: Int64) {
        self.centavos = centavos
    }

    public static let zero = Money(centavos: 0)

    /// The ISO 4217 code of every amount here.
    public static let currency = "BRL"

    /// The most digits that may stand before the decimal point.
    ///
    /// With the two behind it that makes fifteen, so no amount that was read overflows 64 bits.
    public static let wholeDigitsMax = 13

    /// Reads `digits`, `digits.d` or `digits.dd`: no sign, no exponent, no white space.
    ///
    /// The text is read digit by digit and never passes through a binary float, in which 0.13 does not
    /// exist. Zero is an amount; whether one may pay it is not decided here.
    public init(_ text: some StringProtocol) throws(Fault) {
        var number: Int64 = 0
        var wholeDigits = 0
        var decimals: Int?
        for byte in text.utf8 {
            if ASCII.isDigit(byte) {
                if let count = decimals {
                    guard count < 2 else { throw .tooManyDecimals }
                    decimals = count + 1
                } else {
                    guard wholeDigits < Money.wholeDigitsMax else { throw .tooLarge }
                    wholeDigits += 1
                }
                number = number * 10 + Int64(byte - ASCII.zero)
            } else {
                guard byte == UInt8(ascii: "."), decimals == nil else { throw .notDecimal }
                decimals = 0
            }
        }
        guard wholeDigits > 0 else { throw .notDecimal }
        switch decimals {
        case nil: centavos = number * 100
        case 1: centavos = number * 10
        case 2: centavos = number
        default: throw .notDecimal
        }
    }

    /// Why a text is no amount.
    public enum Fault: ValueFault, CaseIterable {
        case notDecimal
        case tooManyDecimals
        case tooLarge

        public var code: String {
            switch self {
            case .notDecimal: "not_decimal"
            case .tooManyDecimals: "too_many_decimals"
            case .tooLarge: "too_large"
            }
        }

        public var message: String {
            switch self {
            case .notDecimal: "An amount is written in digits with at most one point between them, such as 0.13."
            case .tooManyDecimals: "An amount has at most two decimals."
            case .tooLarge: "An amount has at most \(Money.wholeDigitsMax) digits before the point."
            }
        }
    }

    /// The sum, or nil when it does not fit into 64 bits.
    public func adding(_ other: Money) -> Money? {
        let (sum, overflow) = centavos.addingReportingOverflow(other.centavos)
        return overflow ? nil : Money(centavos: sum)
    }
}

extension Money: Comparable {
    public static func < (left: Money, right: Money) -> Bool { left.centavos < right.centavos }
}

extension Money: CustomStringConvertible {
    /// The amount with exactly two decimals, as the API writes it: `0.13`.
    public var description: String {
        let (reais, hundredths) = centavos.magnitude.quotientAndRemainder(dividingBy: 100)
        return "\(centavos < 0 ? "-" : "")\(reais).\(hundredths < 10 ? "0" : "")\(hundredths)"
    }
}
