import Synchronization
import Transport

/// Counts connections, in all and from each address, and decides whether there may be another one.
///
/// All loops share it. It is asked when a connection opens and told when one closes, never for a request.
final class Admission: Sendable {
    private struct Counts {
        var all = 0
        /// The connections of counted addresses, by the key of their subscribers.
        var byAddress: [IPAddress: Int32] = [:]
        /// The TLS handshakes of counted addresses lately.
        var handshakes: TokenBuckets
    }

    /// Seconds' handshakes that may come at once.
    private static let handshakeBurst: Int64 = 5
    /// Addresses whose handshakes are counted at a time.
    private static let countedMax = 65_536

    private let configuration: ServerConfiguration
    private let isSecure: Bool
    private let counts: Mutex<Counts>

    /// - Parameter isSecure: whether each connection begins with a TLS handshake.
    init(_ configuration: ServerConfiguration, isSecure: Bool) {
        self.configuration = configuration
        self.isSecure = isSecure
        let rate = Int64(max(1, configuration.handshakeRatePerAddress))
        let handshakes = TokenBuckets(
            interval: 1_000_000_000 / rate, window: Self.handshakeBurst * 1_000_000_000, countMax: Self.countedMax)
        counts = Mutex(Counts(handshakes: handshakes))
    }

    /// Counts a connection from this address, or says why there may be none.
    func admit(_ peer: IPAddress) -> MessageFault? {
        let isCounted = isCounted(peer)
        return counts.withLock { counts in
            guard counts.all < configuration.connectionsMax else { return Self.full }
            let present = isCounted ? counts.byAddress[peer.subscriber, default: 0] : 0
            guard !isCounted || present < configuration.connectionsPerAddressMax else { return Self.fullForAddress }
            if isCounted {
                counts.byAddress[peer.subscriber] = present + 1
            }
            counts.all += 1
            return nil
        }
    }

    /// Counts a handshake that a client at this address begins; false where there were too many lately.
    ///
    /// One that only connects, as a balancer does to see whether there is a server, costs next to nothing and does not
    /// count.
    func admitHandshake(of peer: IPAddress, at now: Monotonic) -> Bool {
        guard isSecure, configuration.handshakeRatePerAddress > 0, !configuration.isProxy(peer) else { return true }
        return counts.withLock { $0.handshakes.take(Self.key(of: peer), at: now.nanoseconds) == nil }
    }

    /// A connection that was admitted is closed.
    func release(_ peer: IPAddress) {
        let isCounted = isCounted(peer)
        counts.withLock { counts in
            counts.all -= 1
            guard isCounted, let present = counts.byAddress[peer.subscriber] else { return }
            counts.byAddress[peer.subscriber] = present > 1 ? present - 1 : nil
        }
    }

    private func isCounted(_ peer: IPAddress) -> Bool {
        configuration.connectionsPerAddressMax > 0 && !configuration.isProxy(peer)
    }

    /// Seeded anew in every process: no client can choose whom to share a number with.
    private static func key(of peer: IPAddress) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(peer.subscriber)
        return UInt64(truncatingIfNeeded: Int64(hasher.finalize()))
    }

    static let full = MessageFault(.serviceUnavailable, "too many connections are open")
    static let fullForAddress = MessageFault(
        .serviceUnavailable, "too many connections are open from this address")
}
