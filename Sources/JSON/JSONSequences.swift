/// The elements of an array in order; empty for any other value.
public struct JSONElements: Sequence, IteratorProtocol, Sendable {
    private let index: JSONIndex
    private var position: Int
    private let end: Int

    init(_ value: JSONValue) {
        index = value.index
        position = value.position + 1
        end = value.kind == .array ? Int(value.entry.next) : position
    }

    /// The next element; nil past the last one.
    public mutating func next() -> JSONValue? {
        guard position < end else { return nil }
        defer { position = Int(index.entries[position].next) }
        return JSONValue(index: index, position: position)
    }
}

/// The members of an object as written; empty for any other value.
public struct JSONMembers: Sequence, IteratorProtocol, Sendable {
    private let index: JSONIndex
    private var position: Int
    private let end: Int

    init(_ value: JSONValue) {
        index = value.index
        position = value.position + 1
        end = value.kind == .object ? Int(value.entry.next) : position
    }

    /// The next member, its name unescaped; nil past the last one.
    public mutating func next() -> (name: String, value: JSONValue)? {
        guard position < end else { return nil }
        let name = index.text(index.entries[position])
        let value = JSONValue(index: index, position: position + 1)
        position = Int(value.entry.next)
        return (name, value)
    }
}
