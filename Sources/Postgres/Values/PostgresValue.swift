/// A Swift type that can be a statement's parameter and a column of its result.
///
/// An enum or identity with a raw value needs one line: `extension Payment.State: PostgresValue {}`.
public protocol PostgresValue: Sendable {
    /// The type under which the parameter is sent. `.inferred` lets the server find it from the statement.
    static var postgresType: PostgresType { get }
    /// How the parameter is written; binary unless said otherwise. Columns always come in binary.
    static var postgresFormat: PostgresFormat { get }
    /// Writes the value, or NULL.
    func encode(into encoder: inout PostgresEncoder)
    /// Reads a column's value. Throws when the column has another type, is NULL, or holds what this type cannot.
    static func decode(_ field: PostgresField) throws(ValueMismatch) -> Self
}

extension PostgresValue {
    public static var postgresFormat: PostgresFormat { .binary }
}

/// How a value is written on the wire.
public enum PostgresFormat: Int32, Sendable {
    case text = 0
    case binary = 1
}

/// Where a parameter's bytes are written. Integers go out in network byte order.
public struct PostgresEncoder {
    private(set) var bytes: [UInt8]
    private(set) var isNull = false

    init(bytes: [UInt8] = []) {
        self.bytes = bytes
    }

    /// Makes the parameter NULL.
    public mutating func appendNull() {
        isNull = true
    }

    /// Writes a number in its full width.
    public mutating func append(_ integer: some FixedWidthInteger) {
        withUnsafeBytes(of: integer.bigEndian) { bytes.append(contentsOf: $0) }
    }

    /// Writes bytes as they are.
    public mutating func append(bytes more: some Sequence<UInt8>) {
        bytes.append(contentsOf: more)
    }

    /// Writes a length of four bytes before what the body writes.
    mutating func appendCounted(_ body: (inout PostgresEncoder) -> Void) {
        let start = bytes.count
        append(Int32(0))
        body(&self)
        let length = Int32(bytes.count - start - 4)
        withUnsafeBytes(of: length.bigEndian) { bytes.replaceSubrange(start..<start + 4, with: $0) }
    }
}

/// One column of one row as it came: its type and its bytes in binary format.
public struct PostgresField {
    public let type: PostgresType
    /// Nothing for NULL. Valid only while `decode` runs: the bytes belong to the result.
    public let bytes: UnsafeRawBufferPointer?

    /// The bytes, if the column is not NULL and its type is one of these.
    public func value<Value>(
        of types: PostgresType..., as value: Value.Type
    ) throws(ValueMismatch) -> UnsafeRawBufferPointer {
        guard types.contains(type) else { throw ValueMismatch(type, as: value, .otherType) }
        return try present(as: value)
    }

    /// The bytes, if the column is not NULL, whatever its type.
    public func present<Value>(as value: Value.Type) throws(ValueMismatch) -> UnsafeRawBufferPointer {
        guard let bytes else { throw ValueMismatch(type, as: value, .null) }
        return bytes
    }
}

/// A column's value that the Swift type asked for cannot hold. Says nothing of the value itself.
public struct ValueMismatch: Error, Equatable, Sendable, CustomStringConvertible {
    /// The reason why the value cannot be read.
    public enum Reason: String, Sendable {
        case null = "is NULL"
        case otherType = "has another type"
        case malformed = "is malformed"
        case notOneOfItsValues = "is none of its values"
    }

    /// The column's type.
    public let found: PostgresType
    /// The Swift type asked for.
    public let expected: String
    public let reason: Reason

    public init<Value>(_ found: PostgresType, as value: Value.Type, _ reason: Reason) {
        self.found = found
        self.expected = "\(value)"
        self.reason = reason
    }

    public var description: String { "a value of type \(found) read as \(expected) \(reason.rawValue)" }
}
