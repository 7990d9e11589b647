/// A cursor to one value of a document. Cheap to copy, and it keeps the document alive.
///
/// Questions that do not suit the kind answer nil or nothing: `elements` of a string is empty.
public struct JSONValue: Sendable {
    let storage: JSONStorage
    let position: Int

    /// The seven values of RFC 8259 §3, true and false taken together.
    public enum Kind: Sendable {
        case null, bool, number, string, array, object
    }

    public var kind: Kind { entry.kind }

    public var isNull: Bool { kind == .null }

    public var bool: Bool? {
        storage.index.bool(entry)
    }

    /// A string's text, escapes resolved.
    public var string: String? {
        storage.index.string(entry)
    }

    /// A number exactly as it was written: `1.10` stays `1.10`.
    public var numberText: String? {
        guard kind == .number else { return nil }
        return String(decoding: raw, as: UTF8.self)
    }

    /// A number that was written as an integer, without fraction or exponent, and fits.
    public var int64: Int64? {
        storage.index.int64(entry)
    }

    /// An array's elements in order.
    public var elements: JSONElements { JSONElements(self) }

    /// An object's members in the order in which they were written.
    public var members: JSONMembers { JSONMembers(self) }

    /// The member of that name, compared byte by byte after unescaping (RFC 8259 §8.3). Walks the object.
    public subscript(_ name: String) -> JSONValue? {
        guard let found = storage.index.name(name, of: position) else { return nil }
        return JSONValue(storage: storage, position: found + 1)
    }

    /// The value's bytes as they stood, untouched, without the white space around them.
    public var raw: ArraySlice<UInt8> { storage.index.raw(entry) }

    var entry: JSONIndex.Entry { storage.index.entries[position] }
}

/// The value of an entry, if it is of the kind that is asked for.
extension JSONIndex {
    func bool(_ entry: Entry) -> Bool? {
        entry.kind == .bool ? bytes[Int(entry.start)] == UInt8(ascii: "t") : nil
    }

    func string(_ entry: Entry) -> String? {
        entry.kind == .string ? text(entry) : nil
    }

    func int64(_ entry: Entry) -> Int64? {
        entry.kind == .number ? bytes.span.int64(Int(entry.start)..<Int(entry.end)) : nil
    }
}
