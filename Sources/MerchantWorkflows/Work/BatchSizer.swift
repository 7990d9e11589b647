import Synchronization

/// How many records a pass takes: as many as the last one had time for, and twice as many after one that had time for
/// all that it took.
final class BatchSizer: Sendable {
    private let max: Int
    private let min: Int
    private let current: Mutex<Int>

    var limit: Int { current.withLock { $0 } }

    init(max: Int, min: Int) {
        self.max = max
        self.min = min
        current = Mutex(max)
    }

    func note(begun: Int, left: Int) {
        current.withLock { $0 = left > 0 ? Swift.max(begun, min) : Swift.min($0 * 2, max) }
    }
}
