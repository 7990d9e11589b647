import Payments
import Testing

struct AccountTenureTests {
    @Test(arguments: [
        "", "2026", "2026-1-1", "2026-02-29", "2026-13-01", "2026-11-31", "20261121", "2026/11/21",
        "2026-11-21T00:00:00Z", " 2026-11-21", "2026-11-21 ", "٢٠٢٦-11-21",
    ])
    func `what is no day of the calendar is nil`(text: String) {
        #expect(AccountTenure(text) == nil)
    }

    @Test(arguments: ["2026-11-21", "2024-02-29", "1999-12-31", "0000-01-01", "9999-12-31"])
    func `a day is read and written alike`(text: String) {
        #expect(AccountTenure(text)?.description == text)
    }

    @Test(arguments: [
        ("2024-11-26T11:20:57.389056Z", "2024-11-26"),
        ("2024-11-26T22:00:00-03:00", "2024-11-27"),
        ("1969-12-31T23:59:59.999999Z", "1969-12-31"),
        ("1970-01-01T00:00:00Z", "1970-01-01"),
    ])
    func `a customer's tenure is the UTC day of its creation`(moment: String, day: String) throws {
        #expect(AccountTenure(customerCreatedAt: try Timestamp(moment)).description == day)
    }
}
