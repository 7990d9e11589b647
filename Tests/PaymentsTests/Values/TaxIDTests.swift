import Payments
import Testing

struct TaxIDTests {
    @Test(
        arguments: [
            ("", .malformed),
            ("5299822472", .malformed),
            ("529982247255", .malformed),
            ("529 982 247 25", .malformed),
            (" 52998224725", .malformed),
            ("52998224725\n", .malformed),
            ("5299.82247-25", .malformed),
            ("529..982.247-25", .malformed),
            ("529.982.247/25", .malformed),
            ("\u{FF15}2998224725", .malformed),
            ("5299822472A", .malformed),
            ("90.025.255/0001", .malformed),
            ("90.024.420/0001A2", .malformed),
            ("12ABC34501DEA5", .malformed),
            ("12ABÇ34501DE35", .malformed),
            ("*1.775.044/0001-31", .malformed),
            ("00000000000", .repeatedDigit),
            ("111.111.111-11", .repeatedDigit),
            ("99999999999", .repeatedDigit),
            ("00000000000000", .repeatedDigit),
            ("11.111.111/1111-11", .repeatedDigit),
            ("52998224724", .wrongCheckDigits),
            ("52998224735", .wrongCheckDigits),
            ("25998224725", .wrongCheckDigits),
            ("11222333000180", .wrongCheckDigits),
            ("11222333000191", .wrongCheckDigits),
            ("90.025.108/000101", .wrongCheckDigits),
            ("12ABC34501DE00", .wrongCheckDigits),
            ("R55231B3000700", .wrongCheckDigits),
            ("12BAC34501DE35", .wrongCheckDigits),
        ] as [(String, TaxID.Fault)])
    func `what is no tax number is refused for its reason`(text: String, fault: TaxID.Fault) {
        #expect(throws: fault) { try TaxID(text) }
    }

    // The alphanumeric ones are Serpro's published examples.
    @Test(
        arguments: [
            ("52998224725", .cpf, "52998224725", "***.***.***-25"),
            ("529.982.247-25", .cpf, "52998224725", "***.***.***-25"),
            ("529982247-25", .cpf, "52998224725", "***.***.***-25"),
            ("123.456.789-09", .cpf, "12345678909", "***.***.***-09"),
            ("01234567890", .cpf, "01234567890", "***.***.***-90"),
            ("11222333000181", .cnpj, "11222333000181", "**.***.***/****-81"),
            ("11.222.333/0001-81", .cnpj, "11222333000181", "**.***.***/****-81"),
            ("11222333/0001-81", .cnpj, "11222333000181", "**.***.***/****-81"),
            ("00.000.000/0001-91", .cnpj, "00000000000191", "**.***.***/****-91"),
            ("90.025.255/0001-00", .cnpj, "90025255000100", "**.***.***/****-00"),
            ("90.024.778/000123", .cnpj, "90024778000123", "**.***.***/****-23"),
            ("12ABC34501DE35", .cnpj, "12ABC34501DE35", "**.***.***/****-35"),
            ("12.ABC.345/01DE-35", .cnpj, "12ABC34501DE35", "**.***.***/****-35"),
            ("12.abc.345/01de-35", .cnpj, "12ABC34501DE35", "**.***.***/****-35"),
            ("1345C3A5000106", .cnpj, "1345C3A5000106", "**.***.***/****-06"),
            ("R55231B3000757", .cnpj, "R55231B3000757", "**.***.***/****-57"),
            ("ABCDEFGHIJKL80", .cnpj, "ABCDEFGHIJKL80", "**.***.***/****-80"),
        ] as [(String, TaxID.Kind, String, String)])
    func `a correct number is known by its kind and kept bare`(
        text: String, kind: TaxID.Kind, bare: String, masked: String
    ) throws {
        let taxID = try TaxID(text)
        #expect(taxID.kind == kind)
        #expect(taxID.text == bare)
        #expect(taxID.masked == masked)
    }

    @Test func `of all endings of one body exactly one fits`() {
        for body in ["529982247", "000000001", "112223330001", "12ABC34501DE", "ZZZZZZZZZZZZ"] {
            let fitting = (0...99).filter { ending in
                (try? TaxID(body + (ending < 10 ? "0" : "") + String(ending))) != nil
            }
            #expect(fitting.count == 1, "\(body)")
        }
    }

    @Test func `however it is spelled, a number is one value`() throws {
        #expect(try TaxID("12.abc.345/01de-35") == TaxID("12ABC34501DE35"))
    }
}
