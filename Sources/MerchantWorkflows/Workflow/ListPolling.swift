import FoundationEssentials
import MerchantModel
import Payments
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
    /// For how long no list is asked after one that was wrong, or did not show what it was asked for. After one that
    /// could not be read it is the most.
    var mistrust = Duration.seconds(60)

    /// `rate` is the number of calls a second that Belvo allows; 0 where no bound is set.
    package init(rate: Int = 0) {
        if rate > 0 { readingsPerSecond = rate }
    }

    /// How long a list of so many may take. Nothing else of payments is polled meanwhile: of few, no longer than a
    /// decision may take to be seen; of thousands, half as long as reading them one by one, and at most 20 s.
    func timeMax(count: Int, interval: Duration) -> Duration {
        max(interval * 2, min(.seconds(count) / readingsPerSecond / 2, .seconds(20)))
    }

    /// Why lists are given up for a while, after one that was asked for so many due payments and has told of so many.
    ///
    /// A list that its time has cut off still spares the readings of what it showed, if it was faster than they are.
    func fault(due: Int, told: Int, elapsed: Duration, timeMax: Duration) -> ListFault? {
        if elapsed >= timeMax { return elapsed > .seconds(told) / readingsPerSecond ? .slow : nil }
        return told * 2 < due ? .incomplete : nil
    }
}

/// Why a list spared nothing; the raw value is the line of the log.
enum ListFault: String {
    case slow = "payments.list_slow"
    case incomplete = "payments.list_incomplete"
}

/// The knowledge of one process about Belvo's lists.
final class ListMemory: Sendable {
    private struct State {
        var mistrustedUntil: Monotonic?
        var wasUsed = false
        /// The number of lists in a row that could not be read.
        var unreadable = 0
        var isUnderWay = false
        var isSampling = false
        /// The payment that was last read beside a list.
        var sampled: UUID?
        /// Intents that were read as decided beside a list that showed them undecided, until a later list shows them.
        var decided: [UUID: Decided] = [:]
        /// Intents that a list has shown with money, and when; until a reading has shown it as well.
        var paid: [UUID: Monotonic] = [:]
    }

    private let state = Mutex(State())

    /// False while a list is being asked for. It may take seconds, and show what other passes would read one by one.
    func beginList() -> Bool {
        state.withLock { state in
            defer { state.isUnderWay = true }
            return !state.isUnderWay
        }
    }

    func endList() { state.withLock { $0.isUnderWay = false } }

    /// False while those beside an earlier list are still being read.
    func beginSamples() -> Bool {
        state.withLock { state in
            defer { state.isSampling = true }
            return !state.isSampling
        }
    }

    func endSamples() { state.withLock { $0.isSampling = false } }

    /// An intent that was read as decided: when, and when it was made.
    private struct Decided {
        let readAt: Monotonic
        let createdAt: Timestamp
    }

    private static let decidedMemory = Duration.seconds(60)

    /// An intent was read as decided that a list had shown undecided: it may have been decided in between. If a later
    /// list shows it undecided, lists lag.
    func noteDecided(_ intent: UUID, created createdAt: Timestamp, at now: Monotonic) {
        state.withLock { state in
            state.decided = state.decided.filter { now < $0.value.readAt + Self.decidedMemory }
            state.decided[intent] = Decided(readAt: now, createdAt: createdAt)
        }
    }

    /// When the earliest of these was made, so that the next list shows them.
    var decidedBegin: Timestamp? { state.withLock { $0.decided.values.map(\.createdAt).min() } }

    /// Takes note of what a list shows that was asked for at that moment; gives an intent that it shows undecided and
    /// that had been read as decided.
    func noteShown(_ intents: [(id: UUID, isDecided: Bool)], asked moment: Monotonic) -> UUID? {
        state.withLock { state in
            guard !state.decided.isEmpty else { return nil }
            var late: UUID?
            for intent in intents {
                guard let known = state.decided[intent.id], known.readAt <= moment else { continue }
                if !intent.isDecided { late = intent.id }
                state.decided[intent.id] = nil
            }
            return late
        }
    }

    /// For how long money that a list has shown is remembered.
    private static let paidMemory = Duration.seconds(20)

    func notePaid(_ intents: [UUID], at now: Monotonic) {
        state.withLock { state in for intent in intents { state.paid[intent] = now } }
    }

    /// Whether a list has shown money of the intent that no reading of its own has shown since.
    func hasShownMoney(of intent: UUID, at now: Monotonic) -> Bool {
        state.withLock { $0.paid[intent].map { now - $0 < Self.paidMemory } ?? false }
    }

    func forgetMoney(of intent: UUID) { state.withLock { $0.paid[intent] = nil } }

    /// The intents of which a list has shown money that no reading of their own has shown since.
    func paidIntents(at now: Monotonic) -> [UUID] {
        state.withLock { state in
            if !state.paid.isEmpty { state.paid = state.paid.filter { now - $0.value < Self.paidMemory } }
            return Array(state.paid.keys)
        }
    }

    /// Whether the last pass asked for a list.
    var wasUsed: Bool {
        get { state.withLock { $0.wasUsed } }
        set { state.withLock { $0.wasUsed = newValue } }
    }

    func isTrusted(at now: Monotonic) -> Bool {
        state.withLock { state in state.mistrustedUntil.map { $0 <= now } ?? true }
    }

    /// A list could not be read: for a moment none is asked, and ever longer after each further one. Belvo may be away,
    /// and when it is back lists spare most readings.
    func noteUnreadable(at now: Monotonic, pauseMin: Duration, pauseMax: Duration) {
        let pause = state.withLock { state in
            defer { state.unreadable += 1 }
            return min(pauseMin * (1 << min(state.unreadable, 16)), pauseMax)
        }
        mistrust(until: now + pause)
    }

    func noteReadable() { state.withLock { $0.unreadable = 0 } }

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
