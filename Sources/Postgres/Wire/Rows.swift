/// The result of a statement: its rows, and how many it changed.
public struct Rows: Sendable, RandomAccessCollection {
    let result: QueryResult

    public var startIndex: Int { 0 }
    public var endIndex: Int { result.rowCount }

    public subscript(index: Int) -> Row {
        precondition(indices.contains(index), "a row of this result")
        return Row(result: result, index: Int32(truncatingIfNeeded: index))
    }

    /// The rows that an INSERT, UPDATE, DELETE, MERGE or SELECT touched. Wraps `PQcmdTuples`.
    public var affectedCount: Int { result.affectedCount }

    /// The columns' names from left to right.
    public var columnNames: [String] { result.columns.names }
}

/// One row of a result. Cheap to copy; keeps the whole result in memory.
public struct Row: Sendable {
    let result: QueryResult
    let index: Int32

    /// The value of the column of that name, the type taken from the context.
    ///
    /// Throws `DatabaseError.decoding` when there is no such column or it holds something else.
    public func decode<Value: PostgresValue>(
        _ name: String, as type: Value.Type = Value.self
    ) throws(DatabaseError) -> Value {
        guard let column = result.columns.index(of: name) else {
            throw .decoding(DecodingFault(column: name, mismatch: nil))
        }
        do {
            return try Value.decode(result.field(row: index, column: column))
        } catch {
            throw .decoding(DecodingFault(column: name, mismatch: error))
        }
    }

    /// The value of the column of that name.
    public subscript<Value: PostgresValue>(name: String, as type: Value.Type) -> Value {
        get throws(DatabaseError) { try decode(name, as: type) }
    }
}
