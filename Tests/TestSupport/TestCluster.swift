import Glibc

/// A PostgreSQL server of a test's own, for what cannot be done to the shared one: stopping it, for instance.
///
/// Needs the server's programs, in `PG_BIN` or where Debian puts them.
public final class TestCluster: Sendable {
    public let port: UInt16
    private let directory: String
    private let programs: String

    /// The superuser with his password, as they stand in a URL. Both are the same on every cluster of this process.
    public static let superuser = "postgres:\(password)"
    private static let password = String(UInt128.random(in: .min ... .max), radix: 16)

    /// For the database `postgres` of this server.
    public var connectionString: String { "postgresql://\(Self.superuser)@127.0.0.1:\(port)/postgres" }

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

    init(_ settings: String) throws(CommandFailure) {
        programs = try Self.findPrograms()
        port = try freePort()
        var template = Array("\(Self.parent)/test-cluster.XXXXXX".utf8CString)
        guard let path = template.withUnsafeMutableBufferPointer({ $0.baseAddress.flatMap { mkdtemp($0) } }) else {
            throw CommandFailure("no directory could be made")
        }
        directory = String(cString: path)
        if let account = Self.account { chown(directory, account.pw_uid, account.pw_gid) }
        try write(Self.password + "\n", to: directory + "/password", mode: "w")
        // Other users of this machine reach the port too.
        try run(
            "initdb", "--no-sync", "--auth=scram-sha-256", "--username=postgres", "--pwfile", directory + "/password",
            "--encoding=UTF8", "--locale=C.UTF-8", "--pgdata", data)
        try write(
            """

            port = \(port)
            listen_addresses = '127.0.0.1'
            unix_socket_directories = ''
            fsync = off
            \(settings)

            """, to: data + "/postgresql.conf", mode: "a")
        do {
            try startNow()
        } catch {
            remove()
            throw error
        }
    }

    /// Stops it and removes its files once this process has ended, however it ends.
    func removeAtExit() throws(CommandFailure) {
        let script = "directory=$1; shift; \"$@\"; rm -rf \"$directory\""
        let stop = command("pg_ctl", ["-m", "immediate", "-D", data, "stop"])
        try runOnceProcessIsGone(script, [directory] + stop)
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
        try runCommand(command(program, arguments))
    }

    private func command(_ program: String, _ arguments: [String]) -> [String] {
        // PostgreSQL refuses to run as root.
        let account = geteuid() == 0 ? ["/sbin/runuser", "-u", "postgres", "--"] : []
        // One that does not end is a fault with a name, and no test that waits for ever.
        let limit = ["/usr/bin/timeout", "--kill-after=10", "120"]
        return limit + account + ["\(programs)/\(program)"] + arguments
    }

    /// Writes to a file that only the server's account may read.
    private func write(_ text: String, to path: String, mode: String) throws(CommandFailure) {
        guard let file = fopen(path, mode) else { throw CommandFailure("\(path) cannot be written") }
        fchmod(fileno(file), S_IRUSR | S_IWUSR)
        if let account = Self.account { fchown(fileno(file), account.pw_uid, account.pw_gid) }
        fputs(text, file)
        fclose(file)
    }

    /// In memory where there is room: to copy the files of a database there takes a seventh of the processor's time.
    private static let parent: String = {
        let memory = "/dev/shm"
        var room = statvfs()
        let enough: UInt = 2 << 30
        let isRoomy = statvfs(memory, &room) == 0 && room.f_bavail * room.f_frsize >= enough
        return isRoomy && access(memory, W_OK) == 0 ? memory : "/tmp"
    }()

    private static var account: passwd? { geteuid() == 0 ? getpwnam("postgres")?.pointee : nil }

    private static func findPrograms() throws(CommandFailure) -> String {
        var candidates = (14...20).reversed().map { "/usr/lib/postgresql/\($0)/bin" }
        if let given = getenv("PG_BIN") { candidates.insert(String(cString: given), at: 0) }
        guard let found = candidates.first(where: { access($0 + "/initdb", X_OK) == 0 }) else {
            throw CommandFailure(
                """
                PostgreSQL's server programs are not installed. ./dev test installs them; or name their directory in \
                PG_BIN, or a server that may be used for tests in TEST_POSTGRES_URL
                """)
        }
        return found
    }
}

/// A port on which no process listens now.
public func freePort() throws(CommandFailure) -> UInt16 {
    guard let listener = SilentListener() else { throw CommandFailure("no port is free") }
    return listener.port
}
