/// One statement prepared on one connection.
final class PreparedStatement {
    let name: String
    /// Known after its first result.
    var columns: Columns?

    init(name: String) {
        self.name = name
    }
}

/// The statements prepared on one connection, by their text and parameter types; bounded.
struct PreparedStatements {
    /// A statement under which another one with the same text but other parameter types is not found.
    private struct Key: Hashable {
        let sql: SQL

        func hash(into hasher: inout Hasher) {
            hasher.combine(sql.text)
        }

        static func == (left: Key, right: Key) -> Bool {
            left.sql.text == right.sql.text
                && left.sql.parameters.entries.elementsEqual(right.sql.parameters.entries) { $0.type == $1.type }
        }
    }

    private var byKey: [Key: PreparedStatement] = [:]
    private var inOrder = RingBuffer<Key>()
    private var namesGiven = 0
    private let countMax: Int

    init(countMax: Int) {
        self.countMax = max(1, countMax)
    }

    func find(_ sql: SQL) -> PreparedStatement? {
        byKey[Key(sql: sql)]
    }

    /// Gives the statement a name.
    mutating func add(_ sql: SQL) -> PreparedStatement {
        namesGiven += 1
        let statement = PreparedStatement(name: "s\(namesGiven)")
        // The values stay out: they would live as long as the connection.
        let key = Key(sql: sql.withoutValues)
        byKey[key] = statement
        inOrder.append(key)
        return statement
    }

    func hasRoom(for count: Int) -> Bool {
        byKey.count + count <= countMax
    }

    /// Takes out the oldest statements until there is room; the caller deallocates them.
    mutating func makeRoom(for count: Int) -> [PreparedStatement] {
        var removed: [PreparedStatement] = []
        while !hasRoom(for: count), let oldest = inOrder.popFirst() {
            if let statement = byKey.removeValue(forKey: oldest) { removed.append(statement) }
        }
        return removed
    }

    mutating func forget(_ statement: PreparedStatement) {
        guard let key = byKey.first(where: { $0.value === statement })?.key else { return }
        byKey[key] = nil
        inOrder.removeAll { $0 == key }
    }
}
