/// The fields of a query, or of a body of type `application/x-www-form-urlencoded`, in their order.
///
/// The format is that of the URL standard of the WHATWG, §5. What it repairs is refused here: broken
/// escapes, and octets that are no UTF-8 once unescaped. Control characters must be escaped, and NUL
/// may not come at all: no text column takes it.
public struct FormFields: Equatable, Sendable, CustomStringConvertible {
    private var fields: [Field] = []

    private struct Field: Equatable, Sendable {
        var name: String
        var value: String

        /// Compares by bytes: for Swift's `==` the Kelvin sign is a K, and two readers would see two fields or one.
        func isNamed(_ wanted: String) -> Bool { name.utf8.elementsEqual(wanted.utf8) }

        static func == (one: Field, other: Field) -> Bool {
            one.isNamed(other.name) && one.value.utf8.elementsEqual(other.value.utf8)
        }
    }

    public init() {}

    /// Reads the query of a target.
    ///
    /// Throws 400 when the text is no form, or has more than `countMax` fields.
    public init(parsing query: String, countMax: Int = 1000) throws(MessageFault) {
        try self.init(parsing: Array(query.utf8), countMax: countMax)
    }

    /// Reads a body, throws as `init(parsing:)` for text.
    public init(parsing body: [UInt8], countMax: Int = 1000) throws(MessageFault) {
        // Not `split`, which would make a slice of every piece before the first is counted.
        var rest = body[...]
        while let start = rest.indices.first {
            let end = rest.firstIndex(of: Octet.ampersand) ?? rest.endIndex
            try append(rest[start..<end], countMax: countMax)
            rest = rest[min(end + 1, rest.endIndex)...]
        }
    }

    public var count: Int { fields.count }

    /// No field: an authorization code may be among them.
    public var description: String { "‹redacted›" }

    /// The first value of that name, compared by its bytes.
    public subscript(name: String) -> String? {
        fields.first { $0.isNamed(name) }?.value
    }

    /// All values of that name, in order.
    public func values(_ name: String) -> [String] {
        fields.filter { $0.isNamed(name) }.map(\.value)
    }

    /// The fields' names, in order.
    public var names: [String] { fields.map(\.name) }

    /// Every field, in order.
    public func forEach(_ body: (_ name: String, _ value: String) -> Void) {
        for field in fields { body(field.name, field.value) }
    }

    /// Adds a field behind the others.
    public mutating func append(_ name: String, _ value: String) {
        fields.append(Field(name: name, value: value))
    }

    /// The fields as the text of a query or the bytes of a body.
    public var encoded: String {
        var bytes: [UInt8] = []
        for field in fields {
            if !bytes.isEmpty { bytes.append(Octet.ampersand) }
            FormFields.escape(field.name, into: &bytes)
            bytes.append(Octet.equals)
            FormFields.escape(field.value, into: &bytes)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Fields as the text of a query or the bytes of a body.
    public static func encode(_ fields: KeyValuePairs<String, String>) -> String {
        var form = FormFields()
        for (name, value) in fields { form.append(name, value) }
        return form.encoded
    }

    private mutating func append(_ piece: ArraySlice<UInt8>, countMax: Int) throws(MessageFault) {
        // Nothing between two ampersands is no field, not one without a name.
        guard !piece.isEmpty else { return }
        guard fields.count < countMax else { throw .malformed("the form has too many fields") }
        let nameEnd = piece.firstIndex(of: Octet.equals) ?? piece.endIndex
        append(
            try FormFields.unescaped(piece[..<nameEnd]),
            try FormFields.unescaped(piece[min(nameEnd + 1, piece.endIndex)...])
        )
    }

    private static func unescaped(_ text: ArraySlice<UInt8>) throws(MessageFault) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var index = text.startIndex
        while index < text.endIndex {
            let byte = text[index]
            index += 1
            switch byte {
            case Octet.plus:
                bytes.append(Octet.space)
            case Octet.percent:
                guard text.endIndex - index >= 2, let high = Octet.hexValue(text[index]),
                    let low = Octet.hexValue(text[index + 1])
                else { throw .malformed("the form holds a broken percent escape") }
                bytes.append(high << 4 | low)
                index += 2
            default:
                guard !Octet.isControl(byte), byte != Octet.tab else {
                    throw .malformed("the form holds a control character")
                }
                bytes.append(byte)
            }
        }
        guard !bytes.contains(0), let string = String(validating: bytes, as: UTF8.self) else {
            throw .malformed("the form holds what is no text in UTF-8")
        }
        return string
    }

    private static func escape(_ text: String, into bytes: inout [UInt8]) {
        for byte in text.utf8 {
            if ASCIISet.formPlain.contains(byte) {
                bytes.append(byte)
            } else if byte == Octet.space {
                bytes.append(Octet.plus)
            } else {
                bytes.append(Octet.percent)
                bytes.append(Octet.hexDigit(byte >> 4))
                bytes.append(Octet.hexDigit(byte & 0xF))
            }
        }
    }
}
