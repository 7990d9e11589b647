import FoundationEssentials
import Payments
import Synchronization

/// Makes the ids of new records: time-ordered, before the database or Belvo is asked.
package final class Identities: Sendable {
    private let generator = Mutex(UUIDv7Generator())
    private let now: @Sendable () -> Timestamp
    private let random: RandomSource

    /// - Parameter draw: gives 64 random bits.
    package init(
        now: @escaping @Sendable () -> Timestamp,
        draw: @escaping @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }
    ) {
        self.now = now
        random = RandomSource(draw: draw)
    }

    package func next() -> UUID {
        var random = random
        return generator.withLock { $0.next(at: now(), using: &random) }
    }

    private struct RandomSource: RandomNumberGenerator, Sendable {
        let draw: @Sendable () -> UInt64

        func next() -> UInt64 { draw() }
    }
}
