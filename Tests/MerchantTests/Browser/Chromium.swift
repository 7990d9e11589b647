import Glibc
import JSON
import Synchronization
import TestSupport
import Transport

/// A person's own part of a real browser without a window, for one test: cookies, storage, cache and pages apart from
/// every other test's, and gone when the body has ended.
///
/// The browser itself, Debian's `chromium`, is started with the first test that needs it and serves all tests of this
/// process, because a start takes as much as the test.
struct Chromium: Sendable {
    let devTools: DevTools
    /// Names this part in calls: `browserContextId`.
    let context: String

    /// Where the browser is, or nothing.
    static let path: String? = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].first {
        (path: String) in
        access(path, X_OK) == 0
    }

    /// The reason for skipping in a run without a browser.
    static let absence = "chromium is not installed: apt-get install chromium chromium-sandbox"

    /// Gives the body a browser that no test has used.
    static func open(_ body: (Chromium) async throws -> Void) async throws {
        let devTools = try BrowserProcess.running()
        let answer = try await devTools.call("Target.createBrowserContext") { $0.member("disposeOnDetach", true) }
        guard let context = answer["browserContextId"]?.string else { throw BrowserFailure("no context was made") }
        let result: Result<Void, any Error>
        do { result = .success(try await body(Chromium(devTools: devTools, context: context))) } catch {
            result = .failure(error)
        }
        // What the test found matters more than what the clearing up finds.
        _ = try? await devTools.call("Target.disposeBrowserContext") { $0.member("browserContextId", context) }
        try result.get()
    }
}

/// The browser of this process, steered over a pair of pipes.
///
/// It has a profile of its own in a temporary directory and a process group of its own. Both are gone once this process
/// is, however it ends.
private enum BrowserProcess {
    private static let started = Mutex<DevTools?>(nil)

    /// The one that runs; one that has ended is followed by another.
    static func running() throws -> DevTools {
        try started.withLock { started in
            if let devTools = started, !devTools.isOver { return devTools }
            let devTools = try start()
            started = devTools
            return devTools
        }
    }

    private static func start() throws -> DevTools {
        guard let path = Chromium.path else { throw BrowserFailure(Chromium.absence) }
        var template = Array("/tmp/chromium-test.XXXXXX".utf8CString)
        guard let directory = template.withUnsafeMutableBufferPointer({ $0.baseAddress.flatMap { mkdtemp($0) } })
        else { throw BrowserFailure("no directory could be made") }
        let profile = String(cString: directory)
        // The browser reads commands from descriptor 3 and writes to 4 (`--remote-debugging-pipe`).
        let commands = try Pipe()
        let messages = try Pipe()
        var arguments = [
            path, "--headless", "--remote-debugging-pipe", "--user-data-dir=\(profile)", "--no-first-run",
            "--no-default-browser-check", "--disable-background-networking", "--disable-component-update",
            "--disable-sync", "--disable-breakpad", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
            "--password-store=basic",
        ]
        if geteuid() == 0 { arguments.append("--no-sandbox") }
        let process = try spawn(arguments, home: profile, reading: commands.end, writing: messages.end)
        close(commands.end)
        close(messages.end)
        try runOnceProcessIsGone("kill -KILL -- \"-$1\"; rm -rf \"$2\"", ["\(process)", profile])
        let devTools = DevTools(reading: messages.start, writing: commands.start)
        try ThreadStart.detach(name: "browser") {
            devTools.readAll()
            var status: Int32 = 0
            waitpid(process, &status, 0)
        }
        return devTools
    }

    /// Wraps `posix_spawn`: in a process group of its own, with nothing open but the two pipes.
    private static func spawn(
        _ arguments: [String], home: String, reading: Int32, writing: Int32
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
        }
        posix_spawn_file_actions_adddup2(&actions, reading, 3)
        posix_spawn_file_actions_adddup2(&actions, writing, 4)
        let strings = arguments.map { strdup($0) }
        let variables: [String] = ["HOME=\(home)", "PATH=/usr/bin:/bin", "LANG=C.UTF-8"]
        let environment = variables.map { strdup($0) }
        defer { for string in strings + environment { free(string) } }
        var child = pid_t()
        let code = withStartAttributes {
            posix_spawnattr_setflags(&$0, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK))
            posix_spawnattr_setpgroup(&$0, 0)
            return posix_spawn(&child, arguments[0], &actions, &$0, strings + [nil], environment + [nil])
        }
        guard code == 0 else { throw BrowserFailure("\(arguments[0]): \(String(cString: strerror(code)))") }
        return child
    }
}

/// Two ends far above 3 and 4, so that neither is overwritten in the child before it is moved there.
private struct Pipe {
    /// Ours.
    let start: Int32
    /// The browser's.
    let end: Int32

    init() throws {
        var ends: [Int32] = [0, 0]
        // One socket pair in place of a pipe has no direction to get wrong.
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw BrowserFailure("no socket pair could be made")
        }
        start = fcntl(ends[0], F_DUPFD_CLOEXEC, 100)
        end = fcntl(ends[1], F_DUPFD_CLOEXEC, 100)
        close(ends[0])
        close(ends[1])
    }
}

/// The browser could not do what a test asked of it.
struct BrowserFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
