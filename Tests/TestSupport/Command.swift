import Glibc

/// A program that a test needed and that failed.
public struct CommandFailure: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Runs a program to its end, its output thrown away. Blocks. Wraps `posix_spawn` and `waitpid`.
public func runCommand(_ arguments: [String]) throws(CommandFailure) {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
        posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
    }
    let strings = arguments.map { strdup($0) }
    defer { for string in strings { free(string) } }
    var child = pid_t()
    let code = withStartAttributes { posix_spawn(&child, arguments[0], &actions, &$0, strings + [nil], environ) }
    guard code == 0 else { throw CommandFailure("\(arguments[0]): \(String(cString: strerror(code)))") }
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0, errno == EINTR {}
    guard status == 0 else {
        throw CommandFailure("\(arguments.joined(separator: " ")) failed with wait status \(status)")
    }
}
