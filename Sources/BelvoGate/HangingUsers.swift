import Belvo
import Transport

/// The users whose calls hang, at one institution each: the last one that changes something, or the last one that does
/// not, was not answered in time. While others' calls are answered they share some of the places that calls about
/// payments have, and of those that other calls have: whatever hangs, be it several banks or single users' records,
/// holds most places for one time-out and not for longer.
///
/// One time-out says little of the next call. Users of whom it was the first share a quarter of the places; those of
/// whom it was another one in a row, or whose institution leaves most users' calls unanswered, share an eighth of their
/// own: so an innocent user's next call does not wait for theirs.
struct HangingUsers: Sendable {
    /// How long it is remembered of a user who calls no more, and for how long what was answered counts as now.
    static let memory = Duration.seconds(300)
    static let answeredLately = Duration.seconds(10)
    /// Users and institutions of whom it is remembered. Past it no more are noted.
    static let countMax = 4_096

    /// How the calls of a user hang.
    enum Kind: Sendable { case once, again }

    private struct Group: Sendable {
        var underWay = CallsUnderWay()
        var once = CallsUnderWay()
        var again = CallsUnderWay()
        var lastAnswered: Monotonic?
    }

    /// The calls of one user at one institution that were not answered in time, since one of their kind was.
    private struct Hang: Sendable {
        /// When the last one ended.
        var last: Monotonic
        var ofChanges = 0
        var ofReadings = 0

        var isOver: Bool { ofChanges == 0 && ofReadings == 0 }
    }

    private let onceMax: PerGroup<Int>
    private let againMax: PerGroup<Int>
    private var groups = PerGroup(all: Group())
    private var hangs: PerCaller<[UInt64: Hang]> = PerCaller(person: [:], background: [:], stranger: [:])

    init(callsMax: Int) {
        onceMax = PerGroup(callsMax: callsMax, part: 4)
        againMax = PerGroup(callsMax: callsMax, part: 8)
    }

    /// How this user's calls hang; nil where they do not.
    private func kind(
        _ caller: Caller, _ place: CallLines.Place, _ institutions: FailingInstitutions, at now: Monotonic
    ) -> Kind? {
        guard let hang = hangs[caller][place.userAtInstitution], now < hang.last + Self.memory else { return nil }
        func isAgain(_ count: Int, isChanging: Bool) -> Bool {
            count > 1 || count == 1 && institutions.contains(place.institution, isChanging: isChanging, at: now)
        }
        return isAgain(hang.ofChanges, isChanging: true) || isAgain(hang.ofReadings, isChanging: false) ? .again : .once
    }

    func allows(
        _ caller: Caller, _ place: CallLines.Place, _ institutions: FailingInstitutions, at now: Monotonic
    ) -> Bool {
        guard let kind = kind(caller, place, institutions, at: now) else { return true }
        let group = groups[caller, place]
        guard let last = group.lastAnswered, now < last + Self.answeredLately else { return true }
        return switch kind {
        case .once: group.once.all < onceMax[caller, place]
        case .again: group.again.all < againMax[caller, place]
        }
    }

    mutating func take(
        _ caller: Caller, _ place: CallLines.Place, _ institutions: FailingInstitutions, at now: Monotonic
    ) {
        guard place.party != 0, caller != .stranger else { return }
        let key = place.userAtInstitution
        groups[caller, place].underWay.take(key)
        switch kind(caller, place, institutions, at: now) {
        case nil: break
        case .once: groups[caller, place].once.take(key)
        case .again: groups[caller, place].again.take(key)
        }
    }

    mutating func finish(_ caller: Caller, _ place: CallLines.Place) {
        let key = place.userAtInstitution
        guard place.party != 0, caller != .stranger, groups[caller, place].underWay[key] > 0 else { return }
        groups[caller, place].underWay.finish(key)
        // Which of a user's calls has ended does not matter: as many count as are under way.
        let group = groups[caller, place]
        guard group.once[key] + group.again[key] > group.underWay[key] else { return }
        if group.again[key] > 0 {
            groups[caller, place].again.finish(key)
        } else {
            groups[caller, place].once.finish(key)
        }
    }

    /// Takes note of how a call ended that began then.
    mutating func note(
        _ outcome: CallOutcome.Kind, isChanging: Bool, _ caller: Caller, _ place: CallLines.Place,
        began: Monotonic, at now: Monotonic
    ) {
        guard place.party != 0, caller != .stranger else { return }
        let key = place.userAtInstitution
        let kind = isChanging ? \Hang.ofChanges : \Hang.ofReadings
        switch outcome {
        case .timedOut:
            let past = hangs[caller][key].flatMap { now < $0.last + Self.memory ? $0 : nil }
            var present = past ?? Hang(last: now)
            // What was under way at the same time hangs for the same reason.
            if past.map({ began >= $0.last }) ?? true || present[keyPath: kind] == 0 { present[keyPath: kind] += 1 }
            present.last = now
            remember(present, of: key, caller, at: now)
        case .answered, .refused:
            if var present = hangs[caller][key] {
                present[keyPath: kind] = 0
                remember(present, of: key, caller, at: now)
            }
            groups[caller, place].lastAnswered = now
        default: break
        }
    }

    private mutating func remember(_ present: Hang, of key: UInt64, _ caller: Caller, at now: Monotonic) {
        if hangs[caller][key] == nil, hangs[caller].count >= Self.countMax {
            hangs[caller] = hangs[caller].filter { now < $0.value.last + Self.memory }
            guard hangs[caller].count < Self.countMax else { return }
        }
        hangs[caller][key] = present.isOver ? nil : present
    }
}
