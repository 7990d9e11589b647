/// The elements of an array in order; empty for any other value.
public struct JSONElements: Sequence, IteratorProtocol, Sendable {
    private let storage: JSONStorage
    private var position: Int
    private let end: Int

    init(_ value: JSONValue) {
        storage = value.storage
        position = value.position + 1
        end = value.kind == .array ? Int(value.entry.next) : position
    }

    /// The next element; nil past the last one.
    public mutating func next() -> JSONValue? {
        guard position < end else { return nil }
        defer { position = Int(storage.index.entries[position].next) }
        return JSONValue(storage: storage, position: position)
    }
}

/// The members of an object as written; empty for any other value.
public struct JSONMembers: Sequence, IteratorProtocol, Sendable {
    private let storage: JSONStorage
    private var position: Int
    private let end: Int

    init(_ value: JSONValue) {
        storage = value.storage
        position = value.position + 1
        end = value.kind == .object ? Int(value.entry.next) : position
    }

    /// The next member, its name unescaped; nil past the last one.
    public mutating func next() -> (name: String, value: JSONValue)? {
        guard position < end else { return nil }
        let name = storage.index.text(storage.index.entries[position])
        let value = JSONValue(storage: storage, position: position + 1)
        position = Int(value.entry.next)
        return (name, value)
    }
}
