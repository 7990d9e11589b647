import Transport

/// Tasks of one loop that wait for something, first come, first served, each until its own deadline.
final class WaitingLine<Value: Sendable> {
    private let loop: EventLoop
    private var places: [Place] = []

    private final class Place {
        var continuation: CheckedContinuation<Value?, Never>?
        var timer: LoopTimer?

        func leave(with value: Value?) {
            timer?.cancel()
            continuation?.resume(returning: value)
            continuation = nil
        }
    }

    init(on loop: EventLoop) {
        self.loop = loop
    }

    /// Waits for a value; gives nothing when the deadline passes first.
    func wait(until deadline: Monotonic) async -> Value? {
        await withCheckedContinuation { continuation in
            let place = Place()
            place.continuation = continuation
            place.timer = loop.schedule(after: deadline - Monotonic.now()) { [self] in
                places.removeAll { $0 === place }
                place.leave(with: nil)
            }
            places.append(place)
        }
    }

    /// Hands the value to the first in line; false when there is nobody.
    func hand(_ value: Value) -> Bool {
        guard !places.isEmpty else { return false }
        places.removeFirst().leave(with: value)
        return true
    }

    /// Hands the value to everybody in line.
    func handToAll(_ value: Value) {
        let everybody = places
        places.removeAll()
        for place in everybody { place.leave(with: value) }
    }
}
