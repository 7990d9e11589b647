import FoundationEssentials
import HTTP
import Synchronization

/// The signals of one loop, by the record whose change wakes them. Touched on the loop's thread only.
final class Watchers {
    let readLimit = ConcurrencyLimit()
    private let count: LoopWatchCount
    private var signals: [UUID: [WakeSignal]] = [:]

    init(at count: LoopWatchCount) {
        self.count = count
    }

    func wake(_ record: UUID) {
        for signal in signals[record] ?? [] { signal.wake() }
    }

    func wakeAll() {
        for record in signals.keys { wake(record) }
    }

    fileprivate func add(_ signal: WakeSignal, for record: UUID) {
        signals[record, default: []].append(signal)
        count.watching.wrappingAdd(1, ordering: .sequentiallyConsistent)
    }

    fileprivate func remove(_ signal: WakeSignal, for record: UUID) {
        guard var left = signals.removeValue(forKey: record) else { return }
        if let index = left.firstIndex(where: { $0 === signal }) {
            left.swapAt(index, left.count - 1)
            left.removeLast()
            count.watching.wrappingSubtract(1, ordering: .sequentiallyConsistent)
        }
        if !left.isEmpty { signals[record] = left }
    }
}

/// One watcher's place among the others. It ends when the watch is released, which happens on its loop's thread.
package final class Watch {
    private let record: UUID
    private let signal: WakeSignal
    private let watchers: Watchers

    init(of record: UUID, with signal: WakeSignal, among watchers: Watchers) {
        self.record = record
        self.signal = signal
        self.watchers = watchers
        watchers.add(signal, for: record)
    }

    deinit {
        watchers.remove(signal, for: record)
    }
}
