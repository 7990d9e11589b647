import FoundationEssentials
import HTTP
import Synchronization

/// The bells of one loop, by the record whose change rings them. Touched on the loop's thread only.
final class Watchers {
    let turnstile = Turnstile()
    private let seat: Seat
    private var bells: [UUID: [Bell]] = [:]

    init(at seat: Seat) {
        self.seat = seat
    }

    func ring(_ record: UUID) {
        for bell in bells[record] ?? [] { bell.ring() }
    }

    func ringAll() {
        for record in bells.keys { ring(record) }
    }

    fileprivate func add(_ bell: Bell, for record: UUID) {
        bells[record, default: []].append(bell)
        seat.watching.wrappingAdd(1, ordering: .sequentiallyConsistent)
    }

    fileprivate func remove(_ bell: Bell, for record: UUID) {
        guard var left = bells.removeValue(forKey: record) else { return }
        if let index = left.firstIndex(where: { $0 === bell }) {
            left.swapAt(index, left.count - 1)
            left.removeLast()
            seat.watching.wrappingSubtract(1, ordering: .sequentiallyConsistent)
        }
        if !left.isEmpty { bells[record] = left }
    }
}

/// One watcher's place among the others. It ends when the watch is let go of, which happens on its loop's thread.
final class Watch {
    private let record: UUID
    private let bell: Bell
    private let watchers: Watchers

    init(of record: UUID, with bell: Bell, among watchers: Watchers) {
        self.record = record
        self.bell = bell
        self.watchers = watchers
        watchers.add(bell, for: record)
    }

    deinit {
        watchers.remove(bell, for: record)
    }
}
