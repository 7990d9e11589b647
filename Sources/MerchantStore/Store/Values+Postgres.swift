import FoundationEssentials
import MerchantModel
import Payments
import Postgres

// How the domain's values travel to PostgreSQL and back. A row that cannot be read as a value is our own mistake or
// a damaged database; it is an error and never a guess.

extension ID: PostgresValue {
    public static var postgresType: PostgresType { UUID.postgresType }

    public func encode(into encoder: inout PostgresEncoder) {
        uuid.encode(into: &encoder)
    }

    public static func decode(_ field: PostgresField) throws(ValueMismatch) -> ID {
        ID(try UUID.decode(field))
    }
}

extension Timestamp: PostgresValue {
    /// PostgreSQL counts from 2000-01-01 (`timestamptz_send`).
    private static let epoch: Int64 = 946_684_800_000_000

    public static var postgresType: PostgresType { .timestamptz }

    public func encode(into encoder: inout PostgresEncoder) {
        encoder.append(microsecondsSince1970 - Timestamp.epoch)
    }

    public static func decode(_ field: PostgresField) throws(ValueMismatch) -> Timestamp {
        let bytes = try field.value(of: .timestamptz, as: Timestamp.self)
        guard bytes.count == 8 else { throw ValueMismatch(field.type, as: Timestamp.self, .malformed) }
        let microseconds = Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
        let (sum, overflow) = microseconds.addingReportingOverflow(epoch)
        return Timestamp(microsecondsSince1970: overflow ? .max : sum)
    }
}

extension BoundedText: PostgresValue {
    public static var postgresType: PostgresType { String.postgresType }
    public static var postgresFormat: PostgresFormat { String.postgresFormat }

    public func encode(into encoder: inout PostgresEncoder) {
        text.encode(into: &encoder)
    }

    public static func decode(_ field: PostgresField) throws(ValueMismatch) -> BoundedText {
        let text = try String.decode(field)
        do {
            return try BoundedText(text)
        } catch {
            throw ValueMismatch(field.type, as: BoundedText.self, .malformed)
        }
    }
}

extension EndToEndID: PostgresValue {
    public static var postgresType: PostgresType { String.postgresType }
    public static var postgresFormat: PostgresFormat { String.postgresFormat }

    public func encode(into encoder: inout PostgresEncoder) {
        description.encode(into: &encoder)
    }

    public static func decode(_ field: PostgresField) throws(ValueMismatch) -> EndToEndID {
        guard let id = EndToEndID(try String.decode(field)) else {
            throw ValueMismatch(field.type, as: EndToEndID.self, .malformed)
        }
        return id
    }
}

/// JSON text in a column of type `json`, which keeps it byte for byte.
struct JSONColumn: PostgresValue {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    static var postgresType: PostgresType { .json }

    func encode(into encoder: inout PostgresEncoder) {
        encoder.append(bytes: bytes)
    }

    static func decode(_ field: PostgresField) throws(ValueMismatch) -> JSONColumn {
        JSONColumn(Array(try field.value(of: .json, as: JSONColumn.self)))
    }
}

extension Customer.State: PostgresValue {}
extension Enrollment.State: PostgresValue {}
extension Enrollment.Platform: PostgresValue {}
extension Payment.State: PostgresValue {}
extension Payments.Status: PostgresValue {}
extension Order.Status: PostgresValue {}
extension Authority: PostgresValue {}
extension Origin: PostgresValue {}
extension Cause.Actor: PostgresValue {}
extension Difference.Kind: PostgresValue {}
