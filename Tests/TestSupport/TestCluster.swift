import Glibc

/// A PostgreSQL server of a test's own, for what cannot be done to the shared one: stopping it, for instance.
///
/// Needs the server's programs, in `PG_BIN` or where Debian puts them.
public final class TestCluster: Sendable {
    public let port: UInt16
    private let directory: String
    private let programs: String

    /// For the database `postgres` of this server.
    public var connectionString: String { "postgresql://postgres@127.0.0.1:\(port)/postgres" }

    /// Gives the body a running server with these lines in its configuration, and removes it whatever happens.
    public static func with<Value: Sendable>(
        settings: String = "", _ body: (TestCluster) async throws -> Value
    ) async throws -> Value {
        let cluster = try await onThread { try TestCluster(settings) }
        let result: Result<Value, any Error>
        do { result = .success(try await body(cluster)) } catch { result = .failure(error) }
        // What the test found matters more than a directory left behind.
        try? await onThread { cluster.remove() }
        return try result.get()
    }

    /// Starts it and waits until it takes connections.
    public func start() async throws {
        try await onThread { try self.startNow() }
    }

    /// How a server is stopped.
    public enum StopMode: String, Sendable {
        /// Orderly: sessions are told (57P01).
        case fast
        /// As if the machine had failed: no checkpoint, sessions are told at most (57P02).
        case immediate
    }

    public func stop(_ mode: StopMode) async throws {
        try await onThread {
            try self.run("pg_ctl", "-w", "-m", mode.rawValue, "-D", self.data, "stop")
        }
    }

    private init(_ settings: String) throws(CommandFailure) {
        programs = try Self.findPrograms()
        port = try freePort()
        var template = Array("/tmp/test-cluster.XXXXXX".utf8CString)
        guard let path = template.withUnsafeMutableBufferPointer({ $0.baseAddress.flatMap { mkdtemp($0) } }) else {
            throw CommandFailure("no directory could be made")
        }
        directory = String(cString: path)
        if let account = Self.account { chown(directory, account.pw_uid, account.pw_gid) }
        try run("initdb", "--no-sync", "--auth=trust", "--username=postgres", "--pgdata", data)
        guard let file = fopen(data + "/postgresql.conf", "a") else { throw CommandFailure("no configuration") }
        fputs(
            """

            port = \(port)
            listen_addresses = '127.0.0.1'
            unix_socket_directories = ''
            fsync = off
            \(settings)

            """, file)
        fclose(file)
        try startNow()
    }

    private var data: String { directory + "/data" }

    private func startNow() throws(CommandFailure) {
        try run("pg_ctl", "-w", "-D", data, "-l", directory + "/log", "start")
    }

    private func remove() {
        try? run("pg_ctl", "-w", "-m", "immediate", "-D", data, "stop")
        try? runCommand(["/bin/rm", "-rf", directory])
    }

    private func run(_ program: String, _ arguments: String...) throws(CommandFailure) {
        // PostgreSQL refuses to run as root.
        let account = geteuid() == 0 ? ["/sbin/runuser", "-u", "postgres", "--"] : []
        try runCommand(account + ["\(programs)/\(program)"] + arguments)
    }

    private static var account: passwd? { geteuid() == 0 ? getpwnam("postgres")?.pointee : nil }

    private static func findPrograms() throws(CommandFailure) -> String {
        var candidates = (14...20).reversed().map { "/usr/lib/postgresql/\($0)/bin" }
        if let given = getenv("PG_BIN") { candidates.insert(String(cString: given), at: 0) }
        guard let found = candidates.first(where: { access($0 + "/initdb", X_OK) == 0 }) else {
            throw CommandFailure("PostgreSQL's server programs are not installed; name their directory in PG_BIN")
        }
        return found
    }
}

/// A port that nobody listens on now.
public func freePort() throws(CommandFailure) -> UInt16 {
    guard let listener = SilentListener() else { throw CommandFailure("no port is free") }
    return listener.port
}
