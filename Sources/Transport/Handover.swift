import CLinux
import Glibc

/// The start of another process that takes the listening sockets over, so that no connection is refused meanwhile.
///
/// Wraps `posix_spawnp` and `pipe2`. The new process finds the sockets as `InheritedListeners` does, and both accept
/// until this one has heard that the other serves.
public final class Handover: EventHandler {
    private let end: Descriptor
    private let loop: EventLoop
    private var registration: Registration?
    private var outcome: ((Bool) -> Void)?

    /// Starts the program with its arguments and this process's environment, with the listeners under their names.
    ///
    /// `outcome` is called once on the loop: true when the new process serves, false when it has ended without.
    /// Throws when it cannot be started.
    public init(
        to arguments: [String], listeners: [(name: String, listener: Listener)], on loop: EventLoop,
        outcome: @escaping (Bool) -> Void
    ) throws(SystemError) {
        self.loop = loop
        self.outcome = outcome
        var ends: [Int32] = [-1, -1]
        _ = try retryingInterrupts("pipe") { pipe(&ends) }
        let readEnd = Descriptor(owning: ends[0])
        let writeEnd = Descriptor(owning: ends[1])
        for raw in [readEnd.raw, writeEnd.raw] { _ = try retryingInterrupts("fcntl") { clinux_set_nonblocking(raw) } }
        // A child that has ended need not be waited for.
        signal(SIGCHLD, SIG_IGN)
        try Self.spawn(arguments, listeners, telling: writeEnd.raw)
        for (_, listener) in listeners { listener.share() }
        end = readEnd
        registration = try loop.register(end.raw, for: .readable, handler: self)
    }

    /// The new process serves, or its end of the pipe has closed with it.
    public func handle(_ readiness: Readiness) {
        var word: UInt8 = 0
        let count = read(end.raw, &word, 1)
        if count < 0, clinux_errno() == EAGAIN || clinux_errno() == EINTR { return }
        if let registration { loop.deregister(registration) }
        registration = nil
        outcome?(count == 1)
        outcome = nil
    }

    private static func spawn(
        _ arguments: [String], _ listeners: [(name: String, listener: Listener)], telling pipe: Int32
    ) throws(SystemError) {
        let first = InheritedListeners.firstDescriptor
        let pipeThere = first + Int32(listeners.count)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // By way of numbers that none of them has: one might stand where another has to go.
        let sources = listeners.map { $0.listener.descriptor.raw } + [pipe]
        let above = (sources.max() ?? 0) + pipeThere + 1
        for (place, source) in sources.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, source, above + Int32(place))
        }
        for place in sources.indices {
            posix_spawn_file_actions_adddup2(&actions, above + Int32(place), first + Int32(place))
            posix_spawn_file_actions_addclose(&actions, above + Int32(place))
        }
        let names = listeners.map(\.name).joined(separator: ":")
        let settings = [
            "LISTEN_FDS=\(listeners.count)", "LISTEN_FDNAMES=\(names)",
            "\(InheritedListeners.handoverName)=\(pipeThere)",
        ]
        let words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
        var environment: [UnsafeMutablePointer<CChar>?] = settings.map { strdup($0) }
        defer { for text in words + environment { free(text) } }
        var inherited = environ
        while let entry = inherited.pointee {
            environment.append(strdup(entry))
            inherited += 1
        }
        var child = pid_t()
        let code = posix_spawnp(&child, arguments[0], &actions, nil, words + [nil], environment + [nil])
        guard code == 0 else { throw SystemError("posix_spawnp", code: code) }
    }
}
