import FoundationEssentials
import Payments
import Testing

struct IDTests {
    private enum Payment {}
    private struct Lease: ~Copyable {}

    @Test(arguments: [
        "", "0198a5c2-7b3e-7abc-8def-0123456789a", "0198a5c2-7b3e-7abc-8def-0123456789abc",
        "0198a5c27b3e7abc8def0123456789ab", "{0198a5c2-7b3e-7abc-8def-0123456789ab}",
        "urn:uuid:0198a5c2-7b3e-7abc-8def-0123456789ab", " 198a5c2-7b3e-7abc-8def-0123456789ab",
        "0198a5c2-7b3e-7abc-8def-0123456789ag", "\u{10}198a5c2-7b3e-7abc-8def-0123456789ab",
        "0198a5c2_7b3e-7abc-8def-0123456789ab",
        "0198a5c27-b3e-7abc-8def-0123456789ab", "0198a5c2-7b3e-7abc-8def-0123456789a\n",
        "0198a5c2-7b3e-7abc-8def-012345678９b", "0198a5c2-7b3e-7abc-8def-0123456789é",
    ])
    func `what is not the canonical form of a UUID is nil`(text: String) {
        #expect(ID<Payment>(text) == nil)
    }

    @Test(arguments: [
        "0198a5c2-7b3e-7abc-8def-0123456789ab", "00000000-0000-0000-0000-000000000000",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
    ])
    func `an identity is written in lower case and read in either`(text: String) throws {
        let id = try #require(ID<Payment>(text))
        #expect(id.description == text)
        #expect(ID<Payment>(text.uppercased()) == id)
        #expect(id.uuid.uuidString == text.uppercased())
    }

    @Test func `a kind of record that cannot be copied has identities too`() {
        #expect(ID<Lease>(UUID()) != ID<Lease>(UUID()))
    }
}
