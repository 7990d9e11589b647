import Belvo
import Transport

/// How often the calls of each user have failed in a row, at one institution each, and how many rounds of the others'
/// turns their next call waits for that.
///
/// One call that fails says nothing of the next one, and those of an outage of seconds say little. From the second in a
/// row on each doubles the wait, up to 16 turns of every other user; where most users' calls fail at the institution,
/// it is as long from the first on. So what hundreds of users' apps repeat while their bank is ill, and what workers
/// look up for them, keeps no other's result waiting; a user whose calls failed for seconds goes before them, and one
/// whose calls are answered is put off nowhere.
struct RepeatedFailures: Sendable {
    /// How long it is remembered of a user who calls no more.
    static let memory = Duration.seconds(300)
    /// Users and institutions of whom it is remembered. Past it no more are noted.
    static let countMax = 16_384
    /// Failures in a row past which the wait grows no more.
    static let countedMax = 5
    /// The time within which several failures count as one.
    static let countedTime = Duration.milliseconds(1_500)

    private struct Failures: Sendable {
        var last: Monotonic
        var ofChanges = Row()
        var ofReadings = Row()
    }

    /// Failures in a row of calls of one kind.
    private struct Row: Sendable {
        var count = 0
        var countedAt: Monotonic?

        mutating func count(_ further: Int, at now: Monotonic) {
            if let countedAt, now < countedAt + RepeatedFailures.countedTime { return }
            count = min(count + further, RepeatedFailures.countedMax)
            countedAt = now
        }
    }

    private var failures: [UInt64: Failures] = [:]
    private(set) var institutions = FailingInstitutions()

    /// The rounds that a call at this place waits for; 0 where it waits as any other's.
    func rounds(for place: CallLines.Place, at now: Monotonic) -> Int {
        guard place.party != 0, let present = failures[place.userAtInstitution], now < present.last + Self.memory
        else { return 0 }
        func count(_ row: Row, isChanging: Bool) -> Int {
            guard row.count > 0 else { return 0 }
            return institutions.contains(place.institution, isChanging: isChanging, at: now)
                ? Self.countedMax : row.count
        }
        let most = max(
            count(present.ofChanges, isChanging: true), count(present.ofReadings, isChanging: false))
        return most < 2 ? 0 : 1 << (most - 1) - 1
    }

    /// The rounds that a call waits for which joins a line: one that begins something waits for one of the others where
    /// the last change that its user asked for there has failed.
    func roundsOfJoining(_ place: CallLines.Place, at now: Monotonic) -> Int {
        let rounds = rounds(for: place, at: now)
        guard rounds == 0, place.isBeginning, let present = failures[place.userAtInstitution],
            present.ofChanges.count > 0, now < present.last + Self.memory
        else { return rounds }
        return 1
    }

    /// Takes note of how a call ended. What is looked up in between says nothing of what is sent.
    mutating func note(_ outcome: CallOutcome.Kind, isChanging: Bool, _ place: CallLines.Place, at now: Monotonic) {
        guard place.party != 0 else { return }
        let key = place.userAtInstitution
        let kind = isChanging ? \Failures.ofChanges : \Failures.ofReadings
        switch outcome {
        case .timedOut, .failed, .lost:
            institutions.note(failed: true, isChanging: isChanging, place, at: now)
            if failures[key] == nil, failures.count >= Self.countMax {
                failures = failures.filter { now < $0.value.last + Self.memory }
                guard failures.count < Self.countMax else { return }
            }
            var present = failures[key] ?? Failures(last: now)
            if now >= present.last + Self.memory { present = Failures(last: now) }
            present.last = now
            // What was not answered in time has held a place for long.
            present[keyPath: kind].count(outcome == .timedOut ? 2 : 1, at: now)
            failures[key] = present
        case .answered, .refused:
            institutions.note(failed: false, isChanging: isChanging, place, at: now)
            guard var present = failures[key] else { return }
            present[keyPath: kind] = Row()
            failures[key] = present.ofChanges.count == 0 && present.ofReadings.count == 0 ? nil : present
        default: break
        }
    }
}
