import Transport

/// A migrator at work on its connection.
struct MigrationSession {
    let connection: PlainConnection
    let migrations: [Migration]
    let timeout: Duration

    /// One row of `schema_migrations`.
    private struct Applied {
        let name: String
        let checksum: String
    }

    /// The lock that only one migrator of a database holds: "schema_mi" cut to eight bytes.
    private static let lock: Int64 = 0x7363_6865_6D61_5F6D

    func status() async throws -> SchemaStatus {
        compare(try await applied(), with: try await checksums())
    }

    /// Brings it up to date, and returns what was applied.
    func migrate() async throws -> [String] {
        try await becomeTheOnlyOne()
        try await createTable()
        switch try await status() {
        case .upToDate: return []
        case .pending(let names):
            let checksums = try await checksums()
            let already = migrations.count - names.count
            for index in already..<migrations.count {
                try await apply(migrations[index], version: index + 1, checksum: checksums[index])
            }
            return names
        case .ahead, .altered: throw MigrationError.impossible(try await status())
        }
    }

    private func compare(_ applied: [Applied], with checksums: [String]) -> SchemaStatus {
        let known = Set(migrations.map(\.name))
        let unknown = applied.map(\.name).filter { !known.contains($0) }
        if !unknown.isEmpty { return .ahead(unknown) }
        let altered = applied.indices.filter { index in
            applied[index].name != migrations[index].name || applied[index].checksum != checksums[index]
        }
        if !altered.isEmpty { return .altered(altered.map { applied[$0].name }) }
        let pending = migrations.dropFirst(applied.count).map(\.name)
        return pending.isEmpty ? .upToDate : .pending(pending)
    }

    private func applied() async throws -> [Applied] {
        let exists = try await connection.execute(
            "SELECT to_regclass('schema_migrations') IS NOT NULL AS exists", until: end)
        guard let row = exists.first, try row["exists", as: Bool.self] else { return [] }
        let rows = try await connection.execute(
            "SELECT name, checksum FROM schema_migrations ORDER BY version", until: end)
        return try rows.map { Applied(name: try $0.decode("name"), checksum: try $0.decode("checksum")) }
    }

    /// The texts' digests, made by PostgreSQL so that they are the same for every program.
    private func checksums() async throws -> [String] {
        let rows = try await connection.execute(
            """
            SELECT encode(sha256(convert_to(migration.text, 'UTF8')), 'hex') AS checksum
            FROM unnest(\(migrations.map(\.text))) WITH ORDINALITY AS migration (text, number)
            ORDER BY number
            """, until: end)
        return try rows.map { try $0.decode("checksum") }
    }

    private func becomeTheOnlyOne() async throws {
        // The wait is bounded by this side; the server's own bound may be shorter.
        try await connection.execute(
            "SELECT set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false)", until: end)
        try await connection.execute("SELECT pg_advisory_lock(\(Self.lock))", until: end)
    }

    private func createTable() async throws {
        try await connection.run(
            script: """
                CREATE TABLE IF NOT EXISTS schema_migrations (
                    version bigint CONSTRAINT each_version_is_applied_once PRIMARY KEY,
                    name text NOT NULL CONSTRAINT each_migration_is_applied_once UNIQUE,
                    checksum text NOT NULL,
                    applied_at timestamptz NOT NULL DEFAULT now()
                );
                COMMENT ON TABLE schema_migrations IS 'The steps that made this schema, in their order.';
                COMMENT ON COLUMN schema_migrations.version IS 'The step''s number.';
                COMMENT ON COLUMN schema_migrations.name IS 'The step''s name, which says what it is for.';
                COMMENT ON COLUMN schema_migrations.applied_at IS 'When the step was applied.';
                COMMENT ON COLUMN schema_migrations.checksum IS 'SHA-256 of the step''s SQL text, in hex.';
                """, until: end)
    }

    /// Applies one migration. Servers of the version before work meanwhile, and a statement that waits for the lock of
    /// a table stops every later one for that table. So none waits for long, and for less than PostgreSQL's
    /// `deadlock_timeout`. Without its locks the migration rolls back, lets the servers pass and tries again.
    private func apply(_ migration: Migration, version: Int, checksum: String) async throws {
        let end = end
        var attempt = 0
        while true {
            do {
                return try await applyAtOnce(migration, version: version, checksum: checksum)
            } catch let error as DatabaseError {
                guard let state = error.state, Self.locksMissed.contains(state), Monotonic.now() < end else {
                    // The session ends with this error, and the open transaction with it.
                    throw MigrationError.failed(name: migration.name, error)
                }
                try await connection.execute("ROLLBACK", until: end)
                attempt = min(attempt + 1, 10)
                try await EventLoop.current?.sleep(for: .milliseconds(Int.random(in: 20...100) * attempt))
            }
        }
    }

    private func applyAtOnce(_ migration: Migration, version: Int, checksum: String) async throws {
        try await connection.execute("BEGIN", until: end)
        try await connection.execute("SELECT set_config('lock_timeout', '500ms', true)", until: end)
        try await connection.run(script: migration.text, until: end)
        guard connection.isInTransaction else { throw MigrationError.endsItsTransaction(name: migration.name) }
        try await connection.execute(
            """
            INSERT INTO schema_migrations (version, name, checksum)
            VALUES (\(version), \(migration.name), \(checksum))
            """, until: end)
        try await connection.execute("COMMIT", until: end)
    }

    /// The errors of a migration that would have blocked servers at work.
    private static let locksMissed: Set<SQLState> = [.lockNotAvailable, .deadlockDetected]

    private var end: Monotonic { Monotonic.now() + timeout }
}
