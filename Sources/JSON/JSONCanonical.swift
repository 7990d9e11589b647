extension JSONValue: Equatable {
    /// Whether two values mean the same: the order of members, white space, escapes and the spelling of numbers do
    /// not matter. Numbers are compared exactly, not as doubles.
    public static func == (left: JSONValue, right: JSONValue) -> Bool {
        left.canonicalBytes() == right.canonicalBytes()
    }

    /// A text that is the same for all values that mean the same, and different for all others.
    ///
    /// It is JSON: members in the order of their names' bytes, no white space, escapes only where JSON demands them,
    /// numbers as integers with an exponent (`15e-1`). For digests and comparisons inside this program; it is not
    /// the scheme of RFC 8785, whose numbers are doubles.
    public func canonicalBytes() -> [UInt8] {
        var text = CanonicalText(storage)
        return text.write(position)
    }
}

/// Writes the canonical text of a value. A list of what is still to be written takes the place of recursion.
private struct CanonicalText {
    private enum Step {
        case value(Int)
        case member(name: Int)
        case end(UInt8)
    }

    private let storage: JSONStorage
    private var text = TextBuffer()
    /// The last step is the next to be taken.
    private var steps: [Step] = []

    init(_ storage: JSONStorage) {
        self.storage = storage
    }

    mutating func write(_ root: Int) -> [UInt8] {
        steps.append(.value(root))
        while let step = steps.popLast() {
            switch step {
            case .value(let position): write(valueAt: position)
            case .member(let name):
                text.appendItem(quoted: storage.index.text(storage.index.entries[name]), asName: true)
                write(valueAt: name + 1)
            case .end(let bracket): text.close(bracket)
            }
        }
        return text.takeBytes()
    }

    private mutating func write(valueAt position: Int) {
        let entry = storage.index.entries[position]
        switch entry.kind {
        case .null, .bool: text.appendItem(storage.index.raw(entry))
        case .number: text.appendItem(CanonicalNumber(storage.index.raw(entry)).bytes)
        case .string: text.appendItem(quoted: storage.index.text(entry))
        case .array:
            text.open(UInt8(ascii: "["))
            steps.append(.end(UInt8(ascii: "]")))
            let elements = JSONElements(JSONValue(storage: storage, position: position))
            steps += elements.map { .value($0.position) }.reversed()
        case .object:
            text.open(UInt8(ascii: "{"))
            steps.append(.end(UInt8(ascii: "}")))
            steps += sortedNames(position).map(Step.member).reversed()
        }
    }

    /// The entries of an object's names, ordered by the names' bytes.
    private func sortedNames(_ object: Int) -> [Int] {
        var names: [(text: ArraySlice<UInt8>, entry: Int)] = []
        storage.index.forEachName(of: object) { name in
            names.append((storage.index.unescapedContent(storage.index.entries[name]), name))
        }
        names.sort { $0.text.lexicographicallyPrecedes($1.text) }
        return names.map(\.entry)
    }
}
