import JSON
import Postgres

/// The table `bench_rows` (bench/rows.sql), read and written by one statement each.
struct Rows: Sendable {
    private let database: Database

    init(_ database: Database) {
        self.database = database
    }

    /// A row as JSON; nil when there is none of that id.
    nonisolated(nonsending) func row(_ id: Int64) async throws -> [UInt8]? {
        let found = try await database.rows(
            "SELECT reference, centavos, description FROM bench_rows WHERE id = \(id)")
        guard let row = found.first else { return nil }
        let reference: String = try row.decode("reference")
        let centavos: Int64 = try row.decode("centavos")
        let description: String = try row.decode("description")
        return JSONWriter.object {
            $0.member("id", id)
            $0.member("reference", reference)
            $0.member("centavos", centavos)
            $0.member("description", description)
        }
    }

    /// Adds the row that the JSON text describes; the answer names its id.
    nonisolated(nonsending) func insert(_ body: [UInt8]) async throws -> [UInt8] {
        let reader = JSONReader(try JSONDocument(parsing: body).root)
        let reference = reader.string("reference", length: 1...64)
        let centavos = reader.int64("centavos")
        let description = reader.string("description", length: 1...200)
        guard let reference, let centavos, let description, reader.isFaultless else { throw reader.faults }
        let added = try await database.execute(
            """
            INSERT INTO bench_added (reference, centavos, description)
            VALUES (\(reference), \(centavos), \(description)) RETURNING id
            """)
        let id: Int64 = try added[0].decode("id")
        return JSONWriter.object { $0.member("id", id) }
    }
}
