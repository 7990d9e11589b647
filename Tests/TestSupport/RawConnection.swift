import Glibc

/// A socket without any protocol on it, that blocks: for clients and servers that misbehave byte by byte.
public final class RawConnection: Sendable {
    public let descriptor: Int32

    /// How long a test waits on a socket before it gives up, in seconds.
    private static let timeoutSeconds = 20

    /// Connects to a port of 127.0.0.1, with a receive buffer of so many bytes if the client is to be a slow reader,
    /// and from another address of the loopback network, 127.0.0.`host`, if it is to be another client.
    public convenience init(port: UInt16, receiveBufferBytes: Int32? = nil, from host: UInt8? = nil) throws {
        self.init(owning: socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
        if var size = receiveBufferBytes {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        if let host {
            try check("bind", loopbackAddress(0, host: host) { bind(descriptor, $0, $1) })
        }
        try check("connect", loopbackAddress(port) { connect(descriptor, $0, $1) })
    }

    init(owning descriptor: Int32) {
        self.descriptor = descriptor
        var timeout = timeval(tv_sec: Self.timeoutSeconds, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit {
        close(descriptor)
    }

    public func send(_ text: String) throws {
        try send(Array(text.utf8))
    }

    public func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            try check("send", count)
            sent += count
        }
    }

    /// Reads the next bytes, at most so many; nothing at the end.
    public func receive(bytesMax: Int = 65_536) throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: bytesMax)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        try check("recv", count)
        return Array(buffer[..<count])
    }

    /// Reads up to and with the text. Throws when the peer ends before it.
    @discardableResult
    public func receive(through text: String) throws -> String {
        var received: [UInt8] = []
        let end = Array(text.utf8)
        while received.suffix(end.count) != end[...] {
            let next = try receive(bytesMax: 1)
            guard !next.isEmpty else { throw SocketFailure("the peer ended before \(text)") }
            received += next
        }
        return String(decoding: received, as: UTF8.self)
    }

    /// Everything until the peer ends.
    public func receiveToEnd() throws -> String {
        var received: [UInt8] = []
        while case let next = try receive(), !next.isEmpty { received += next }
        return String(decoding: received, as: UTF8.self)
    }

    /// Whether something to read, or the end, comes within the time.
    public func hasSomethingToRead(within time: Duration) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, Int32(time / .milliseconds(1))) > 0
    }

    /// Says that no more will be sent, and goes on reading.
    public func finishWriting() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Ends both directions, as closing does.
    public func hangUp() {
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Breaks the connection off with RST at once. It is of no use afterwards.
    public func reset() {
        var unspecified = sockaddr()
        unspecified.sa_family = sa_family_t(AF_UNSPEC)
        // Connecting to no address is what resets a connection without closing the descriptor.
        connect(descriptor, &unspecified, socklen_t(MemoryLayout<sockaddr>.size))
    }
}

/// A socket that did not do what a test needed, or a peer that did what it must not.
public struct SocketFailure: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) {
        self.description = description
    }
}

/// A port that tests accept from by hand.
public final class RawListener: Sendable {
    public let port: UInt16
    private let listener: RawConnection

    /// Listens on a free port of 127.0.0.1.
    public init() throws {
        listener = RawConnection(owning: socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
        let descriptor = listener.descriptor
        try check("bind", loopbackAddress(0) { bind(descriptor, $0, $1) })
        try check("listen", listen(descriptor, 128))
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        try check("getsockname", code)
        port = UInt16(bigEndian: address.sin_port)
    }

    /// Waits for the next connection.
    public func accept() throws -> RawConnection {
        let descriptor = Glibc.accept(listener.descriptor, nil, nil)
        try check("accept", descriptor)
        return RawConnection(owning: descriptor)
    }
}

private func loopbackAddress<Result>(
    _ port: UInt16, host: UInt8 = 1, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
) -> Result {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.\(host)")
    return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
}

private func check(_ call: String, _ result: some SignedInteger) throws {
    if result < 0 { throw SocketFailure("\(call): \(String(cString: strerror(errno)))") }
}
