import FoundationEssentials

/// A value that also travels in an array, as for `= ANY(\(ids))`.
public protocol PostgresArrayElement: PostgresValue {
    /// The type of an array's elements.
    static var postgresElementType: PostgresType { get }
    /// The type of the array itself.
    static var postgresArrayType: PostgresType { get }
    static func encodeArray(_ elements: [Self], into encoder: inout PostgresEncoder)
    static func decodeArray(_ field: PostgresField) throws(ValueMismatch) -> [Self]
}

extension Array: PostgresValue where Element: PostgresArrayElement {
    public static var postgresType: PostgresType { Element.postgresArrayType }

    public func encode(into encoder: inout PostgresEncoder) {
        Element.encodeArray(self, into: &encoder)
    }

    public static func decode(_ field: PostgresField) throws(ValueMismatch) -> [Element] {
        try Element.decodeArray(field)
    }
}

extension PostgresArrayElement {
    public static var postgresElementType: PostgresType { postgresType }

    /// Writes one dimension, as `array_send` does: dimensions, NULLs, element type, count, first index, elements.
    public static func encodeArray(_ elements: [Self], into encoder: inout PostgresEncoder) {
        encoder.append(Int32(elements.isEmpty ? 0 : 1))
        encoder.append(Int32(0))
        encoder.append(postgresElementType.rawValue)
        guard !elements.isEmpty else { return }
        encoder.append(Int32(elements.count))
        encoder.append(Int32(1))
        for element in elements {
            encoder.appendCounted { element.encode(into: &$0) }
        }
    }

    /// Reads an array of one dimension at most.
    public static func decodeArray(_ field: PostgresField) throws(ValueMismatch) -> [Self] {
        var rest = try field.value(of: postgresArrayType, as: [Self].self)
        func next() throws(ValueMismatch) -> Int {
            guard rest.count >= 4 else { throw ValueMismatch(field.type, as: [Self].self, .malformed) }
            defer { rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(4)) }
            return Int(rest.bigEndian(Int32.self))
        }
        let dimensions = try next()
        _ = try next()
        let type = PostgresType(rawValue: UInt32(truncatingIfNeeded: try next()))
        if dimensions == 0 { return [] }
        guard dimensions == 1 else { throw ValueMismatch(field.type, as: [Self].self, .otherType) }
        let count = try next()
        _ = try next()
        var elements: [Self] = []
        elements.reserveCapacity(Swift.max(0, Swift.min(count, rest.count / 4)))
        for _ in 0..<Swift.max(0, count) {
            let length = try next()
            guard length >= 0 else { throw ValueMismatch(field.type, as: [Self].self, .null) }
            guard length <= rest.count else { throw ValueMismatch(field.type, as: [Self].self, .malformed) }
            let bytes = UnsafeRawBufferPointer(rebasing: rest.prefix(length))
            elements.append(try Self.decode(PostgresField(type: type, bytes: bytes)))
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(length))
        }
        return elements
    }
}

extension PostgresArrayElement where Self: RawRepresentable, RawValue: PostgresArrayElement {
    public static var postgresElementType: PostgresType { RawValue.postgresElementType }
    public static var postgresArrayType: PostgresType { RawValue.postgresArrayType }
}

extension String: PostgresArrayElement {
    /// In an array a text's type has to be said, and its bytes are the same in both formats.
    public static var postgresElementType: PostgresType { .text }
    public static var postgresArrayType: PostgresType { .textArray }
}

extension UUID: PostgresArrayElement {
    public static var postgresArrayType: PostgresType { .uuidArray }
}

extension Int64: PostgresArrayElement {
    public static var postgresArrayType: PostgresType { .int8Array }
}

extension Int: PostgresArrayElement {
    public static var postgresArrayType: PostgresType { .int8Array }
}

/// Bytes are no array to PostgreSQL but a `bytea`; `UInt8` alone is no PostgreSQL type and has no other use here.
extension UInt8: PostgresArrayElement {
    public static var postgresType: PostgresType { .bytea }
    public static var postgresArrayType: PostgresType { .bytea }

    public func encode(into encoder: inout PostgresEncoder) {
        encoder.append(self)
    }

    /// Reads a `bytea` of exactly one byte.
    public static func decode(_ field: PostgresField) throws(ValueMismatch) -> UInt8 {
        let bytes = try field.value(of: .bytea, as: UInt8.self)
        guard bytes.count == 1 else { throw ValueMismatch(field.type, as: UInt8.self, .malformed) }
        return bytes[0]
    }

    public static func encodeArray(_ elements: [UInt8], into encoder: inout PostgresEncoder) {
        encoder.append(bytes: elements)
    }

    public static func decodeArray(_ field: PostgresField) throws(ValueMismatch) -> [UInt8] {
        Array(try field.value(of: .bytea, as: [UInt8].self))
    }
}

/// Bytes in an array: a `bytea` among others.
public struct ByteString: Hashable, Sendable, PostgresArrayElement {
    /// The value of the element.
    public let bytes: [UInt8]

    public init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    public static var postgresType: PostgresType { .bytea }
    public static var postgresArrayType: PostgresType { .byteaArray }

    public func encode(into encoder: inout PostgresEncoder) {
        encoder.append(bytes: bytes)
    }

    public static func decode(_ field: PostgresField) throws(ValueMismatch) -> ByteString {
        ByteString(Array(try field.value(of: .bytea, as: ByteString.self)))
    }
}
