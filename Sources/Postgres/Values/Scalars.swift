extension Bool: PostgresValue {
    public static var postgresType: PostgresType { .bool }

    public func encode(into encoder: inout PostgresEncoder) {
        encoder.append(UInt8(self ? 1 : 0))
    }

    public static func decode(_ field: PostgresField) throws(ValueMismatch) -> Bool {
        let bytes = try field.value(of: .bool, as: Bool.self)
        guard bytes.count == 1 else { throw ValueMismatch(field.type, as: Bool.self, .malformed) }
        return bytes[0] != 0
    }
}

extension Int16: PostgresValue {
    public static var postgresType: PostgresType { .int2 }

    public func encode(into encoder: inout PostgresEncoder) {
        encoder.append(self)
    }

    public static func decode(_ field: PostgresField) throws(ValueMismatch) -> Int16 {
        try decodeInteger(field)
    }
}

extension Int32: PostgresValue {
    public static var postgresType: PostgresType { .int4 }

    public func encode(into encoder: inout PostgresEncoder) {
        encoder.append(self)
    }

    /// Reads `integer`, and `smallint` without loss.
    public static func decode(_ field: PostgresField) throws(ValueMismatch) -> Int32 {
        try decodeInteger(field)
    }
}

extension Int64: PostgresValue {
    public static var postgresType: PostgresType { .int8 }

    public func encode(into encoder: inout PostgresEncoder) {
        encoder.append(self)
    }

    /// Reads `bigint`, and the shorter integers without loss.
    public static func decode(_ field: PostgresField) throws(ValueMismatch) -> Int64 {
        try decodeInteger(field)
    }
}

extension Int: PostgresValue {
    public static var postgresType: PostgresType { .int8 }

    public func encode(into encoder: inout PostgresEncoder) {
        encoder.append(Int64(self))
    }

    public static func decode(_ field: PostgresField) throws(ValueMismatch) -> Int {
        try decodeInteger(field)
    }
}

extension Double: PostgresValue {
    public static var postgresType: PostgresType { .float8 }

    public func encode(into encoder: inout PostgresEncoder) {
        encoder.append(bitPattern)
    }

    /// Reads `double precision`, and `real` without loss. Not `numeric`: cast it in the statement.
    public static func decode(_ field: PostgresField) throws(ValueMismatch) -> Double {
        let bytes = try field.value(of: .float8, .float4, as: Double.self)
        switch (field.type, bytes.count) {
        case (.float8, 8): return Double(bitPattern: bytes.bigEndian(UInt64.self))
        case (.float4, 4): return Double(Float(bitPattern: bytes.bigEndian(UInt32.self)))
        default: throw ValueMismatch(field.type, as: Double.self, .malformed)
        }
    }
}

extension FixedWidthInteger where Self: PostgresValue {
    /// Reads a whole number of a type that is not wider than this one: what fits today may not fit tomorrow.
    fileprivate static func decodeInteger(_ field: PostgresField) throws(ValueMismatch) -> Self {
        let width: Int
        switch field.type {
        case .int2: width = 2
        case .int4: width = 4
        case .int8: width = 8
        default: throw ValueMismatch(field.type, as: Self.self, .otherType)
        }
        guard width * 8 <= bitWidth else { throw ValueMismatch(field.type, as: Self.self, .otherType) }
        let bytes = try field.present(as: Self.self)
        guard bytes.count == width else { throw ValueMismatch(field.type, as: Self.self, .malformed) }
        switch width {
        case 2: return Self(bytes.bigEndian(Int16.self))
        case 4: return Self(bytes.bigEndian(Int32.self))
        default: return Self(bytes.bigEndian(Int64.self))
        }
    }
}

extension UnsafeRawBufferPointer {
    /// The number at the offset, in network byte order. The caller has checked that it is there.
    func bigEndian<Number: FixedWidthInteger & BitwiseCopyable>(_: Number.Type, at offset: Int = 0) -> Number {
        Number(bigEndian: loadUnaligned(fromByteOffset: offset, as: Number.self))
    }
}
