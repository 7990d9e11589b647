import Glibc

/// A program that runs beside the test, with its standard output and error in one file.
public final class RunningProgram: Sendable {
    /// The process that was started. It may have been followed by another with the same output.
    public let process: pid_t
    private let log: String

    /// Starts the program with this environment and no other, and no signal blocked. Wraps `posix_spawn`.
    public init(_ arguments: [String], environment: [String: String]) throws {
        var template = Array("/tmp/running-program.XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw CommandFailure("mkstemp: \(String(cString: strerror(errno)))") }
        close(descriptor)
        log = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log, O_WRONLY | O_APPEND, 0)
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
        let words = arguments.map { strdup($0) }
        let settings = environment.map { strdup("\($0)=\($1)") }
        defer { for text in words + settings { free(text) } }
        var child = pid_t()
        let failure = withStartAttributes {
            posix_spawn(&child, arguments[0], &actions, &$0, words + [nil], settings + [nil])
        }
        guard failure == 0 else { throw CommandFailure("\(arguments[0]): \(String(cString: strerror(failure)))") }
        process = child
    }

    deinit { unlink(log) }

    /// The lines printed until now.
    public var lines: [Substring] {
        guard let file = fopen(log, "r") else { return [] }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&block, 1, block.count, file), count > 0 { bytes += block[..<count] }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    }

    /// Waits for the end of the process that was started, and says how it ended; 128 and more for a signal. Blocks.
    public func waitForEnd() -> Int32 {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
    }
}
