extension Optional: PostgresValue where Wrapped: PostgresValue {
    public static var postgresType: PostgresType { Wrapped.postgresType }
    public static var postgresFormat: PostgresFormat { Wrapped.postgresFormat }

    public func encode(into encoder: inout PostgresEncoder) {
        if let self { self.encode(into: &encoder) } else { encoder.appendNull() }
    }

    public static func decode(_ field: PostgresField) throws(ValueMismatch) -> Wrapped? {
        field.bytes == nil ? nil : try Wrapped.decode(field)
    }
}

/// A type with a raw value is sent as that.
extension PostgresValue where Self: RawRepresentable, RawValue: PostgresValue {
    public static var postgresType: PostgresType { RawValue.postgresType }
    public static var postgresFormat: PostgresFormat { RawValue.postgresFormat }

    public func encode(into encoder: inout PostgresEncoder) {
        rawValue.encode(into: &encoder)
    }

    public static func decode(_ field: PostgresField) throws(ValueMismatch) -> Self {
        guard let value = Self(rawValue: try RawValue.decode(field)) else {
            throw ValueMismatch(field.type, as: Self.self, .notOneOfItsValues)
        }
        return value
    }
}
