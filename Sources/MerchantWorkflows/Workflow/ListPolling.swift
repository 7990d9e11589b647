import FoundationEssentials
import Synchronization
import Transport

/// How Belvo's lists are used to poll payments.
package struct ListPolling: Sendable {
    /// From how many due payments on a list is asked: fewer are read one by one.
    package var countMin = 8
    /// Payments read by themselves beside each list, one after the other in turn, though the list shows them as they
    /// are known: a list that lags is noticed by them.
    var samples = 2
    /// As many readings a second as Belvo allows: whether a list that took long spared any time.
    var readingsPerSecond = 50
    /// For how long no list is asked after one that was wrong, or did not show what it was asked for.
    var mistrust = Duration.seconds(60)

    /// `rate` is the number of calls a second that Belvo allows; 0 where no bound is set.
    package init(rate: Int = 0) {
        if rate > 0 { readingsPerSecond = rate }
    }

    /// Whether reading so many payments one by one takes less time than the list did.
    func isSlow(_ elapsed: Duration, count: Int) -> Bool { elapsed > .seconds(count) / readingsPerSecond }
}

/// The knowledge of one process about Belvo's lists.
final class ListMemory: Sendable {
    private struct State {
        var mistrustedUntil: Monotonic?
        var wasUsed = false
        /// The payment that was last read beside a list.
        var sampled: UUID?
    }

    private let state = Mutex(State())

    /// Whether the last pass asked for a list.
    var wasUsed: Bool {
        get { state.withLock { $0.wasUsed } }
        set { state.withLock { $0.wasUsed = newValue } }
    }

    func isTrusted(at now: Monotonic) -> Bool {
        state.withLock { state in state.mistrustedUntil.map { $0 <= now } ?? true }
    }

    func mistrust(until moment: Monotonic) {
        state.withLock {
            $0.mistrustedUntil = moment
            $0.wasUsed = false
        }
    }

    /// Those whose turn it is: the next ones by id, from the beginning again after the last.
    func next(_ count: Int, of ids: [UUID]) -> [UUID] {
        state.withLock { state in
            let ordered = ids.sorted()
            let later = ordered.drop { id in state.sampled.map { id <= $0 } ?? false }
            let chosen = Array((later + ordered.prefix(ordered.count - later.count)).prefix(count))
            if let last = chosen.last { state.sampled = last }
            return chosen
        }
    }
}
