import Testing

@testable import Belvo

/// Texts that are stored and logged in plain are words or ids, and never name a person (promise 9).
@Suite struct PlainWordTests {
    @Test(arguments: ["insufficient_funds", "DETALHE_PAGAMENTO_INVALIDO", "rejected-other.2", "E12345"])
    func `a code is kept as Belvo wrote it`(code: String) {
        #expect(PlainWord.isCode(code))
    }

    @Test(arguments: [
        "", "invalid_529.982.247-25", "52998224725", "the payer has no funds", "código", "ana@example.com",
        String(repeating: "a", count: 65),
    ]) func `what is no code is not taken for one`(text: String) {
        #expect(!PlainWord.isCode(text))
    }

    @Test(arguments: [
        "urn:bank:C1DD33123", "b5c6a3f2-0b0f-4b6d-9a6e-52998224725a", "x:b5c6a3f2-0b0f-4b6d-9a6e-529982247251",
        "4f2", "5299822472500f1e5299822472500f1e",
    ])
    func `an id of a machine is kept`(id: String) {
        #expect(PlainWord.isID(id))
    }

    @Test(arguments: [
        "", "52998224725", "529.982.247-25", "cpf:529.982.247-25", "cnpj_11222333000181", "Ana Souza",
        "ana@example.com", "+5511987654321", "r-5511999990000", "ana.souza",
    ]) func `a number or a name of a person's is no id`(text: String) {
        #expect(!PlainWord.isID(text))
    }

    @Test(arguments: [("2027-01-02T03:04:05Z", true), ("2027-01-02", true), ("529.982.247-25", false), ("soon", false)])
    func `a moment begins with a day`(text: String, isMoment: Bool) {
        #expect(PlainWord.isMoment(text) == isMoment)
    }
}
