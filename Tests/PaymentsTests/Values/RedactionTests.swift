import Payments
import Testing

struct RedactionTests {
    /// Something that holds personal values, as records do.
    private struct Customer {
        var taxID: TaxID
        var name: PersonName
        var email: EmailAddress
        var phone: PhoneNumber
        var subject: UserSubject
        var metadata: Metadata
    }

    @Test func `nothing personal is printed by accident`() throws {
        let customer = Customer(
            taxID: try TaxID("529.982.247-25"), name: try PersonName("Maria Secreta"),
            email: try EmailAddress("secreta@example.com"), phone: try PhoneNumber("+55 11 91234-5678"),
            subject: try UserSubject("secreta"), metadata: try Metadata(json: Array(#"{"a":"secreta"}"#.utf8)))
        var dumped = ""
        dump(customer, to: &dumped)
        let printed = [
            "\(customer)", String(reflecting: customer), dumped,
            "\(customer.taxID) \(customer.name) \(customer.email) \(customer.phone) \(customer.metadata)",
            "\([customer.taxID])", "\(Optional(customer.name) as Any)",
        ]
        for text in printed {
            #expect(text.contains("‹redacted›"))
            for secret in ["52998224725", "ecreta", "91234", "115, 101"] {
                #expect(!text.contains(secret), "\(secret) in \(text)")
            }
        }
    }

    @Test func `no refusal repeats what it refuses`() {
        #expect(throws: TaxID.Fault.wrongCheckDigits) { try TaxID("52998224724") }
        for fault in TaxID.Fault.allCases { #expect(!fault.message.contains("529")) }
    }
}
