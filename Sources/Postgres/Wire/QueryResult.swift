import CLibpq

/// A result of libpq, read in place. Wraps `PGresult` and `PQclear`.
///
/// It is `@unchecked Sendable` because libpq promises that a `PGresult` is read-only once made and may be used by
/// several threads (libpq documentation, "Behavior in Threaded Programs"); nothing here writes to it, and `deinit`,
/// which frees it, runs once and last.
final class QueryResult: @unchecked Sendable {
    private let handle: OpaquePointer
    let columns: Columns
    let rowCount: Int

    /// Takes over the result; its columns are those of its statement.
    init(owning handle: OpaquePointer, columns: Columns) {
        self.handle = handle
        self.columns = columns
        rowCount = Int(PQntuples(handle))
    }

    deinit {
        PQclear(handle)
    }

    var affectedCount: Int { Int(String(cString: PQcmdTuples(handle))) ?? 0 }

    /// The command's tag, such as `COMMIT` or `INSERT 0 1`. Wraps `PQcmdStatus`.
    var commandTag: String { String(cString: PQcmdStatus(handle)) }

    /// The row and the column exist: both come from this result's own counts.
    func field(row: Int32, column: Int) -> PostgresField {
        let column32 = Int32(truncatingIfNeeded: column)
        let type = columns.types[column]
        let length = Int(PQgetlength(handle, row, column32))
        if length == 0, PQgetisnull(handle, row, column32) != 0 { return PostgresField(type: type, bytes: nil) }
        return PostgresField(
            type: type, bytes: UnsafeRawBufferPointer(start: PQgetvalue(handle, row, column32), count: length))
    }
}

/// The names and types of a statement's columns, read once and shared by all its results.
final class Columns: Sendable {
    let names: [String]
    private let lengths: [Int]
    let types: [PostgresType]

    /// Reads them from a result. Wraps `PQfname` and `PQftype`.
    init(of result: OpaquePointer) {
        let count = PQnfields(result)
        names = (0..<count).map { column in PQfname(result, column).map { String(cString: $0) } ?? "" }
        lengths = names.map(\.utf8.count)
        types = (0..<count).map { PostgresType(rawValue: PQftype(result, $0)) }
    }

    /// A search along the few names is quicker than hashing one of them; most differ in their lengths already.
    func index(of name: String) -> Int? {
        let length = name.utf8.count
        return names.indices.first { lengths[$0] == length && names[$0] == name }
    }
}
