/// Writes JSON text: members in the order of the calls, "/" unescaped, everything past ASCII as UTF-8.
///
/// ```swift
/// let body = JSONWriter.object {
///     $0.member("id", payment.id.description)
///     $0.memberObject("amount") { $0.member("centavos", 1990) }
/// }
/// ```
/// Commas are put where they belong. That members go into objects and elements into arrays, and that a name is
/// written once, is up to the caller, as is the validity of what is handed in as ready JSON.
public struct JSONWriter: Sendable {
    var text = TextBuffer()

    /// A writer that has written nothing.
    public init() {}

    /// A copy of the bytes written so far.
    public var bytes: [UInt8] { text.bytes }

    /// The text of one object.
    public static func object(_ body: (inout JSONWriter) throws -> Void) rethrows -> [UInt8] {
        var writer = JSONWriter()
        try writer.object(body)
        return writer.text.takeBytes()
    }

    /// The text of one array.
    public static func array(_ body: (inout JSONWriter) throws -> Void) rethrows -> [UInt8] {
        var writer = JSONWriter()
        try writer.array(body)
        return writer.text.takeBytes()
    }

    /// Writes an object as the text's value, or as an element.
    public mutating func object(_ body: (inout JSONWriter) throws -> Void) rethrows {
        text.open(UInt8(ascii: "{"))
        try body(&self)
        text.close(UInt8(ascii: "}"))
    }

    /// Writes an array as the text's value, or as an element.
    public mutating func array(_ body: (inout JSONWriter) throws -> Void) rethrows {
        text.open(UInt8(ascii: "["))
        try body(&self)
        text.close(UInt8(ascii: "]"))
    }
}

/// The members of an object.
extension JSONWriter {
    /// Writes a member with a text, or with null.
    public mutating func member(_ name: String, _ value: String?) {
        text.appendItem(quoted: name, asName: true)
        element(value)
    }

    public mutating func member(_ name: String, _ value: Int64) {
        text.appendItem(quoted: name, asName: true)
        element(value)
    }

    public mutating func member(_ name: String, _ value: Int) {
        text.appendItem(quoted: name, asName: true)
        element(value)
    }

    public mutating func member(_ name: String, _ value: Bool) {
        text.appendItem(quoted: name, asName: true)
        element(value)
    }

    /// Writes a member that is null.
    public mutating func memberNull(_ name: String) {
        text.appendItem(quoted: name, asName: true)
        element(nil)
    }

    /// Writes a member that is an object, whose members the body writes.
    public mutating func memberObject(_ name: String, _ body: (inout JSONWriter) throws -> Void) rethrows {
        text.appendItem(quoted: name, asName: true)
        try object(body)
    }

    /// Writes a member that is an array, whose elements the body writes.
    public mutating func memberArray(_ name: String, _ body: (inout JSONWriter) throws -> Void) rethrows {
        text.appendItem(quoted: name, asName: true)
        try array(body)
    }

    /// Writes a member whose value is JSON text already, such as `JSONValue.raw` or a number's text.
    public mutating func memberRaw(_ name: String, _ json: some Collection<UInt8>) {
        text.appendItem(quoted: name, asName: true)
        elementRaw(json)
    }
}

/// The elements of an array.
extension JSONWriter {
    /// Writes an element with a text, or with null.
    public mutating func element(_ value: String?) {
        guard let value else { return text.appendItem("null") }
        text.appendItem(quoted: value)
    }

    public mutating func element(_ value: Int64) {
        text.appendItem(value)
    }

    public mutating func element(_ value: Int) {
        text.appendItem(Int64(value))
    }

    public mutating func element(_ value: Bool) {
        text.appendItem(value ? "true" : "false")
    }

    /// Writes an element that is JSON text already.
    public mutating func elementRaw(_ json: some Collection<UInt8>) {
        text.appendItem(json)
    }
}
