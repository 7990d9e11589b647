import HTTP
import MerchantModel
import Transport

/// The proxies whose word about a client's address is believed (`TRUSTED_PROXIES`).
///
/// What they say is read from `X-Forwarded-For` alone. `Forwarded` (RFC 7239) says the same in other words: a proxy
/// that writes one of the two passes the other on as the client sent it, so a client could tell a reader of both
/// anything.
package struct TrustedProxies: Sendable {
    private let networks: [IPNetwork]

    package init(_ networks: [IPNetwork]) {
        self.networks = networks
    }

    /// The address of the client that sent the request: the peer, unless that is a trusted proxy; then the last one
    /// before the trusted proxies that the request went through.
    ///
    /// Every proxy adds its own peer behind what it was sent, so the list is read from its end, and what stands before
    /// the first address that is no trusted proxy's may have been written by the client itself. Where something is no
    /// address, the answer is the proxy that passed it on.
    func client(of request: Request, from peer: IPAddress) -> IPAddress {
        guard !networks.isEmpty, isTrusted(peer) else { return peer }
        var client = peer
        for field in request.headers.values("x-forwarded-for").reversed() {
            for hop in field.split(separator: ",").reversed() {
                let text = hop.trimmingBlanks()
                // A list may hold empty elements, which say nothing (RFC 9110 §5.6.1.2).
                if text.isEmpty { continue }
                guard let address = IPAddress(hop: text) else { return client }
                client = address
                guard isTrusted(address) else { return client }
            }
        }
        return client
    }

    /// Whether connections from this address are a proxy's, and so many clients'.
    package func isTrusted(_ address: IPAddress) -> Bool {
        networks.contains { $0.contains(address) }
    }
}

extension IPAddress {
    /// Reads an address as proxies write it: alone, in brackets, or with a port behind it.
    fileprivate init?(hop: Substring) {
        // Nothing longer is an address with a port.
        guard hop.utf8.count <= 64 else { return nil }
        let text = String(hop)
        if let address = IPAddress(text) ?? SocketAddress(parsing: text)?.ip {
            self = address
            return
        }
        guard text.hasPrefix("["), text.hasSuffix("]"), text.contains(":"),
            let address = IPAddress(String(text.dropFirst().dropLast()))
        else { return nil }
        self = address
    }
}
