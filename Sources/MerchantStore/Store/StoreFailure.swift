import Payments
import Postgres

/// The meaning of a failure of the database for the callers of the store.
package enum StoreFailure: Error, CustomStringConvertible {
    /// The database is away, overloaded, or did not say what became of a write. The same may be tried again: what
    /// was written before is found again by its key.
    case unavailable(String)
    /// A statement or a row is not as this program expects: our own mistake.
    case broken(String)

    /// Nothing for an error of another kind.
    package init?(_ error: any Error) {
        guard let error = error as? DatabaseError else { return nil }
        switch error {
        case .unavailable, .outcomeUnknown: self = .unavailable(error.description)
        case .refused(let refusal)
        where refusal.state.isTransient || Self.conditions.contains(refusal.state.category):
            self = .unavailable(error.description)
        case .refused, .decoding: self = .broken(error.description)
        }
    }

    /// The families of states that speak of the server's condition and not of the statement: no resources, objects
    /// in use, an operator's intervention, system errors.
    private static let conditions: Set<Substring> = ["53", "55", "57", "58"]

    package var description: String {
        switch self {
        case .unavailable(let reason), .broken(let reason): reason
        }
    }
}

extension Store {
    /// The database's own time of day.
    package func databaseTime() async throws -> Timestamp {
        guard let row = try await database.rows("SELECT clock_timestamp() AS moment").first else {
            throw DatabaseError.unavailable(reason: "no answer")
        }
        return try row.decode("moment")
    }

    /// The settings of the database's that decide whether what it confirms stays, as they are for this user before a
    /// session says something else.
    package func durability() async throws -> [String: String] {
        let rows = try await database.rows(
            """
            SELECT name, reset_val FROM pg_settings
            WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit')
            """)
        var found: [String: String] = [:]
        for row in rows { found[try row.decode("name")] = try row.decode("reset_val", as: String.self) }
        return found
    }

    /// Whether the database answers now, with a schema in it.
    package func isReachable() async -> Bool {
        do {
            return try await !database.rows(
                "SELECT name FROM schema_migrations LIMIT 1", within: .seconds(2)
            ).isEmpty
        } catch {
            return false
        }
    }
}
