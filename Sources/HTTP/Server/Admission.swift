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
    }

    private let configuration: ServerConfiguration
    private let counts = Mutex(Counts())

    init(_ configuration: ServerConfiguration) {
        self.configuration = configuration
    }

    /// Counts a connection from this address, or says why there may be none.
    func admit(_ peer: IPAddress) -> MessageFault? {
        let isCounted = isCounted(peer)
        return counts.withLock { counts in
            guard counts.all < configuration.connectionsMax else { return Self.full }
            if isCounted {
                let present = counts.byAddress[peer.subscriber, default: 0]
                guard present < configuration.connectionsPerAddressMax else { return Self.fullForAddress }
                counts.byAddress[peer.subscriber] = present + 1
            }
            counts.all += 1
            return nil
        }
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

    static let full = MessageFault(.serviceUnavailable, "too many connections are open")
    private static let fullForAddress = MessageFault(
        .serviceUnavailable, "too many connections are open from this address")
}
