import Belvo
import Transport

/// The users whose calls hang, at one institution each: the last one that changes something, or the last one that does
/// not, was not answered in time. While others' calls are answered they share a quarter of the places that calls about
/// payments have, and of those that other calls have: whatever hangs, be it several banks or single users' records,
/// holds most places for one time-out and not for longer.
struct HangingUsers: Sendable {
    /// How long it is remembered of a user who calls no more, and for how long what was answered counts as now.
    static let memory = Duration.seconds(300)
    static let answeredLately = Duration.seconds(10)
    /// Users and institutions of whom it is remembered. Past it no more are noted.
    static let countMax = 4_096

    private struct Group: Sendable {
        var underWay = CallsUnderWay()
        /// Calls of such users among them.
        var hanging = 0
        var lastAnswered: Monotonic?
    }

    /// The calls of one user at one institution that were not answered in time, since one of their kind was.
    private struct Hang: Sendable {
        var last: Monotonic
        var ofChanges = false
        var ofReadings = false

        var isOver: Bool { !ofChanges && !ofReadings }
    }

    private let max: PerGroup<Int>
    private var groups = PerGroup(all: Group())
    private var hangs: PerCaller<[UInt64: Hang]> = PerCaller(person: [:], background: [:], stranger: [:])

    init(callsMax: Int) { max = PerGroup(callsMax: callsMax, part: 4) }

    func allows(_ caller: Caller, _ place: CallLines.Place, at now: Monotonic) -> Bool {
        guard let hang = hangs[caller][place.userAtInstitution], now < hang.last + Self.memory else { return true }
        let group = groups[caller, place]
        guard let last = group.lastAnswered, now < last + Self.answeredLately else { return true }
        return group.hanging < max[caller, place]
    }

    mutating func take(_ caller: Caller, _ place: CallLines.Place) {
        guard place.party != 0, caller != .stranger else { return }
        let key = place.userAtInstitution
        groups[caller, place].underWay.take(key)
        if hangs[caller][key] != nil { groups[caller, place].hanging += 1 }
    }

    mutating func finish(_ caller: Caller, _ place: CallLines.Place) {
        let key = place.userAtInstitution
        guard place.party != 0, caller != .stranger, groups[caller, place].underWay[key] > 0 else { return }
        groups[caller, place].underWay.finish(key)
        if hangs[caller][key] != nil { groups[caller, place].hanging -= 1 }
    }

    /// Takes note of how a call ended.
    mutating func note(
        _ outcome: CallOutcome.Kind, isChanging: Bool, _ caller: Caller, _ place: CallLines.Place, at now: Monotonic
    ) {
        guard place.party != 0, caller != .stranger else { return }
        let key = place.userAtInstitution
        let kind = isChanging ? \Hang.ofChanges : \Hang.ofReadings
        switch outcome {
        case .timedOut:
            var present = hangs[caller][key] ?? Hang(last: now)
            present.last = now
            present[keyPath: kind] = true
            remember(present, of: key, caller, at: now)
        case .answered, .refused:
            if var present = hangs[caller][key] {
                present[keyPath: kind] = false
                remember(present, of: key, caller, at: now)
            }
            groups[caller, place].lastAnswered = now
        default: break
        }
    }

    private mutating func remember(_ present: Hang, of key: UInt64, _ caller: Caller, at now: Monotonic) {
        if hangs[caller][key] == nil, hangs[caller].count >= Self.countMax {
            for (key, past) in hangs[caller] where now >= past.last + Self.memory { change(key, caller, to: nil) }
            guard hangs[caller].count < Self.countMax else { return }
        }
        change(key, caller, to: present.isOver ? nil : present)
    }

    private mutating func change(_ key: UInt64, _ caller: Caller, to present: Hang?) {
        let wasHanging = hangs[caller][key] != nil
        hangs[caller][key] = present
        guard wasHanging != (present != nil) else { return }
        groups.update(of: caller) { $0.hanging += wasHanging ? -$0.underWay[key] : $0.underWay[key] }
    }
}
