import Belvo
import Transport

/// The institutions about which calls fail for several users at a time.
///
/// While others wait, calls about these come behind them: what their users' apps repeat, and what workers look up for
/// them, keeps no other's result waiting, however many users they are and however well the look-ups are answered.
struct IllInstitutions: Sendable {
    /// The time of one count of calls. The count before it is remembered.
    static let window = Duration.seconds(10)
    /// Users whose calls have failed, from which on an institution may be ill: one user alone makes none so.
    static let usersMin = 3
    /// The part of its calls that fail at an ill one, at least.
    static let failedPart = 4
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

    private var calls: [UInt64: Calls] = [:]

    /// Whether calls about the institution fail for several users, a quarter of all at least; false for 0, which is
    /// none.
    func contains(_ institution: UInt64, at now: Monotonic) -> Bool {
        guard institution != 0, var counted = calls[institution] else { return false }
        counted.move(to: Self.window(at: now))
        let (present, before) = (counted.present, counted.before)
        let failed = present.failed + before.failed
        return failed * Self.failedPart >= failed + present.answered + before.answered
            && present.users.union(before.users).count >= Self.usersMin
    }

    /// Takes note of how a call ended.
    mutating func note(_ outcome: CallOutcome.Kind, _ place: CallLines.Place, at now: Monotonic) {
        guard place.institution != 0, place.party != 0 else { return }
        let window = Self.window(at: now)
        if calls[place.institution] == nil, calls.count >= Self.countMax {
            calls = calls.filter { $0.value.window + 1 >= window }
            guard calls.count < Self.countMax else { return }
        }
        var counted = calls[place.institution] ?? Calls(window: window)
        counted.move(to: window)
        switch outcome {
        case .timedOut, .failed, .lost:
            counted.present.failed += 1
            if counted.present.users.count < Self.usersMin { counted.present.users.insert(place.party) }
        case .answered, .refused: counted.present.answered += 1
        default: break
        }
        calls[place.institution] = counted
    }

    private static func window(at now: Monotonic) -> Int64 {
        Int64(now.nanoseconds) / window.wholeNanoseconds
    }
}
