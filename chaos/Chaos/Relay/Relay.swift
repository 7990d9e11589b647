import CLinux
import Glibc
import Transport

/// Stands between the server and a peer, and shows every message to a warden before and after it passes.
///
/// One thread for each connection, which blocks: a message that the warden holds up holds up nothing else.
public final class Relay: Sendable {
    /// Where it is reached, on 127.0.0.1.
    public let port: UInt16
    private let leg: Leg
    private let target: UInt16
    private let warden: any Warden
    private let listener: Int32
    private let isClosed = LockedBox(false)

    /// Listens on a free port, or on the one that is given, and passes on to another port of 127.0.0.1.
    public init(_ leg: Leg, to target: UInt16, at port: UInt16? = nil, watchedBy warden: any Warden) throws {
        self.leg = leg
        self.target = target
        self.warden = warden
        let chosen = try port ?? Port.free()
        self.port = chosen
        listener = try Socket.listening(at: chosen)
        try Self.thread { [self] in accept() }
    }

    /// Takes no more connections. Those that are open go on.
    public func close() {
        isClosed.value = true
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private func accept() {
        while !isClosed.value {
            let client = Socket.accepted(at: listener)
            if client < 0 {
                if errno == EINTR || errno == ECONNABORTED { continue }
                break
            }
            // Without a thread there is no relay; the caller gets the error.
            do { try Self.thread { [self] in carry(client) } } catch { Socket.reset(client) }
        }
        Glibc.close(listener)
    }

    private func carry(_ client: Int32) {
        guard let other = Socket.connected(to: target) else { return Socket.reset(client) }
        // The server stands behind the door, and before the two others.
        var exchange = Exchange(leg: leg)
        var block = [UInt8](repeating: 0, count: 65_536)
        while true {
            var waits = [
                pollfd(fd: client, events: Int16(POLLIN), revents: 0),
                pollfd(fd: other, events: Int16(POLLIN), revents: 0),
            ]
            if poll(&waits, 2, -1) < 0, errno == EINTR { continue }
            for (from, to, wait) in [(client, other, waits[0]), (other, client, waits[1])] where wait.revents != 0 {
                let count = read(from, &block, block.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else {
                    if count < 0 { Socket.reset(to) } else { Glibc.close(to) }
                    Glibc.close(from)
                    return
                }
                let crossing = exchange.crossing(of: block[..<count], isFromClient: from == client)
                guard warden.before(crossing) == .pass, Socket.write(block[..<count], to: to) else {
                    Socket.reset(client)
                    Socket.reset(other)
                    return
                }
                warden.after(crossing)
            }
        }
    }

    /// What one connection carries.
    private struct Exchange {
        let leg: Leg
        private var reader = StatementReader()
        private var question = ""

        init(leg: Leg) {
            self.leg = leg
        }

        mutating func crossing(of bytes: ArraySlice<UInt8>, isFromClient: Bool) -> Crossing {
            if leg == .database { return isFromClient ? reader.client(bytes) : reader.server(bytes) }
            if isFromClient { question = Self.question(of: bytes) ?? question }
            let kinds: (Crossing.Kind, Crossing.Kind) = leg == .door ? (.request, .answer) : (.call, .reply)
            return Crossing(kind: isFromClient ? kinds.0 : kinds.1, label: question)
        }

        /// The method and the path of a request line, with a star for each id; nil for bytes that begin otherwise.
        private static func question(of bytes: ArraySlice<UInt8>) -> String? {
            let line = bytes.prefix { $0 != UInt8(ascii: "\r") }
            let words = String(decoding: line, as: UTF8.self).split(separator: " ")
            guard words.count == 3, words[2].hasPrefix("HTTP/"), let path = words[1].split(separator: "?").first else {
                return nil
            }
            let parts = path.split(separator: "/").map { $0.utf8.count == 36 ? "*" : $0 }
            return "\(words[0]) /\(parts.joined(separator: "/"))"
        }
    }

    /// Runs the body on a thread of its own. Wraps `pthread_create`.
    private static func thread(_ body: @escaping @Sendable () -> Void) throws {
        final class Start: Sendable {
            let body: @Sendable () -> Void

            init(_ body: @escaping @Sendable () -> Void) {
                self.body = body
            }
        }
        let start = Unmanaged.passRetained(Start(body))
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { argument in
                // What was retained above.
                guard let argument else { return nil }
                Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body()
                return nil
            }, start.toOpaque())
        guard code == 0 else {
            start.release()
            throw SystemError("pthread_create", code: code)
        }
        pthread_detach(thread)
    }
}

/// TCP sockets of 127.0.0.1 that block.
private enum Socket {
    static func listening(at port: UInt16) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        guard with(port, { bind(descriptor, $0, $1) }) == 0, listen(descriptor, 512) == 0 else {
            let code = errno
            close(descriptor)
            throw SystemError("listen", code: code)
        }
        return descriptor
    }

    /// The next connection, for calls that block; under 0 with `errno` set.
    static func accepted(at listener: Int32) -> Int32 {
        var storage = sockaddr_storage()
        var length = socklen_t(0)
        let descriptor = clinux_accept(listener, &storage, &length)
        if descriptor >= 0 { _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK) }
        return descriptor
    }

    static func connected(to port: UInt16) -> Int32? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard with(port, { connect(descriptor, $0, $1) }) == 0 else {
            close(descriptor)
            return nil
        }
        var yes: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
        return descriptor
    }

    /// Ends a connection with a reset: who waits at the other end hears it at once.
    static func reset(_ descriptor: Int32) {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        close(descriptor)
    }

    static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    private static func with(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
