import CLinux
import Glibc

/// The outcome of one attempt to read or write.
public enum Transfer: Equatable, Sendable {
    /// So many bytes were moved, at least one.
    case moved(Int)
    /// Nothing could be done now; try again when the descriptor is ready for this.
    case blocked(Interest)
    /// The peer has finished sending: there will be no more bytes.
    case ended
}

/// A connection that broke, or was refused for its certificate.
public enum StreamError: Error, Equatable, Sendable, CustomStringConvertible {
    case system(SystemError)
    /// TLS went wrong; the text is OpenSSL's own and holds nothing of what was sent.
    case tls(String)

    public var description: String {
        switch self {
        case .system(let error): error.description
        case .tls(let reason): "TLS: \(reason)"
        }
    }
}

/// A TCP connection, plain or inside TLS, that never blocks.
///
/// Wraps `connect`, `recv`, `send` and `shutdown`, or OpenSSL's calls of the same meaning. Each method tries once
/// and says what it would have to wait for; the waiting is the caller's, on its event loop.
public final class ByteStream {
    private let descriptor: Descriptor
    private var tls: TLSSession?

    /// Takes over a connected, non-blocking socket.
    init(owning descriptor: consuming Descriptor) {
        self.descriptor = descriptor
        disableNagle()
    }

    deinit {
        // Without `close_notify` the peer cannot tell an end from a cut, and OpenSSL would not resume the session.
        tls?.finishWriting()
    }

    /// The descriptor to register with a loop. It is closed with the stream.
    public var rawDescriptor: Int32 { descriptor.raw }

    /// Starts to connect. The stream becomes writable when that has succeeded or failed; see `finishConnecting()`.
    public static func connecting(to address: SocketAddress) throws(SystemError) -> ByteStream {
        let socket = Descriptor(owning: try retryingInterrupts("socket") { clinux_stream_socket(address.family) })
        let code = address.withPointer { connect(socket.raw, $0, $1) }
        // An interrupted connect goes on by itself, like one in progress.
        if code != 0, clinux_errno() != EINPROGRESS, clinux_errno() != EINTR { throw .last("connect") }
        return ByteStream(owning: socket)
    }

    /// Says whether the connection that was begun now stands.
    public func finishConnecting() throws(SystemError) {
        var code: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        let raw = descriptor.raw
        _ = try retryingInterrupts("getsockopt") { getsockopt(raw, SOL_SOCKET, SO_ERROR, &code, &length) }
        guard code == 0 else { throw SystemError("connect", code: code) }
    }

    /// Puts TLS between the stream and its user. Nothing is sent before `handshake()`.
    public func startTLS(_ session: TLSSession) throws(StreamError) {
        try session.attach(to: descriptor.raw)
        tls = session
    }

    /// Goes on with the TLS handshake; `moved` when it is done. Without TLS it is done at once.
    public func handshake() throws(StreamError) -> Transfer {
        guard let tls else { return .moved(0) }
        return try tls.handshake()
    }

    /// Reads what is there into the buffer, which must have room for a TLS record: 16 KiB.
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws(StreamError) -> Transfer {
        if let tls { return try tls.read(into: buffer) }
        while true {
            let count = recv(descriptor.raw, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return .moved(count) }
            if count == 0 { return .ended }
            switch clinux_errno() {
            case EAGAIN: return .blocked(.readable)
            case EINTR: continue
            default: throw .system(.last("recv"))
            }
        }
    }

    /// Writes as much of the buffer as goes now; the buffer must not be empty.
    public func write(_ buffer: UnsafeRawBufferPointer) throws(StreamError) -> Transfer {
        if let tls { return try tls.write(buffer) }
        while true {
            let count = send(descriptor.raw, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
            if count >= 0 { return .moved(count) }
            switch clinux_errno() {
            case EAGAIN: return .blocked(.writable)
            case EINTR: continue
            default: throw .system(.last("send"))
            }
        }
    }

    /// Tells the peer that nothing more will be sent. Reading goes on. Wraps `SSL_shutdown` and `shutdown`.
    public func finishWriting() {
        tls?.finishWriting()
        // A connection that is already gone needs no farewell.
        _ = shutdown(descriptor.raw, Int32(SHUT_WR))
    }

    /// Makes closing drop what the peer has not taken yet, and reset the connection. Wraps `setsockopt(SO_LINGER)`.
    ///
    /// Otherwise the kernel keeps it for as long as the peer says that it will take it, one byte at a time if need be.
    public func abandonUnsent() {
        var atOnce = linger(l_onoff: 1, l_linger: 0)
        // A socket without the option keeps the bytes, as it would have done anyway.
        _ = setsockopt(descriptor.raw, SOL_SOCKET, SO_LINGER, &atOnce, socklen_t(MemoryLayout<linger>.size))
    }

    /// The TLS session, with which the next connection to the server skips most of the handshake; nothing without TLS.
    public var tlsTicket: TLSTicket? { tls?.ticket }

    /// Answers are sent whole, so waiting for more of them (Nagle) only delays. Wraps `setsockopt(TCP_NODELAY)`.
    private func disableNagle() {
        var on: Int32 = 1
        // A socket without the option still works, only more slowly.
        _ = setsockopt(descriptor.raw, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    }
}
