import Glibc
import Transport

/// A PostgreSQL server of the chaos's own: started, stopped, killed, stopped in its tracks.
///
/// It trusts everybody on 127.0.0.1, lives for minutes, and holds nothing worth having.
final class Cluster: Sendable {
    let port: UInt16
    /// Where its data are.
    let data: String
    let log: String
    private let waitsForDisk: Bool
    private let programs: String
    private let child = LockedBox<Child?>(nil)

    /// A directory that its user may write to, and another place for the data where it is given.
    init(
        in directory: String, named name: String = "data", dataBelow other: String? = nil, waitsForDisk: Bool
    ) throws {
        self.waitsForDisk = waitsForDisk
        programs = try Self.findPrograms()
        port = try Port.free()
        data = "\(other ?? directory)/\(name)"
        log = "\(directory)/\(name).log"
    }

    func url(_ database: String = "merchant") -> String { "postgresql://postgres@127.0.0.1:\(port)/\(database)" }

    /// Makes it. All of it is on disk then, where that matters: otherwise the first recovery would have to see to that.
    func create(_ options: [String] = [], settings: [String] = []) async throws {
        let own = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C.UTF-8", "--pgdata", data]
        try await tool("initdb", own + (waitsForDisk ? [] : ["--no-sync"]) + options)
        try configure(settings)
    }

    /// Makes it a standby of the one that is reached at a port, under that name.
    func create(asStandbyOf primary: UInt16, named name: String) async throws {
        let source = "host=127.0.0.1 port=\(primary) user=postgres application_name=\(name)"
        try await tool(
            "pg_basebackup",
            ["--pgdata", data, "--write-recovery-conf", "--checkpoint=fast", "--dbname", source]
                + (waitsForDisk ? [] : ["--no-sync"]))
        try configure([])
    }

    private func configure(_ settings: [String]) throws {
        let own = [
            "port = \(port)", "listen_addresses = '127.0.0.1'", "unix_socket_directories = ''", "max_connections = 200",
            "log_line_prefix = '%m [%p] '", "fsync = \(waitsForDisk ? "on" : "off")",
        ]
        let text = "\n" + (own + settings).joined(separator: "\n") + "\n"
        try TextFile.write(text, to: "\(data)/postgresql.conf", appending: true)
    }

    /// Starts it and returns when it answers.
    func start() async throws {
        // SIGQUIT is an immediate shutdown: should this program die, nothing is left and nothing is worth keeping.
        let child = try Child(
            "postgres", Self.account + ["setpriv", "--pdeathsig", "QUIT", "\(programs)/postgres", "-D", data], log: log,
            deathSignal: "QUIT")
        self.child.value = child
        let deadline = Monotonic.now() + .seconds(60)
        while Monotonic.now() < deadline, !child.hasEnded {
            let check = ["\(programs)/pg_isready", "--quiet", "--host=127.0.0.1", "--port=\(port)"]
            if try await runTool(check, log: "\(log).ready", expecting: [0, 1, 2, 3]).code == 0 { return }
            try await Loop.sleep(.milliseconds(50))
        }
        throw CommandFailed(description: "PostgreSQL did not start:\n\(TextFile.end(of: log))")
    }

    /// Whether it runs, as far as it has not ended by itself.
    var isRunning: Bool { child.value.map { !$0.hasEnded } ?? false }

    /// Stops it as if the machine had failed: SIGQUIT, no checkpoint (`pg_ctl -m immediate`).
    func stopImmediately() async {
        await end(with: SIGQUIT)
    }

    /// Stops it, sessions first: `pg_ctl -m fast`.
    func stop() async {
        await end(with: SIGINT)
    }

    private func end(with signal: Int32) async {
        guard let child = child.value else { return }
        child.signal(signal)
        await BlockingThreads.shared.run { _ = child.waitForEnd() }
    }

    /// Ends all its processes at once, as a power failure does.
    func kill() async {
        guard let child = child.value, !child.hasEnded else { return }
        // Stopped first, so that none of them notices and sends anything.
        halt()
        for process in processes where process != child.id { _ = Glibc.kill(process, SIGKILL) }
        await BlockingThreads.shared.run { child.kill() }
    }

    /// Leaves all its processes where they stand, with their sockets: SIGSTOP.
    func halt() {
        guard let child = child.value, !child.hasEnded else { return }
        child.signal(SIGSTOP)
        for process in processes { _ = Glibc.kill(process, SIGSTOP) }
    }

    /// Makes a standby a primary.
    func promote() async throws {
        try await tool("pg_ctl", ["promote", "--wait", "--pgdata", data])
    }

    /// The children of the postmaster.
    private var processes: [pid_t] {
        guard let parent = child.value?.id else { return [] }
        return TextFile.names(in: "/proc").compactMap { name in
            guard let process = pid_t(name) else { return nil }
            // pid (name) state parent ...
            let fields = TextFile.read("/proc/\(name)/stat").split(separator: ")").last?.split(separator: " ") ?? []
            return fields.count > 1 && pid_t(fields[1]) == parent ? process : nil
        }
    }

    @discardableResult
    private func tool(_ program: String, _ arguments: [String]) async throws -> String {
        let command = Self.account + ["\(programs)/\(program)"] + arguments
        return try await runTool(command, log: "\(log).\(program)").output
    }

    /// PostgreSQL refuses to run as root.
    static var account: [String] {
        geteuid() == 0 ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] : []
    }

    private static func findPrograms() throws -> String {
        var candidates = (15...20).reversed().map { "/usr/lib/postgresql/\($0)/bin" }
        if let given = getenv("PG_BIN") { candidates.insert(String(cString: given), at: 0) }
        guard let found = candidates.first(where: { access($0 + "/initdb", X_OK) == 0 }) else {
            throw CommandFailed(description: "PostgreSQL's server programs are not installed.")
        }
        return found
    }
}
