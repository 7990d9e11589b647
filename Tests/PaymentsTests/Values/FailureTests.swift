import Payments
import Testing

/// A failure's code is a word that operators group by, and never a text that may name a person.
@Suite struct FailureTests {
    @Test(arguments: ["insufficient_funds", "DETALHE_PAGAMENTO_INVALIDO", "rejected-other.2", "E12345"])
    func `a code is kept as Belvo wrote it`(code: String) {
        let failure = Failure(code: code, message: "Why.", authority: .belvo)
        #expect(failure.code == code)
        #expect(failure.message == "Why.")
    }

    @Test(arguments: [
        "", "invalid_529.982.247-25", "52998224725", "the payer has no funds", "código",
        String(repeating: "a", count: 65),
    ]) func `what is no code goes with the message`(text: String) {
        let failure = Failure(code: text, message: "Why.", authority: .belvo)
        #expect(failure.code == "unexpected")
        #expect(failure.message == "\(text): Why.")
        #expect(Failure(code: text, authority: .belvo).message == text)
    }
}
