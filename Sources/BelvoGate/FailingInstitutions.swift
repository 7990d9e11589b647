import Belvo
import Transport

/// The institutions at which calls of one kind fail for most users just now: a failed call says more about the next one
/// there than elsewhere.
struct FailingInstitutions: Sendable {
    /// The time of one count of calls. The count before it is remembered.
    static let window = Duration.seconds(2)
    /// Users whose calls have failed, from which on an institution may fail: one user alone makes none fail.
    static let usersMin = 3
    /// Institutions of which it is remembered.
    static let countMax = 4_096

    private struct Count: Sendable {
        var answered = 0
        var failed = 0
        /// Some of the users whose calls have failed.
        var users: Set<UInt64> = []
    }

    private struct Calls: Sendable {
        var window: Int64
        var present = Count()
        var before = Count()

        mutating func move(to next: Int64) {
            guard next != window else { return }
            before = next == window + 1 ? present : Count()
            (present, window) = (Count(), next)
        }
    }

    private struct Key: Hashable, Sendable {
        let institution: UInt64
        let isChanging: Bool
    }

    private var calls: [Key: Calls] = [:]

    /// Whether as many calls of the kind have failed there as were answered, and several users' among them; false for
    /// institution 0, which is none.
    func contains(_ institution: UInt64, isChanging: Bool, at now: Monotonic) -> Bool {
        guard institution != 0, var counted = calls[Key(institution: institution, isChanging: isChanging)] else {
            return false
        }
        counted.move(to: Self.window(at: now))
        let (present, before) = (counted.present, counted.before)
        return present.failed + before.failed >= present.answered + before.answered
            && present.users.union(before.users).count >= Self.usersMin
    }

    /// Takes note of a call that failed, or was answered.
    mutating func note(failed: Bool, isChanging: Bool, _ place: CallLines.Place, at now: Monotonic) {
        guard place.institution != 0, place.party != 0 else { return }
        let key = Key(institution: place.institution, isChanging: isChanging)
        let window = Self.window(at: now)
        if calls[key] == nil, calls.count >= Self.countMax {
            calls = calls.filter { $0.value.window + 1 >= window }
            guard calls.count < Self.countMax else { return }
        }
        var counted = calls[key] ?? Calls(window: window)
        counted.move(to: window)
        if failed {
            counted.present.failed += 1
            if counted.present.users.count < Self.usersMin { counted.present.users.insert(place.party) }
        } else {
            counted.present.answered += 1
        }
        calls[key] = counted
    }

    private static func window(at now: Monotonic) -> Int64 {
        Int64(now.nanoseconds) / window.wholeNanoseconds
    }
}
