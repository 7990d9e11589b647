import CLinux
import Glibc

/// The listening sockets with which the process was started, by systemd or by the process that it follows.
///
/// The environment says which descriptors they are: `LISTEN_FDS` of them from the third on, their names in
/// `LISTEN_FDNAMES`, all meant for process `LISTEN_PID` (sd_listen_fds(3)). A process that takes over from another
/// has `HANDOVER_FD` instead of the last: its own number is not known before it exists.
public struct InheritedListeners: Sendable {
    private var named: [(name: String, listener: Listener)] = []
    /// Where the process before this one waits to hear that this one serves.
    private let successor: Int32?

    /// The name of the variable that holds the descriptor of `tellReady()`.
    static let handoverName = "HANDOVER_FD"
    /// The first descriptor that is passed on: `SD_LISTEN_FDS_START`.
    static let firstDescriptor: Int32 = 3

    /// None.
    public init() {
        successor = nil
    }

    /// Takes over what the environment names, and clears it there, so that no child takes it over as well.
    ///
    /// Throws when one of the descriptors is no listening stream socket.
    public static func take() throws(SystemError) -> InheritedListeners {
        defer { for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", handoverName] { unsetenv(name) } }
        return try InheritedListeners { name in getenv(name).map { String(cString: $0) } }
    }

    init(from first: Int32 = firstDescriptor, environment: (String) -> String?) throws(SystemError) {
        successor = environment(Self.handoverName).flatMap { Int32($0) }.flatMap { $0 >= first ? $0 : nil }
        let isMeantForUs = successor != nil || environment("LISTEN_PID") == "\(getpid())"
        guard isMeantForUs, let count = environment("LISTEN_FDS").flatMap({ Int32($0) }), count > 0 else { return }
        let names = environment("LISTEN_FDNAMES")?.split(separator: ":", omittingEmptySubsequences: false) ?? []
        for place in 0..<min(count, 16) {
            let name = Int(place) < names.count ? String(names[Int(place)]) : ""
            named.append((name, try Listener(inheriting: first + place)))
        }
    }

    /// Takes the listener of that name out; where none has it, the first that has none of the names in use.
    public mutating func remove(_ name: String, among names: [String]) -> Listener? {
        let place =
            named.firstIndex { $0.name == name } ?? named.firstIndex { !names.contains($0.name) }
        return place.map { named.remove(at: $0).listener }
    }

    /// Tells the process before this one that this one serves, so that it can end.
    public func tellReady() {
        guard let successor else { return }
        let pipe = Descriptor(owning: successor)
        var word: UInt8 = 1
        // A socket that does not listen any more was closed already.
        _ = write(pipe.raw, &word, 1)
    }
}
