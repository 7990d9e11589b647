import Glibc
import Synchronization
import Transport

/// A process that was started here, and dies with this one, whatever this one dies of.
///
/// Wraps `posix_spawn` and `waitpid`.
public final class Child: Sendable {
    /// What was started, for messages.
    public let name: String
    /// The process. It means nothing once the child has been reaped.
    public let id: pid_t
    /// Where its standard output and error go.
    public let log: String
    /// How it ended; nil while it has not been reaped.
    private let end = Mutex<Int32?>(nil)

    /// Starts a program with this environment and no other, its output behind what the log holds already. Throws when
    /// it cannot be started.
    ///
    /// `deathSignal` is what it gets when the thread that started it ends (`PR_SET_PDEATHSIG`).
    public init(
        _ name: String, _ command: [String], environment: [String: String] = [:], log: String,
        deathSignal: String = "KILL"
    ) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_APPEND, 0o644)
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
        // A session of its own, so that the terminal's Ctrl-C reaches this program alone.
        let words = (["setsid", "setpriv", "--pdeathsig", deathSignal] + command).map { strdup($0) }
        let path = ["PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
        let settings = path.merging(environment) { $1 }.map { strdup("\($0)=\($1)") }
        defer { for text in words + settings { free(text) } }
        var id = pid_t()
        let code = posix_spawnp(&id, "setsid", &actions, nil, words + [nil], settings + [nil])
        guard code == 0 else { throw SystemError("posix_spawn", code: code) }
        self.name = name
        self.id = id
        self.log = log
    }

    /// Whether it has ended, by itself or not.
    public var hasEnded: Bool { reap(WNOHANG) != nil }

    /// Sends a signal, unless it has ended. Wraps `kill`.
    public func signal(_ number: Int32) {
        end.withLock { end in
            // The number of a reaped process may be another process's.
            if end == nil { _ = Glibc.kill(id, number) }
        }
    }

    /// Ends it as `kill -9` does, and returns when it is gone with everything that it had open. Blocks for a moment.
    public func kill() {
        signal(SIGKILL)
        _ = reap(0)
    }

    /// Waits for its end and gives its exit code; 128 and more for a signal. Blocks.
    @discardableResult
    public func waitForEnd() -> Int32 { reap(0) ?? -1 }

    private func reap(_ options: Int32) -> Int32? {
        end.withLock { end in
            if let end { return end }
            var status: Int32 = 0
            var found = waitpid(id, &status, options)
            while found < 0, errno == EINTR { found = waitpid(id, &status, options) }
            guard found == id else { return nil }
            end = status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
            return end
        }
    }
}

/// A command that did not do what it was started for.
public struct CommandFailed: Error, CustomStringConvertible {
    public let description: String
}

/// Runs a command to its end on a thread where it may block. Gives its output; throws when it ends with another code
/// than those expected.
@discardableResult
func runTool(
    _ command: [String], environment: [String: String] = [:], log: String, expecting codes: Set<Int32> = [0]
) async throws -> (code: Int32, output: String) {
    try await BlockingThreads.shared.run {
        unlink(log)
        let child = try Child(command.first ?? "", command, environment: environment, log: log)
        let code = child.waitForEnd()
        let output = TextFile.read(log)
        guard codes.contains(code) else {
            throw CommandFailed(description: "\(command.joined(separator: " ")) ended with \(code):\n\(output)")
        }
        return (code, output)
    }
}
