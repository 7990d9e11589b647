import Glibc
import HTTP
import Transport

/// One instance of the merchant's server: started, killed, halted, kept alive.
final class Instance: Sendable {
    let name: String
    let port: UInt16
    let adminPort: UInt16
    let log: String
    private let program: String
    private let environment: [String: String]
    private let child = LockedBox<Child?>(nil)
    private let starts = LockedBox(0)

    init(_ name: String, of tools: Tools, at port: UInt16, log: String, settings: [String: String]) throws {
        self.name = name
        self.port = port
        self.log = log
        program = tools.program("merchant")
        adminPort = try Port.free()
        environment = settings.merging([
            "LISTEN": "127.0.0.1:\(port)", "ADMIN_LISTEN": "127.0.0.1:\(adminPort)",
        ]) { $1 }
    }

    /// Starts it and waits until it answers.
    func start(within limit: Duration = .seconds(30)) async throws {
        let child = try Child(name, [program, "serve"], environment: environment, log: log)
        self.child.value = child
        starts.update { $0 += 1 }
        let answers = await eventually(within: limit, every: .milliseconds(10)) {
            if child.hasEnded { return true }
            return await Probe.status(of: "/livez", at: port) == 200
        }
        guard answers, !child.hasEnded else {
            throw CommandFailed(description: "\(name) did not start:\n\(TextFile.end(of: log))")
        }
    }

    /// Ends it as `kill -9` does, and returns when it is gone. Called on any thread.
    func kill() { child.value?.kill() }

    /// Leaves it where it stands.
    func halt() { child.value?.signal(SIGSTOP) }

    /// Lets it go on.
    func wake() { child.value?.signal(SIGCONT) }

    var hasEnded: Bool { child.value?.hasEnded ?? true }

    /// How often it was started.
    var startCount: Int { starts.value }

    /// Starts it again whenever it has ended, as systemd would, until the task is cancelled.
    func keepAlive() async {
        while !Task.isCancelled {
            if hasEnded {
                // It may have to try until its database is back; each attempt says in its log why it could not.
                try? await start()
            }
            await Loop.rest(.milliseconds(20))
        }
    }
}

/// A request to a server from outside, on a connection of its own.
enum Probe {
    /// The status of a GET; nil without an answer within two seconds.
    static func status(of target: Target, at port: UInt16) async -> Int? {
        await get(target, at: port)?.status.code
    }

    static func get(_ target: Target, at port: UInt16) async -> Response? {
        guard let url = URL("http://127.0.0.1:\(port)/"), let loop = EventLoop.current else { return nil }
        let client = Client(origin: url.origin)
        // No answer is an answer here.
        let response = try? await client.send(Request(.get, target), deadline: .seconds(2))
        await client.closeIdle(on: loop)
        return response
    }
}
