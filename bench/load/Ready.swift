import ArgumentParser
import Glibc
import HTTP
import Transport

struct Ready: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Starts a server, prints how many microseconds it took to be ready, and stops it with SIGTERM.",
        discussion: "What the server prints goes to standard error. It gets an empty environment.")

    @Option(help: "Ready is what answers 200 here.") var url: String
    @Option(help: "How long it may take, in milliseconds.") var deadlineMs = 10_000
    @Argument(parsing: .postTerminator, help: "Behind --: how the server is started.") var command: [String]

    func run() throws {
        guard let url = URL(url) else { throw ValidationError("--url takes an http or https URL.") }
        guard !command.isEmpty else { throw ValidationError("A command stands behind --.") }
        let loop = try EventLoop()
        let start = Monotonic.now()
        let server = try Child(command)
        defer { server.stop() }
        let deadline = start + .milliseconds(deadlineMs)
        // Every task here runs on the thread that runs the loop: this one.
        nonisolated(unsafe) var ready: Monotonic?
        _ = loop.task {
            ready = await Ready.firstAnswer(of: url, until: deadline, on: loop)
            loop.stop()
        }
        loop.run()
        guard let ready else { throw ValidationError("It was not ready after \(deadlineMs) ms.") }
        print((ready - start).wholeNanoseconds / 1_000)
    }

    /// When the first 200 came; asked again a millisecond after each failure.
    private static func firstAnswer(of url: URL, until deadline: Monotonic, on loop: EventLoop) async -> Monotonic? {
        let client = Client(origin: url.origin)
        while Monotonic.now() < deadline {
            // Why it is not ready yet does not matter.
            if let answer = try? await client.send(Request(.get, url.target), deadline: .seconds(1)),
                answer.status == .ok
            {
                return .now()
            }
            try? await loop.sleep(for: .milliseconds(1))  // Throws when cancelled, which does not happen.
        }
        return nil
    }
}

/// A process that was started here. Wraps `posix_spawnp`.
private struct Child: ~Copyable {
    private let id: pid_t

    init(_ command: [String]) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO)

        var arguments = command.map { strdup($0) }
        defer { for argument in arguments { free(argument) } }
        arguments.append(nil)
        var environment: [UnsafeMutablePointer<CChar>?] = [nil]
        var id: pid_t = 0
        let code = posix_spawnp(&id, command[0], &actions, nil, &arguments, &environment)
        guard code == 0 else { throw SystemError("posix_spawnp", code: code) }
        self.id = id
    }

    /// Asks it to stop and waits until it has.
    func stop() {
        kill(id, SIGTERM)
        while waitpid(id, nil, 0) == -1, errno == EINTR {}
    }
}
