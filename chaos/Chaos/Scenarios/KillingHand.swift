/// Kills the server at a chosen message: before it is passed on, or after.
final class KillingHand: Warden {
    let victim = LockedBox<Instance?>(nil)
    private let state = LockedBox(State())

    private struct State: Sendable {
        var aim: Aim?
        var hasStruck = false
        var deeds: [Place] = []
        /// What passes while the hand listens.
        var heard: [Crossing]?
    }

    private enum Aim: Sendable {
        case place(Place)
        /// Steps until the blow.
        case steps(Int)
    }

    /// A message, and the side of the border.
    struct Place: Sendable, Hashable {
        let crossing: Crossing
        let isBefore: Bool

        init(_ crossing: Crossing, isBefore: Bool) {
            self.crossing = crossing
            self.isBefore = isBefore
        }
    }

    /// Strikes at the next message of that kind.
    func aim(at place: Place) { set(.place(place)) }

    /// Strikes at the n-th border from now on, whatever crosses it.
    func count(to step: Int) { set(.steps(step)) }

    private func set(_ aim: Aim) {
        state.update {
            $0.aim = aim
            $0.hasStruck = false
        }
    }

    func disarm() { state.update { $0.aim = nil } }

    func listen() { state.update { $0.heard = [] } }

    /// What has passed since `listen()`, each once.
    func heard() -> [Crossing] {
        let heard = state.update { state in
            defer { state.heard = nil }
            return state.heard ?? []
        }
        var seen: Set<Crossing> = []
        return heard.filter { seen.insert($0).inserted }
    }

    var hasStruck: Bool { state.value.hasStruck }
    var deeds: [Place] { state.value.deeds }

    func before(_ crossing: Crossing) -> RelayDecision {
        state.update { $0.heard?.append(crossing) }
        return step(Place(crossing, isBefore: true)) ? .cut : .pass
    }

    func after(_ crossing: Crossing) { _ = step(Place(crossing, isBefore: false)) }

    private func step(_ place: Place) -> Bool {
        let strikes = state.update { state in
            switch state.aim {
            case .place(place), .steps(1): state.aim = nil
            case .steps(let left):
                state.aim = .steps(left - 1)
                return false
            case .place, nil: return false
            }
            state.deeds.append(place)
            return true
        }
        guard strikes else { return false }
        victim.value?.kill()
        state.update { $0.hasStruck = true }
        return true
    }

    /// How often before and after which kind of message.
    var summary: String {
        let deeds = deeds
        return Crossing.Kind.allCases.compactMap { kind in
            let before = deeds.count { $0.crossing.kind == kind && $0.isBefore }
            let after = deeds.count { $0.crossing.kind == kind && !$0.isBefore }
            return before + after > 0 ? "\(before) before and \(after) after \(kind.rawValue)" : nil
        }.joined(separator: ", ")
    }

    /// On which sides of a message no kill has fallen.
    func missed(_ crossing: Crossing) -> [String] {
        let deeds = Set(deeds)
        return [true, false].filter { !deeds.contains(Place(crossing, isBefore: $0)) }.map { isBefore in
            "\(isBefore ? "before" : "after") \(crossing.kind.rawValue), \(crossing.label)"
        }
    }
}

extension KillingHand.Place: CustomStringConvertible {
    var description: String { "\(isBefore ? "before" : "after") \(crossing.kind.rawValue) \(crossing.label)" }
}
