import CLinux
import Glibc
import Synchronization

/// A listening TCP socket that any number of loops may accept from.
public final class Listener: Sendable {
    let descriptor: Descriptor
    /// Where it listens; the port is the real one also when 0 was asked for.
    public let address: SocketAddress
    /// Whether another process has the socket too, and may go on accepting when this one does not.
    private let isShared: Atomic<Bool>

    /// Connections that the kernel keeps ready before they are accepted; it may allow fewer (`somaxconn`).
    public static let backlog: Int32 = 4096

    /// Binds and listens. Wraps `socket`, `bind` and `listen`.
    public init(at address: SocketAddress) throws(SystemError) {
        let socket = Descriptor(owning: try retryingInterrupts("socket") { clinux_stream_socket(address.family) })
        let raw = socket.raw
        // A restarted server must be able to bind while old connections are in TIME_WAIT.
        var on: Int32 = 1
        _ = try retryingInterrupts("setsockopt") {
            setsockopt(raw, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        }
        _ = try retryingInterrupts("bind") { address.withPointer { bind(raw, $0, $1) } }
        _ = try retryingInterrupts("listen") { listen(raw, Self.backlog) }
        guard let bound = SocketAddress.filled(by: { getsockname(raw, $0, $1) }) else { throw .last("getsockname") }
        descriptor = socket
        self.address = bound
        isShared = Atomic(false)
        limitUnsentBytes()
    }

    /// The kernel's buffer for a connection's unsent answers, in bytes.
    ///
    /// Otherwise it takes megabytes for a client that reads nothing, of memory that all share.
    private static let unsentBytesMax: Int32 = 32_768

    /// Accepted connections inherit it. Wraps `setsockopt(TCP_NOTSENT_LOWAT)`.
    private func limitUnsentBytes() {
        var most = Self.unsentBytesMax
        // Without it slow readers cost more, and nothing else is different.
        _ = setsockopt(
            descriptor.raw, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, &most, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Takes over a socket that another program has bound, and set to listen.
    ///
    /// Throws when the descriptor is no listening stream socket. Wraps `getsockopt(SO_ACCEPTCONN)`.
    init(inheriting raw: Int32) throws(SystemError) {
        var listens: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        _ = try retryingInterrupts("getsockopt") { getsockopt(raw, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) }
        guard listens == 1 else { throw SystemError("getsockopt(SO_ACCEPTCONN)", code: ENOTSOCK) }
        descriptor = Descriptor(owning: raw)
        _ = try retryingInterrupts("fcntl") { clinux_set_nonblocking(raw) }
        guard let bound = SocketAddress.filled(by: { getsockname(raw, $0, $1) }) else { throw .last("getsockname") }
        address = bound
        isShared = Atomic(true)
    }

    /// Another process has the socket from now on.
    func share() { isShared.store(true, ordering: .relaxed) }

    /// Has the kernel ignore those who begin to connect from now on, so that there comes an end of those who have. They
    /// try again after a second, and are refused when the listener is closed by then.
    ///
    /// Closing resets those who have begun, and with them the requests that some have sent already. False where another
    /// process has the socket as well and accepts new connections. Wraps `setsockopt(SO_ATTACH_FILTER)`.
    public func ignoreNewcomers() -> Bool {
        // Where the kernel has no filters, it resets them.
        !isShared.load(ordering: .relaxed) && clinux_ignore_newcomers(descriptor.raw) == 0
    }

    /// Starts hearing of connections on a loop. With several loops each connection wakes only some of them.
    public func register(on loop: EventLoop, handler: any EventHandler) throws(SystemError) -> Registration {
        try loop.register(descriptor.raw, for: .readable, exclusive: true, handler: handler)
    }

    /// Takes the next waiting connection, or nothing when there is none. Wraps `accept4`.
    ///
    /// A connection that its peer has already given up is passed over.
    public func accept() throws(SystemError) -> (stream: ByteStream, peer: IPAddress)? {
        while true {
            var storage = sockaddr_storage()
            var length = socklen_t(0)
            let accepted = clinux_accept(descriptor.raw, &storage, &length)
            if accepted >= 0 {
                let peer = SocketAddress(storage: storage, length: length).ip
                return (ByteStream(owning: Descriptor(owning: accepted)), peer)
            }
            switch clinux_errno() {
            case EAGAIN: return nil
            case EINTR, ECONNABORTED, EPROTO: continue
            case let code: throw SystemError("accept4", code: code)
            }
        }
    }
}
