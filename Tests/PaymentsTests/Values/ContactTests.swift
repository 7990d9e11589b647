import Payments
import Testing

struct ContactTests {
    @Test(arguments: [
        "", "@", "maria", "maria@", "@example.com", "maria@example", "maria@@example.com", "a@example.com@example.org",
        "maria @example.com", "maria@example..com", "maria@.com", "maria@example.", "maria@exam\nple.com",
        "maria\u{0}@example.com", String(repeating: "x", count: 243) + "@example.com",
    ])
    func `what cannot be an e-mail address is refused`(text: String) {
        #expect(throws: EmailAddress.Fault.malformed) { try EmailAddress(text) }
    }

    @Test(arguments: [
        "maria@example.com", "m.s+pix@mail.example.com.br", "josé@exemplo.com.br",
        String(repeating: "x", count: 242) + "@example.com",
    ])
    func `an e-mail address is kept as it came`(text: String) throws {
        #expect(try EmailAddress(text).text == text)
    }

    @Test(arguments: [
        "", "+", "1234567", "1234567890123456", "++5511912345678", "55+11912345678", "11 91234-567x",
        "11/912345678", "11\n912345678", "١١٩١٢٣٤٥٦٧٨", "1--------------------2345678",
    ])
    func `what cannot be a telephone number is refused`(text: String) {
        #expect(throws: PhoneNumber.Fault.malformed) { try PhoneNumber(text) }
    }

    @Test(arguments: ["+55 11 91234-5678", "+5511912345678", "(11) 91234-5678", "11.91234.5678", "12345678"])
    func `a telephone number is kept as it came`(text: String) throws {
        #expect(try PhoneNumber(text).text == text)
    }
}
