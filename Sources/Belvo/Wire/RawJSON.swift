import JSON

/// A piece of JSON text that is passed on exactly as it came: risk signals, assertions, FIDO options.
///
/// It is well-formed by construction and redacted when printed, since it holds what a device or a bank knows
/// about a person.
public struct RawJSON: Sendable, Equatable, Redacted {
    /// The text, untouched.
    public let bytes: [UInt8]

    /// Takes a value of a parsed document as it stood there.
    public init(_ value: JSONValue) {
        bytes = Array(value.raw)
    }

    /// Takes a whole JSON text. Throws when it is none.
    public init(parsing bytes: [UInt8]) throws(JSONSyntaxError) {
        _ = try JSONDocument(parsing: bytes)
        self.bytes = bytes
    }
}
