/// A cursor to one value of a document. Cheap to copy, and it keeps the document alive.
///
/// Questions that do not suit the kind answer nil or nothing: `elements` of a string is empty.
public struct JSONValue: Sendable {
    let index: JSONIndex
    let position: Int

    /// The seven values of RFC 8259 §3, true and false taken together.
    public enum Kind: Sendable {
        case null, bool, number, string, array, object
    }

    public var kind: Kind { entry.kind }

    public var isNull: Bool { kind == .null }

    public var bool: Bool? {
        guard kind == .bool else { return nil }
        return index.bytes[Int(entry.start)] == UInt8(ascii: "t")
    }

    /// A string's text, escapes resolved.
    public var string: String? {
        guard kind == .string else { return nil }
        return index.text(entry)
    }

    /// A number exactly as it was written: `1.10` stays `1.10`.
    public var numberText: String? {
        guard kind == .number else { return nil }
        return String(decoding: raw, as: UTF8.self)
    }

    /// A number that was written as an integer, without fraction or exponent, and fits.
    public var int64: Int64? {
        guard kind == .number else { return nil }
        return Int64(digits: raw)
    }

    /// An array's elements in order.
    public var elements: JSONElements { JSONElements(self) }

    /// An object's members in the order in which they were written.
    public var members: JSONMembers { JSONMembers(self) }

    /// The member of that name, compared byte by byte after unescaping (RFC 8259 §8.3). Walks the object.
    public subscript(_ name: String) -> JSONValue? {
        guard kind == .object, let found = index.member(name, of: position) else { return nil }
        return JSONValue(index: index, position: found.position)
    }

    /// The value's bytes as they stood, untouched, without the white space around them.
    public var raw: ArraySlice<UInt8> { index.raw(entry) }

    var entry: JSONIndex.Entry { index.entries[position] }
}

extension Int64 {
    /// Reads what the grammar of numbers has let through (RFC 8259 §6); nil for a fraction, an exponent, an overflow.
    fileprivate init?(digits text: ArraySlice<UInt8>) {
        let isNegative = text.first == UInt8(ascii: "-")
        var value: Int64 = 0
        for byte in isNegative ? text.dropFirst() : text {
            guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte else { return nil }
            let digit = Int64(byte - UInt8(ascii: "0"))
            // Towards the sign at once, since the least Int64 has no positive twin.
            let (shifted, overflowed) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflowedAgain) = shifted.addingReportingOverflow(isNegative ? -digit : digit)
            if overflowed || overflowedAgain { return nil }
            value = sum
        }
        self = value
    }
}
