/// The bytes of a text and one entry for each value and each name, in the order of the text.
///
/// A *position* counts entries, a *place* counts bytes.
///
/// An object's entry is followed by name, value, name, value …; an array's by its elements. `next` steps over
/// whatever a value contains.
final class JSONIndex: Sendable {
    let bytes: [UInt8]
    let entries: [Entry]

    init(bytes: [UInt8], entries: [Entry]) {
        self.bytes = bytes
        self.entries = entries
    }

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

        /// What stands between the quotes of a string.
        var content: Range<Int> { Int(start) + 1..<Int(end) - 1 }
    }

    /// Everything from the first byte of a value to its last.
    func raw(_ entry: Entry) -> ArraySlice<UInt8> {
        bytes[Int(entry.start)..<Int(entry.end)]
    }

    /// The bytes of a string's text.
    func unescapedContent(_ entry: Entry) -> ArraySlice<UInt8> {
        let bytes = bytes
        return entry.hasEscapes ? bytes.span.unescaped(entry.content)[...] : bytes[entry.content]
    }

    /// The text of a string entry.
    func text(_ entry: Entry) -> String {
        String(decoding: unescapedContent(entry), as: UTF8.self)
    }

    /// The positions of an object's names, in order; none for any other value.
    func names(of object: Int) -> some Sequence<Int> {
        let entry = entries[object]
        let end = entry.kind == .object ? Int(entry.next) : object
        return sequence(state: object + 1) { [entries] name in
            guard name < end else { return nil }
            defer { name = Int(entries[name + 1].next) }
            return name
        }
    }

    /// The position of a member's value in an object, and how many members stand before it.
    func member(_ name: String, of object: Int) -> (position: Int, ordinal: Int)? {
        let wanted = name.utf8.span
        let (bytes, entries) = (bytes, entries)
        let end = Int(entries[object].next)
        var position = object + 1
        var ordinal = 0
        while position < end {
            let entry = entries[position]
            // An escape takes six bytes at most for one of its character's.
            let isFound =
                if !entry.hasEscapes {
                    bytes.span.extracting(entry.content).isEqual(to: wanted)
                } else if (wanted.count...wanted.count * 6).contains(entry.content.count) {
                    bytes.span.unescaped(entry.content).elementsEqual(name.utf8)
                } else {
                    false
                }
            if isFound { return (position + 1, ordinal) }
            position = Int(entries[position + 1].next)
            ordinal += 1
        }
        return nil
    }
}
