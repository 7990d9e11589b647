import MerchantModel
import Payments
import Synchronization

/// Notices that the database's clock has gone back, as after a failover to a host that is behind. Every wait that is
/// kept as a moment would last longer by as much.
package final class ClockWatch: Sendable {
    /// A clock may go back by so much unnoticed: longer than a statement takes, after which its time is read.
    static let toleratedMax = Duration.seconds(60)

    private let last = Mutex<DatabaseClock?>(nil)

    package init() {}

    /// Whether no clock has been noted yet.
    package var isNew: Bool { last.withLock { $0 == nil } }

    /// Takes the clock as it was just read. Gives by how much it has gone back since it was read before, where that is
    /// more than a minute; the first time, since `recorded`, the latest moment that the database holds.
    package func note(_ clock: DatabaseClock, recorded: Timestamp? = nil) -> Duration? {
        last.withLock { last -> Duration? in
            defer { last = clock }
            guard let before = last?.now ?? recorded else { return nil }
            let behind = before - clock.beginning
            return behind > Self.toleratedMax ? behind : nil
        }
    }
}
