import Payments
import Testing

struct MoneyTests {
    @Test(
        arguments: [
            ("", .notDecimal),
            (".", .notDecimal),
            (".50", .notDecimal),
            ("1.", .notDecimal),
            ("1..0", .notDecimal),
            ("1.0.0", .notDecimal),
            ("-1", .notDecimal),
            ("+1", .notDecimal),
            ("-0", .notDecimal),
            ("1e2", .notDecimal),
            ("1e400", .notDecimal),
            ("0x10", .notDecimal),
            ("NaN", .notDecimal),
            ("inf", .notDecimal),
            (" 1", .notDecimal),
            ("1 ", .notDecimal),
            ("1\u{0}", .notDecimal),
            ("1,00", .notDecimal),
            ("1:0", .notDecimal),
            ("1/0", .notDecimal),
            ("1_000", .notDecimal),
            ("R$ 1", .notDecimal),
            ("\u{661}", .notDecimal),
            ("\u{FF11}", .notDecimal),
            ("0.129", .tooManyDecimals),
            ("0.130", .tooManyDecimals),
            ("0.13000000000000000444", .tooManyDecimals),
            ("10000000000000", .tooLarge),
            ("00000000000000.10", .tooLarge),
            ("99999999999999999999", .tooLarge),
        ] as [(String, Money.Fault)])
    func `what is not spelled as an amount is refused for its reason`(text: String, fault: Money.Fault) {
        #expect(throws: fault) { try Money(text) }
    }

    @Test(
        arguments: [
            ("0", 0, "0.00"),
            ("0.0", 0, "0.00"),
            ("0.13", 13, "0.13"),
            ("0.1", 10, "0.10"),
            ("0.01", 1, "0.01"),
            ("1", 100, "1.00"),
            ("007.5", 750, "7.50"),
            ("19.90", 1990, "19.90"),
            ("1020.0", 102_000, "1020.00"),
            ("9999999999999.99", 999_999_999_999_999, "9999999999999.99"),
        ] as [(String, Int64, String)])
    func `every permitted spelling keeps its exact centavos`(text: String, centavos: Int64, written: String) throws {
        let money = try Money(text)
        #expect(money.centavos == centavos)
        #expect(money.description == written)
        #expect(try Money(written) == money)
    }

    @Test func `every centavo up to a hundred reais is read back as it was written`() throws {
        for centavos in Int64(0)...10_000 {
            let money = Money(centavos: centavos)
            #expect(try Money(money.description) == money)
        }
    }

    @Test func `a tenth and two tenths are three tenths`() throws {
        #expect(try Money("0.1").adding(Money("0.2")) == Money("0.3"))
    }

    @Test func `a sum past 64 bits is nil, not wrong`() {
        #expect(Money(centavos: .max).adding(Money(centavos: 1)) == nil)
        #expect(Money(centavos: .min).adding(Money(centavos: -1)) == nil)
        #expect(Money(centavos: .max - 1).adding(Money(centavos: 1)) == Money(centavos: .max))
    }

    @Test func `amounts are ordered by their value`() throws {
        #expect(try Money("9.99") < Money("10"))
        #expect(try Money("10") <= Money("10.00"))
        #expect(Money.zero < Money(centavos: 1))
    }

    @Test(arguments: [(-1, "-0.01"), (-100, "-1.00"), (.min, "-92233720368547758.08")] as [(Int64, String)])
    func `a debt, which only arithmetic can make, is written with its sign`(centavos: Int64, written: String) {
        #expect(Money(centavos: centavos).description == written)
    }
}
