import CLinux
import Glibc

/// A name that could not be turned into addresses.
public struct ResolutionError: Error, Equatable, Sendable, CustomStringConvertible {
    public let host: String
    /// The text of `gai_strerror`, or the caller whose deadline has passed.
    public let reason: String

    public init(host: String, reason: String) {
        self.host = host
        self.reason = reason
    }

    public var description: String { "\(host): \(reason)" }
}

/// Turns names into addresses on a helper thread, because `getaddrinfo` blocks.
public enum Resolver {
    /// The addresses of a host in the order in which they should be tried (RFC 6724). Wraps `getaddrinfo`.
    ///
    /// A numeric address is taken as it is, at once. There is no deadline here: the caller has one.
    public static func resolve(host: String, port: UInt16) async throws(ResolutionError) -> [SocketAddress] {
        if let address = SocketAddress(numericHost: host, port: port) { return [address] }
        return try await BlockingThreads.shared.run { () throws(ResolutionError) in
            try lookUp(host: host, port: port)
        }
    }

    private static func lookUp(host: String, port: UInt16) throws(ResolutionError) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), &hints, &list)
        guard code == 0 else { throw ResolutionError(host: host, reason: String(cString: gai_strerror(code))) }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var next = list
        while let entry = next?.pointee {
            if let pointer = entry.ai_addr {
                var storage = sockaddr_storage()
                withUnsafeMutableBytes(of: &storage) {
                    $0.copyMemory(from: UnsafeRawBufferPointer(start: pointer, count: Int(entry.ai_addrlen)))
                }
                addresses.append(SocketAddress(storage: storage, length: entry.ai_addrlen))
            }
            next = entry.ai_next
        }
        return addresses
    }
}
