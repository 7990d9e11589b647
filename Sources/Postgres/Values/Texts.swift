import FoundationEssentials

extension String: PostgresValue {
    /// Inferred, so that a `String` may also stand for a uuid, a numeric, an enum or a timestamp.
    public static var postgresType: PostgresType { .inferred }
    public static var postgresFormat: PostgresFormat { .text }

    public func encode(into encoder: inout PostgresEncoder) {
        encoder.append(bytes: utf8)
    }

    /// Reads the character types and json, and the labels of enums.
    public static func decode(_ field: PostgresField) throws(ValueMismatch) -> String {
        switch field.type {
        case .text, .varchar, .bpchar, .name, .json, .unknown: break
        // An enum's OID is not known beforehand, its binary form is its label. Whatever else a user may define
        // has NULs or broken UTF-8 in its binary form before long.
        case let type where type.isUserDefined: break
        default: throw ValueMismatch(field.type, as: String.self, .otherType)
        }
        let bytes = try field.present(as: String.self)
        guard let text = String(validating: bytes, as: UTF8.self), !(field.type.isUserDefined && bytes.contains(0))
        else { throw ValueMismatch(field.type, as: String.self, .malformed) }
        return text
    }
}

extension UUID: PostgresValue {
    public static var postgresType: PostgresType { .uuid }

    public func encode(into encoder: inout PostgresEncoder) {
        withUnsafeBytes(of: uuid) { encoder.append(bytes: $0) }
    }

    public static func decode(_ field: PostgresField) throws(ValueMismatch) -> UUID {
        let bytes = try field.value(of: .uuid, as: UUID.self)
        guard bytes.count == 16 else { throw ValueMismatch(field.type, as: UUID.self, .malformed) }
        return UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
    }
}

/// The text of a `jsonb` or `json` value, passed through as bytes.
public struct JSONText: PostgresValue, Hashable {
    public var bytes: [UInt8]

    /// Takes a whole JSON text. The server refuses what is none.
    public init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    public static var postgresType: PostgresType { .jsonb }

    /// The version of jsonb's binary form (`jsonb_send`).
    private static var version: UInt8 { 1 }

    public func encode(into encoder: inout PostgresEncoder) {
        encoder.append(Self.version)
        encoder.append(bytes: bytes)
    }

    public static func decode(_ field: PostgresField) throws(ValueMismatch) -> JSONText {
        let bytes = try field.value(of: .jsonb, .json, as: JSONText.self)
        if field.type == .json { return JSONText(Array(bytes)) }
        guard bytes.first == version else { throw ValueMismatch(field.type, as: JSONText.self, .malformed) }
        return JSONText(Array(bytes.dropFirst()))
    }
}

/// A `timestamptz`: microseconds since 1970-01-01 00:00 UTC.
public struct PostgresTimestamp: PostgresValue, Hashable, Comparable {
    public var microseconds: Int64

    public init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    public static func < (left: Self, right: Self) -> Bool { left.microseconds < right.microseconds }

    public static var postgresType: PostgresType { .timestamptz }

    /// PostgreSQL counts from 2000-01-01 00:00 UTC.
    private static var epoch: Int64 { 946_684_800_000_000 }

    public func encode(into encoder: inout PostgresEncoder) {
        let (value, overflow) = microseconds.subtractingReportingOverflow(Self.epoch)
        // The least `Int64` means -infinity; the one above is out of range, and the server says so.
        encoder.append(overflow ? Int64.min + 1 : value)
    }

    /// Reads `timestamptz`; infinity is malformed.
    public static func decode(_ field: PostgresField) throws(ValueMismatch) -> PostgresTimestamp {
        let bytes = try field.value(of: .timestamptz, as: PostgresTimestamp.self)
        guard bytes.count == 8 else { throw ValueMismatch(field.type, as: Self.self, .malformed) }
        let value = bytes.bigEndian(Int64.self)
        let (microseconds, overflow) = value.addingReportingOverflow(epoch)
        guard !overflow, value != .min else { throw ValueMismatch(field.type, as: Self.self, .malformed) }
        return PostgresTimestamp(microseconds: microseconds)
    }
}
