import JSON

/// The calls that came in, for tests that ask what was sent: the last `max` at least.
///
/// Nothing secret and nothing personal is kept: no header but the idempotency key, no query but
/// `external_id`, no body.
struct CallLog: Sendable {
    private(set) var calls: [CallRecord] = []
    private var count = 0

    /// Notes a call as it arrives and answers its number.
    mutating func begin(_ record: CallRecord, max: Int) -> Int {
        count += 1
        var record = record
        record.number = count
        calls.append(record)
        // In batches, since each removal moves all that stay.
        if calls.count >= 2 * max { calls.removeFirst(calls.count - max) }
        return count
    }

    subscript(number: Int) -> CallRecord? { calls.last { $0.number == number } }

    mutating func change(_ number: Int, _ body: (inout CallRecord) -> Void) {
        guard let place = calls.lastIndex(where: { $0.number == number }) else { return }
        body(&calls[place])
    }

    /// Adds a remark to the call that is being processed, which is the newest one marked so.
    mutating func note(_ remark: String) {
        guard let place = calls.lastIndex(where: { $0.isBeingProcessed }) else { return }
        calls[place].remark = remark
    }

    mutating func noteReplay() { note("replayed") }

    mutating func clear() { calls = [] }
}

/// One call as the log has it.
public struct CallRecord: Sendable, Equatable {
    /// Counts from 1.
    public internal(set) var number = 0
    /// When it arrived.
    public let at: Timestamp
    /// The method as it was sent.
    public let method: String
    /// Without its query.
    public let path: String
    /// Nil for a path that Belvo's API does not have.
    public let endpoint: Endpoint?
    /// From the body or the query.
    public let externalID: String?
    /// `Belvo-Idempotency-Key`.
    public let idempotencyKey: String?
    /// Whether the sandbox worked on it; false when a fault came first.
    public internal(set) var isProcessed = false
    /// The status of the answer, also of one that was then dropped.
    public internal(set) var status: Int?
    /// The fault that was applied, by its name.
    public internal(set) var fault: String?
    /// Why a registration or a signature was not accepted, or that the answer was an earlier one.
    public internal(set) var remark: String?
    var isBeingProcessed = false

    func write(to writer: inout JSONWriter) {
        writer.member("number", number)
        writer.member("at", at.text)
        writer.member("method", method)
        writer.member("path", path)
        writer.member("endpoint", endpoint?.rawValue)
        writer.member("external_id", externalID)
        writer.member("idempotency_key", idempotencyKey)
        writer.member("processed", isProcessed)
        if let status { writer.member("status", status) } else { writer.memberNull("status") }
        writer.member("fault", fault)
        writer.member("remark", remark)
    }
}
