/// Calls of one kind that wait, first come, first served.
struct TurnLine: Sendable {
    private var places: [(id: UInt64, continuation: CheckedContinuation<Bool, Never>)] = []
    private var nextID: UInt64 = 0

    var count: Int { places.count }
    var isEmpty: Bool { places.isEmpty }

    mutating func join(_ continuation: CheckedContinuation<Bool, Never>) -> UInt64 {
        nextID += 1
        places.append((nextID, continuation))
        return nextID
    }

    mutating func removeFirst() -> CheckedContinuation<Bool, Never> { places.removeFirst().continuation }

    mutating func remove(_ id: UInt64) -> CheckedContinuation<Bool, Never>? {
        places.firstIndex { $0.id == id }.map { places.remove(at: $0).continuation }
    }
}
