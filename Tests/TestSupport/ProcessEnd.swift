import Glibc

/// Runs a script of the shell once this process has ended, however it ends; the arguments are its `$1`, `$2` and so on.
public func runOnceProcessIsGone(_ script: String, _ arguments: [String]) throws(CommandFailure) {
    var ends: [Int32] = [0, 0]
    // No other process that is started inherits the other end, which closes when this process is gone.
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw CommandFailure("no pair of sockets") }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO)
    for descriptor in [STDOUT_FILENO, STDERR_FILENO] {
        posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0)
    }
    // In a session of its own, so that Ctrl-C does not reach it.
    let words = ["/usr/bin/setsid", "/bin/sh", "-c", "cat; \(script)", "process-end"] + arguments
    let strings = words.map { strdup($0) }
    defer { for string in strings { free(string) } }
    var child = pid_t()
    let code = withStartAttributes { posix_spawn(&child, words[0], &actions, &$0, strings + [nil], environ) }
    close(ends[0])
    guard code == 0 else { throw CommandFailure("\(words[0]): \(String(cString: strerror(code)))") }
}
