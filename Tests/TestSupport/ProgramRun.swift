import Glibc

/// A program that ran to its end: how it ended, and what it printed.
public struct ProgramRun: Sendable {
    public let code: Int32
    public let output: String
    public let errors: String

    /// Runs the program with this environment and no other, and no signal blocked. Blocks.
    ///
    /// Wraps `posix_spawn` and `waitpid`.
    public init(_ arguments: [String], environment: [String: String]) throws(CommandFailure) {
        // Files in place of pipes: a program that prints a lot need not be read meanwhile.
        let outputFile = try ScratchFile()
        let errorFile = try ScratchFile()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, outputFile.path, O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errorFile.path, O_WRONLY, 0)
        let strings = arguments.map { strdup($0) }
        let settings = environment.map { strdup("\($0)=\($1)") }
        defer { for string in strings + settings { free(string) } }
        var child = pid_t()
        let failure = withStartAttributes {
            posix_spawn(&child, arguments[0], &actions, &$0, strings + [nil], settings + [nil])
        }
        guard failure == 0 else { throw CommandFailure("\(arguments[0]): \(String(cString: strerror(failure)))") }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        // What WIFEXITED and WEXITSTATUS say, which Swift cannot see; a signal becomes what shells make of it.
        code = status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
        output = outputFile.text
        errors = errorFile.text
    }
}

extension ProgramRun: CustomStringConvertible {
    public var description: String { "ended with \(code)\n\(output)\n\(errors)" }
}

/// A file that is gone with its owner.
private struct ScratchFile: ~Copyable {
    let path: String

    init() throws(CommandFailure) {
        var template = Array("/tmp/program-run.XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw CommandFailure("mkstemp: \(String(cString: strerror(errno)))") }
        close(descriptor)
        path = template.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
    }

    deinit { unlink(path) }

    var text: String {
        guard let file = fopen(path, "r") else { return "" }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&block, 1, block.count, file), count > 0 { bytes += block[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }
}
