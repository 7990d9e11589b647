import Postgres
import Transport

/// A database with the migrations applied, made once and kept: the next run of the tests finds it again.
enum TestTemplate {
    private static let lock: Int64 = 0x7465_6D70_6C61_7465

    /// The name of the template for these migrations, which is made if it is not there yet.
    static func name(for migrations: [Migration], on server: Database) async throws -> String {
        let digest = try await server.rows(
            """
            SELECT left(encode(sha256(convert_to(array_to_string(\(migrations.flatMap { [$0.name, $0.text] }), '|'),
                'UTF8')), 'hex'), 24) AS digest
            """)
        guard let row = digest.first else { throw TestTemplateMissing() }
        let name = "template_" + (try row["digest", as: String.self])
        if try await exists(name, on: server) { return name }
        // Another test or process may be making it: the lock is held while it is made under another name, since a
        // database that is there under its own name is taken to be finished.
        try await server.transaction { transaction in
            try await transaction.execute("SELECT set_config('idle_in_transaction_session_timeout', '0', true)")
            try await transaction.execute(
                "SELECT set_config('lock_timeout', '0', true), set_config('statement_timeout', '0', true)")
            try await transaction.execute("SELECT pg_advisory_xact_lock(\(lock))", within: .seconds(120))
            if try await exists(name, on: server) { return }
            let unfinished = name + "_new"
            try await server.dropDatabase(unfinished)
            try await server.createDatabase(unfinished, from: "template0")
            let url = TestDatabase.replacingDatabase(in: try TestDatabase.serverURL(), by: unfinished)
            let database = try Database(url, configuration: .patient)
            try await Migrator(migrations, of: database).migrate()
            // Copying waits up to five seconds for the migrator's session to be gone; renaming does as well.
            try await server.execute(
                SQL(trusted: "ALTER DATABASE \(unfinished) RENAME TO \(name)"), within: .seconds(60))
        }
        return name
    }

    private static func exists(_ name: String, on server: Database) async throws -> Bool {
        try await !server.rows("SELECT 1 AS one FROM pg_database WHERE datname = \(name)").isEmpty
    }
}

struct TestTemplateMissing: Error {}
