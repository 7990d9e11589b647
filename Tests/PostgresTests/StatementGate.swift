import Postgres
import TestSupport

/// A lock that holds statements in the server until the test lets them go, or ends their sessions.
///
/// A statement waits at it with `FROM pg_advisory_xact_lock_shared(1)`.
struct StatementGate {
    private let database: Database

    /// Closes it, and opens it again when the body has ended.
    static func with(of database: Database, _ body: (StatementGate) async throws -> Void) async throws {
        let name: String = try await database.execute("SELECT current_database() AS name")[0].decode("name")
        // One connection, because the lock is its session's.
        var configuration = DatabaseConfiguration.patient
        configuration.writeConnectionsMax = 1
        let url = TestDatabase.replacingDatabase(in: try TestDatabase.serverURL(), by: name)
        let gate = StatementGate(database: try Database(url, configuration: configuration))
        try await gate.database.execute("SELECT pg_advisory_lock(1)")
        let result: Result<Void, any Error>
        do { result = .success(try await body(gate)) } catch { result = .failure(error) }
        await gate.database.close()
        try result.get()
    }

    /// Waits until a statement is held, and ends the sessions of all that are.
    func endSessionOfHeld() async throws {
        try await waitUntil {
            try await !database.execute(
                """
                SELECT pg_terminate_backend(pid, 5000) AS is_ended FROM pg_locks
                WHERE locktype = 'advisory' AND NOT granted
                    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                """
            ).isEmpty
        }
    }
}
