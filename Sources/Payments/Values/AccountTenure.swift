/// The day since which a customer has been known, as the risk signals carry it: `YYYY-MM-DD`
/// (belvo-api.md §7).
public struct AccountTenure: Hashable, Sendable, LosslessStringConvertible {
    private let date: CalendarDate

    /// Reads a day that the calendar has; nil for anything else.
    public init?(_ text: String) {
        var cursor = ASCIICursor(text)
        guard let date = CalendarDate(from: &cursor), cursor.isAtEnd else { return nil }
        self.date = date
    }

    /// The UTC day of the moment at which Belvo created the customer (belvo-api.md §3.1).
    public init(customerCreatedAt moment: Timestamp) {
        date = moment.date
    }

    public var description: String {
        var text: [UInt8] = []
        date.append(to: &text)
        return String(decoding: text, as: UTF8.self)
    }
}
