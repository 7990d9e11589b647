/// The bytes of a text and one entry for each value and each name, in the order of the text.
///
/// A *position* counts entries, a *place* counts bytes.
///
/// An object's entry is followed by name, value, name, value …; an array's by its elements. `next` steps over
/// whatever a value contains.
///
/// It cannot be copied, so that a question borrows its arrays instead of counting one more owner of each.
struct JSONIndex: ~Copyable, Sendable {
    let bytes: [UInt8]
    let entries: [Entry]

    /// Where a value or name lies. 16 bytes, because big texts have many.
    struct Entry: Sendable {
        /// The offset of its first byte.
        var start: UInt32
        /// The offset behind its last byte.
        var end: UInt32
        /// The entry that follows it and all it contains. While a container is open: the one that contains it.
        var next: UInt32
        var kind: JSONValue.Kind
        /// Whether a string has a backslash, so that its bytes are not its text.
        var hasEscapes: Bool

        /// The bytes between the quotes of a string.
        var content: Range<Int> { Int(start) + 1..<Int(end) - 1 }
    }

    /// Everything from the first byte of a value to its last.
    func raw(_ entry: Entry) -> ArraySlice<UInt8> {
        bytes[Int(entry.start)..<Int(entry.end)]
    }

    /// The bytes of a string's text.
    func unescapedContent(_ entry: Entry) -> ArraySlice<UInt8> {
        entry.hasEscapes ? bytes.span.unescaped(entry.content)[...] : bytes[entry.content]
    }

    /// The text of a string entry.
    func text(_ entry: Entry) -> String {
        if entry.hasEscapes { return String(decoding: bytes.span.unescaped(entry.content), as: UTF8.self) }
        return bytes.span.extracting(entry.content).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }

    /// How many elements an array has.
    func count(of array: Int) -> Int {
        let entries = entries.span
        let end = entries[array].next
        var (count, position) = (0, array + 1)
        while position < end { (count, position) = (count + 1, Int(entries[position].next)) }
        return count
    }

    /// Calls for the position of each of an object's names, in order; never for any other value.
    @inline(__always)
    func forEachName(of object: Int, _ body: (Int) -> Void) {
        let entries = entries.span
        let end = entries[object].kind == .object ? Int(entries[object].next) : 0
        var name = object + 1
        while name < end {
            body(name)
            name = entries.nameAfter(name)
        }
    }

    /// The position of a member's name in an object; nil as well for a value that is no object.
    @inline(__always)
    func name(_ wanted: String, of object: Int) -> Int? {
        let (text, entries) = (bytes.span, entries.span)
        guard entries[object].kind == .object else { return nil }
        let wanted = wanted.utf8.span
        let end = Int(entries[object].next)
        var name = object + 1
        while name < end {
            if text.isText(entries[name], wanted) { return name }
            name = entries.nameAfter(name)
        }
        return nil
    }
}

extension Span<JSONIndex.Entry> {
    /// The entry of the next member's name, or the one behind the object.
    @inline(__always)
    func nameAfter(_ name: Int) -> Int { Int(self[name + 1].next) }
}
