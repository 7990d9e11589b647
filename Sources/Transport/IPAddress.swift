import CLinux
import Glibc

/// A peer's address without its port, kept small because every connection holds one.
public enum IPAddress: Hashable, Sendable, CustomStringConvertible {
    /// The four bytes, first one highest.
    case v4(UInt32)
    /// The sixteen bytes, first one highest.
    case v6(UInt64, UInt64)

    /// Reads the numeric form of either family; an IPv6 address that maps an IPv4 one becomes that one
    /// (RFC 4291 §2.5.5.2). Wraps `inet_pton`.
    public init?(_ text: String) {
        guard let address = SocketAddress(numericHost: text, port: 0) else { return nil }
        self = address.ip
    }

    /// The key for the holder of the address: a subscriber has a whole IPv6 network of 64 bits or more (RFC 6177
    /// §2) and can send from any address in it.
    public var subscriber: IPAddress {
        if case .v6(let high, _) = self { .v6(high, 0) } else { self }
    }

    public var description: String {
        switch self {
        case .v4(let bits):
            (0..<4).map { String(bits >> (24 - 8 * $0) & 0xFF) }.joined(separator: ".")
        case .v6(let high, let low):
            SocketAddress(ipv6: (high, low), port: 0).host
        }
    }
}

extension SocketAddress {
    /// The address alone; that of an unknown family is 0.0.0.0.
    public var ip: IPAddress {
        withPointer { pointer, length in
            let bytes = UnsafeRawBufferPointer(start: pointer, count: Int(length))
            switch Int32(pointer.pointee.sa_family) {
            case AF_INET:
                return .v4(UInt32(bigEndian: bytes.loadUnaligned(as: sockaddr_in.self).sin_addr.s_addr))
            case AF_INET6:
                let address = bytes.loadUnaligned(as: sockaddr_in6.self).sin6_addr
                return withUnsafeBytes(of: address) { parts in
                    let high = UInt64(bigEndian: parts.loadUnaligned(fromByteOffset: 0, as: UInt64.self))
                    let low = UInt64(bigEndian: parts.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
                    let isMapped = high == 0 && low >> 32 == 0xFFFF
                    return isMapped ? .v4(UInt32(truncatingIfNeeded: low)) : .v6(high, low)
                }
            default:
                return .v4(0)
            }
        }
    }

    init(ipv6 parts: (high: UInt64, low: UInt64), port: UInt16) {
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = port.bigEndian
        withUnsafeMutableBytes(of: &address.sin6_addr) { bytes in
            bytes.storeBytes(of: parts.high.bigEndian, toByteOffset: 0, as: UInt64.self)
            bytes.storeBytes(of: parts.low.bigEndian, toByteOffset: 8, as: UInt64.self)
        }
        var storage = sockaddr_storage()
        withUnsafeMutableBytes(of: &storage) { target in
            withUnsafeBytes(of: address) { target.copyMemory(from: $0) }
        }
        self.init(storage: storage, length: socklen_t(MemoryLayout<sockaddr_in6>.size))
    }
}
