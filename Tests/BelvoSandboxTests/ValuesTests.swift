import Testing

@testable import BelvoSandbox

@Suite struct ValuesTests {
    @Test(arguments: [
        "", ".", "0", "0.00", "-1", "+1", "1.", ".5", "1.234", "0.130", "1e2", "1,00", " 1", "NaN", "1.2.3", "١",
        "12345678901234", "1e400",
    ])
    func `what is no sum of money is refused`(_ text: String) {
        #expect(Amount(text) == nil)
    }

    @Test(
        arguments: [
            ("0.13", 13, "0.13"), ("0.1", 10, "0.10"), ("1", 100, "1.00"), ("00500.00", 50_000, "500.00"),
            ("9999999999999.99", 999_999_999_999_999, "9999999999999.99"),
        ] as [(String, Int64, String)])
    func `a sum of money is read to the centavo`(_ text: String, _ centavos: Int64, _ spelled: String) {
        #expect(Amount(text)?.centavos == centavos)
        #expect(Amount(text)?.text == spelled)
    }

    @Test func `moments are spelled as Belvo spells them`() {
        let moment = Timestamp(microseconds: 1_732_620_057_389_056)
        #expect(moment.text == "2024-11-26T11:20:57.389056Z")
        #expect(moment.minute == "202411261120")
        #expect((moment + .milliseconds(1)).text == "2024-11-26T11:20:57.390056Z")
    }

    @Test func `identifiers are of version 4`() {
        let id = Entropy { [UInt8](repeating: 0xFF, count: $0) }.uuid()
        #expect(id == "ffffffff-ffff-4fff-bfff-ffffffffffff")
        #expect(UUIDText.parse(id.uppercased()) == id)
        #expect(UUIDText.parse("ffffffff-ffff-4fff-bfff-fffffffffff") == nil)
        #expect(UUIDText.parse("complete-redirection") == nil)
    }
}
