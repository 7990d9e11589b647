import Glibc
import Postgres
import Transport

/// A database for one test alone, dropped afterwards.
///
/// The server is the one that `TEST_POSTGRES_URL` names, whose role may create databases, or one of the tests' own,
/// which is started with the first test that needs it.
public struct TestDatabase: Sendable {
    public let name: String
    /// For `Database` and for programs that the test starts.
    public let connectionString: String

    /// Gives the body a database of its own, with the migrations applied if there are any, and drops it whatever
    /// happens. Call it on an event loop.
    ///
    /// Migrations run once for all tests that have the same ones, into a template from which each test's database is
    /// copied.
    public static func with<Value: Sendable>(
        _ migrations: [Migration] = [], _ body: (TestDatabase) async throws -> Value
    ) async throws -> Value {
        let server = try Database(try serverURL(), configuration: .patient)
        let name = "test_\(getpid())_\(String(UInt64.random(in: .min ... .max), radix: 36))"
        let result: Result<Value, any Error>
        do {
            let template = migrations.isEmpty ? "template0" : try await TestTemplate.name(for: migrations, on: server)
            try await server.createDatabase(name, from: template)
            let database = TestDatabase(name: name, connectionString: replacingDatabase(in: try serverURL(), by: name))
            result = .success(try await body(database))
        } catch {
            result = .failure(error)
        }
        // What the test found matters more than what the clearing up finds.
        try? await server.dropDatabase(name)
        await server.close()
        return try result.get()
    }

    /// Gives the body an open database on a fresh loop, closed and dropped afterwards.
    public static func open<Value: Sendable>(
        _ migrations: [Migration] = [], configuration: DatabaseConfiguration = .patient,
        _ body: @escaping @Sendable (Database) async throws -> Value
    ) async throws -> Value {
        try await onLoop {
            try await with(migrations) { test in
                let database = try Database(test.connectionString, configuration: configuration)
                let result: Result<Value, any Error>
                do { result = .success(try await body(database)) } catch { result = .failure(error) }
                await database.close()
                return try result.get()
            }
        }
    }

    /// The server of the tests: the one that is named, or one that is started for this process.
    public static func serverURL() throws -> String {
        if let value = getenv("TEST_POSTGRES_URL"), value.pointee != 0 { return String(cString: value) }
        return try ownServer.get()
    }

    private static let ownServer = Result<String, CommandFailure> { () throws(CommandFailure) in
        let settings = "max_connections = 400\nfull_page_writes = off"
        let cluster: TestCluster
        // Another process may take the port between the search and its use, other tests above all.
        do { cluster = try TestCluster(settings) } catch { cluster = try TestCluster(settings) }
        try cluster.removeAtExit()
        return cluster.connectionString
    }

    /// The same connection string for another database of the server.
    public static func replacingDatabase(in url: String, by name: String) -> String {
        guard let scheme = url.firstRange(of: "://") else { return "\(url) dbname='\(name)'" }
        let rest = url[scheme.upperBound...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let query = rest[authority.endIndex...].drop { $0 != "?" }
        return "\(url[..<scheme.upperBound])\(authority)/\(name)\(query)"
    }
}

extension Database {
    /// Names made by the tests need no quoting.
    func createDatabase(_ name: String, from template: String) async throws {
        // Copying files takes half of the time of writing them to the log (PostgreSQL 14 knows no other way).
        let version = try await rows("SHOW server_version_num").first?["server_version_num", as: String.self] ?? "0"
        let strategy = (Int(version) ?? 0) >= 150_000 ? " STRATEGY file_copy" : ""
        try await execute(SQL(trusted: "CREATE DATABASE \(name) TEMPLATE \(template)\(strategy)"), within: .seconds(60))
    }

    func dropDatabase(_ name: String) async throws {
        try await execute(SQL(trusted: "DROP DATABASE IF EXISTS \(name) WITH (FORCE)"), within: .seconds(60))
    }
}
