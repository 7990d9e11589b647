import Transport

/// One step of the schema: its name, as in `0007_remember_outcome_of_intents`, and its SQL text.
public struct Migration: Sendable, Hashable {
    public let name: String
    public let text: String

    public init(name: String, text: String) {
        self.name = name
        self.text = text
    }
}

/// Where a database's schema stands against the migrations of a program.
public enum SchemaStatus: Sendable, Equatable {
    case upToDate
    /// These are yet to be applied, in this order.
    case pending([String])
    /// The database has migrations that this program does not know: a newer program was here.
    case ahead([String])
    /// These were changed after they had been applied, or stand in another order than they were applied in.
    case altered([String])
}

/// Why the schema could not be brought up to date.
public enum MigrationError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The database is ahead or altered; nothing was done.
    case impossible(SchemaStatus)
    /// PostgreSQL refused this one; it was rolled back, those before it stay.
    case failed(name: String, DatabaseError)
    /// This one ends the transaction it runs in, which would leave half of it behind.
    case endsItsTransaction(name: String)

    public var description: String {
        switch self {
        case .impossible(.ahead(let names)): "the database has unknown migrations: \(names.joined(separator: ", "))"
        case .impossible(.altered(let names)): "applied migrations were altered: \(names.joined(separator: ", "))"
        case .impossible: "the database cannot be migrated"
        case .failed(let name, let error): "migration \(name) failed: \(error)"
        case .endsItsTransaction(let name): "migration \(name) must not end its transaction"
        }
    }
}

/// Brings a database's schema up to date, forward only, one transaction for each migration.
///
/// What was applied stands in `schema_migrations`, with the SHA-256 of its text. Programs that start at once wait for
/// each other (an advisory lock), and the later ones find nothing left to do.
public struct Migrator: Sendable {
    private let database: Database
    private let migrations: [Migration]

    /// Takes all migrations of the program in their order. Their names are different.
    public init(_ migrations: [Migration], of database: Database) {
        precondition(Set(migrations.map(\.name)).count == migrations.count, "migrations have different names")
        self.database = database
        self.migrations = migrations
    }

    /// Looks without changing anything.
    public func status() async throws -> SchemaStatus {
        try await withSession(timeout: .seconds(30)) { session in try await session.status() }
    }

    /// Applies what is pending and returns the names of what it applied.
    ///
    /// Each statement, and the wait for another migrator, may take as long as `timeout`. When this throws
    /// `unavailable` the last step may have been applied or not: the next call finds out.
    @discardableResult
    public func migrate(timeout: Duration = .seconds(300)) async throws -> [String] {
        try await withSession(timeout: timeout) { session in try await session.migrate() }
    }

    private func withSession<Value: Sendable>(
        timeout: Duration, _ body: (MigrationSession) async throws -> Value
    ) async throws -> Value {
        guard let loop = EventLoop.current else {
            preconditionFailure("a migrator is used by tasks that run on an event loop")
        }
        let session = try await database.opener.connect(on: loop, for: .migrate)
        let connection = try PlainConnection(owning: session, on: loop)
        return try await body(
            MigrationSession(connection: connection, migrations: migrations, timeout: timeout))
    }
}
