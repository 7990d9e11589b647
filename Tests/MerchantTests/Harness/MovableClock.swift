import Synchronization
import Transport

@testable import MerchantModel

/// A clock for intervals that goes on by itself, and that a test can put forward. Sleeping takes as long as ever.
final class MovableClock: Sendable {
    private let base: IntervalClock
    private let ahead = Mutex(Duration.zero)

    init(over base: IntervalClock) {
        self.base = base
    }

    /// The clock as a server takes it.
    var intervals: IntervalClock {
        IntervalClock(now: { self.base.now() + self.ahead.withLock { $0 } }, sleep: base.sleep)
    }

    func advance(by duration: Duration) {
        ahead.withLock { $0 += duration }
    }
}
