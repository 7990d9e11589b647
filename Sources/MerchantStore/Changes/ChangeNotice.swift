import FoundationEssentials

/// The notification that instances send each other through PostgreSQL: who sends, and the ids of records that have
/// changed, with a blank between them.
struct ChangeNotice: Sendable {
    static let channel = "record_changes"
    /// Each takes 37 bytes, and a notification has less than 8000 (PostgreSQL's manual, NOTIFY).
    static let recordsMax = 200

    /// The name of this instance alone.
    private let sender: String

    init(sender: UInt64) {
        self.sender = String(sender, radix: 16)
    }

    /// The payloads for the records, as few as possible.
    func payloads(naming records: [UUID]) -> [String] {
        stride(from: 0, to: records.count, by: Self.recordsMax).map { start in
            records[start..<min(start + Self.recordsMax, records.count)].reduce(into: sender) { payload, record in
                payload += " \(record.uuidString)"
            }
        }
    }

    /// The records that a payload names. None when it is our own; what is no id is passed over.
    func records(in payload: String) -> [UUID] {
        let words = payload.split(separator: " ")
        guard let speaker = words.first, speaker != sender else { return [] }
        return words.dropFirst().compactMap { UUID(uuidString: String($0)) }
    }
}
