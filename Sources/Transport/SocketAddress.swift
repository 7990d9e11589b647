import CLinux
import Glibc

/// Where a socket listens or connects to: an IPv4 or IPv6 address with a port.
public struct SocketAddress: Sendable, CustomStringConvertible {
    private var storage: sockaddr_storage
    private var length: socklen_t

    init(storage: sockaddr_storage, length: socklen_t) {
        self.storage = storage
        self.length = length
    }

    /// Reads `127.0.0.1:8080` or `[::1]:8080`; nothing when it is neither. Names are not resolved here.
    public init?(parsing text: String) {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        let digits = text[text.index(after: colon)...]
        // `UInt16` would take a sign.
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(digits) else { return nil }
        var host = text[..<colon]
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        if isBracketed { host = host.dropFirst().dropLast() }
        guard let address = SocketAddress(numericHost: String(host), port: port),
            isBracketed == (address.family == AF_INET6)
        else { return nil }
        self = address
    }

    /// Takes a numeric address, IPv4 or IPv6 without brackets. Wraps `inet_pton`.
    public init?(numericHost host: String, port: UInt16) {
        var storage = sockaddr_storage()
        var ipv4 = sockaddr_in()
        var ipv6 = sockaddr_in6()
        if inet_pton(AF_INET, host, &ipv4.sin_addr) == 1 {
            ipv4.sin_family = sa_family_t(AF_INET)
            ipv4.sin_port = port.bigEndian
            withUnsafeMutableBytes(of: &storage) { target in
                withUnsafeBytes(of: ipv4) { target.copyMemory(from: $0) }
            }
            self.init(storage: storage, length: socklen_t(MemoryLayout<sockaddr_in>.size))
        } else if inet_pton(AF_INET6, host, &ipv6.sin6_addr) == 1 {
            ipv6.sin6_family = sa_family_t(AF_INET6)
            ipv6.sin6_port = port.bigEndian
            withUnsafeMutableBytes(of: &storage) { target in
                withUnsafeBytes(of: ipv6) { target.copyMemory(from: $0) }
            }
            self.init(storage: storage, length: socklen_t(MemoryLayout<sockaddr_in6>.size))
        } else {
            return nil
        }
    }

    var family: Int32 { Int32(storage.ss_family) }

    /// The port, 0 for a family without one.
    public var port: UInt16 {
        withUnsafeBytes(of: storage) { bytes in
            switch family {
            case AF_INET: UInt16(bigEndian: bytes.loadUnaligned(as: sockaddr_in.self).sin_port)
            case AF_INET6: UInt16(bigEndian: bytes.loadUnaligned(as: sockaddr_in6.self).sin6_port)
            default: 0
            }
        }
    }

    /// The numeric address without its port. Wraps `inet_ntop`.
    public var host: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        withUnsafeBytes(of: storage) { bytes in
            switch family {
            case AF_INET:
                var address = bytes.loadUnaligned(as: sockaddr_in.self).sin_addr
                inet_ntop(AF_INET, &address, &text, socklen_t(text.count))
            case AF_INET6:
                var address = bytes.loadUnaligned(as: sockaddr_in6.self).sin6_addr
                inet_ntop(AF_INET6, &address, &text, socklen_t(text.count))
            default: break
            }
        }
        return text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
    }

    public var description: String { family == AF_INET6 ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// Lends the address as the system's calls want it.
    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }

    /// Has the system fill in an address, as `getsockname` does.
    static func filled(
        by call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> SocketAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let code = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, &length) }
        }
        return code == 0 ? SocketAddress(storage: storage, length: length) : nil
    }
}
