import Transport

/// Calls that have left, in their order. One that Belvo has not answered for a while is late, and its place is
/// another call's: what hangs holds no places until it times out, up to a limit of such calls.
struct Departures<Turn: Sendable>: Sendable {
    /// How long a call has a place: most are answered well before.
    static var placeTime: Duration { .seconds(2) }

    private struct Departure: Sendable {
        let turn: Turn
        let time: Monotonic
    }

    private let lateMax: Int
    /// The calls that have their places, by numbers in the order in which they left.
    private var placed: [UInt64: Departure] = [:]
    /// Late calls.
    private(set) var late = 0
    /// No call that has a place has a lower number.
    private var first: UInt64 = 0
    private var next: UInt64 = 0

    /// - Parameter lateMax: late calls at a time, past which a call keeps its place until it ends.
    init(lateMax: Int) { self.lateMax = lateMax }

    /// A call leaves; its number comes back.
    mutating func add(_ turn: Turn, at now: Monotonic) -> UInt64 {
        defer { next += 1 }
        placed[next] = Departure(turn: turn, time: now)
        return next
    }

    /// A call has ended: whether it had its place until now.
    mutating func remove(_ number: UInt64) -> Bool {
        if placed.removeValue(forKey: number) != nil { return true }
        late -= 1
        return false
    }

    /// The call that has become late longest ago, and has no place any more from now on; nil where there is none.
    mutating func takeLate(at now: Monotonic) -> Turn? {
        guard late < lateMax, let departure = firstPlaced(), now - departure.time >= Self.placeTime else {
            return nil
        }
        placed[first] = nil
        late += 1
        return departure.turn
    }

    /// How long until the next call is late, at the earliest; nil where as many are as may be.
    mutating func delay(at now: Monotonic) -> Duration? {
        guard late < lateMax else { return nil }
        // One that has its turn may be about to leave.
        guard let departure = firstPlaced() else { return Self.placeTime }
        return max(.zero, Self.placeTime - (now - departure.time))
    }

    private mutating func firstPlaced() -> Departure? {
        while first < next {
            if let departure = placed[first] { return departure }
            first += 1
        }
        return nil
    }
}
