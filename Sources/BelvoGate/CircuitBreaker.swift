import Transport

/// Whether Belvo as a whole seems to be there: a circuit breaker with a handed-in clock.
///
/// Closed, everything passes and is counted. Open, nothing passes for a moment. Then, half open, one call passes to
/// find out, and with it the next moment begins: the first one that is answered closes it. One that hangs keeps none
/// of the next from finding out.
package struct CircuitBreaker: Sendable {
    /// The time within which calls count: long enough to hold several timed-out calls, short enough that
    /// a trouble that has passed is forgotten before the next call.
    static let window = Duration.seconds(10)
    /// Fewer calls than this in a window are no ground for a judgement about Belvo: a single object that Belvo cannot
    /// read is asked for five times in a window.
    static let callsMin = 10
    /// The part of a window's calls that has to fail. Where more succeed, trying is still worth it.
    static let failureShare = 0.5
    /// How long it is open each time, and a quarter more at most. One call in two seconds is no load on a server that
    /// comes back, however long it was away, and a user waits for the end of it (reliability.md, promise 14).
    static let pause = Duration.seconds(2)
    /// How long a half-open circuit waits for a read before it lets a call try that changes something: what such a
    /// call leaves unknown has to be found out by reads anyway, and an authorize moves money. Workers make a pass
    /// every second, so that a read which is due has come by then.
    static let readsFirst = Duration.milliseconds(1_250)

    package enum State: String, Sendable, CaseIterable {
        case closed
        case open
        case halfOpen = "half_open"
    }

    /// The decision about one call.
    enum Answer: Sendable, Equatable {
        case pass
        /// Pass, say so with `noteProbe`, and with `note` how it ended: everybody waits for it.
        case probe
        /// Wait, and ask again after this time.
        case stay(Duration)
    }

    /// A change that is logged.
    enum Change: Sendable, Equatable {
        case opened(failures: Int, calls: Int)
        /// After it was open for so long.
        case closed(after: Duration)
    }

    /// So many failures of one user's calls count within a window: what one person asks for may be what fails.
    static let failuresOfPartyMax = 3
    /// The number of parties whose calls have to fail within a window: what one user has under way is read for the
    /// user, and for the webhooks that name it.
    static let failingPartiesMin = 3

    /// The counts of one second.
    private struct Second: Sendable {
        var number: Int64
        var calls = 0
        var failures = 0
        /// The failures of calls that were made for a user.
        var failuresByParty: [UInt64: Int] = [:]
    }

    /// How often it has opened.
    private(set) var openings = 0
    private var seconds: [Second] = []
    private var openedAt: Monotonic?
    private var pauseNow = Self.pause
    private var probesFrom = Monotonic(nanoseconds: 0)

    func state(at now: Monotonic) -> State {
        guard openedAt != nil else { return .closed }
        return now < probesFrom ? .open : .halfOpen
    }

    /// Asks for leave to make a call.
    func ask(changing: Bool, at now: Monotonic) -> Answer {
        guard openedAt != nil else { return .pass }
        if now < probesFrom { return .stay(probesFrom - now) }
        let readsEnd = probesFrom + Self.readsFirst
        if changing, now < readsEnd { return .stay(readsEnd - now) }
        return .probe
    }

    /// Whether an open circuit lets a call for one whose calls have not failed find out, beside the probes.
    func mayBeTried(changing: Bool, at now: Monotonic) -> Bool {
        guard let openedAt else { return false }
        return !changing || openedAt + pauseNow + Self.readsFirst <= now
    }

    /// Takes note of a probe that leaves now.
    mutating func noteProbe(at now: Monotonic) {
        probesFrom = now + pauseNow
    }

    /// Takes note of how a call ended. `jitter`, from 0 to 1, keeps several servers from trying at the same moment.
    ///
    /// `party` is the user for whom it was made, where what he asked for may be why it failed.
    mutating func note(
        failed: Bool, probe: Bool, of party: UInt64 = 0, at now: Monotonic, jitter: Double
    ) -> Change? {
        guard let openedAt else { return count(failed: failed, of: party, at: now, jitter: jitter) }
        // What was in flight when it opened comes too late to say anything new.
        guard probe, !failed else { return nil }
        self.openedAt = nil
        seconds.removeAll()
        return .closed(after: now - openedAt)
    }

    /// Whether so many failures say something of Belvo, and not of what one user asks for: calls of several parties
    /// failed, or as many of no party in particular as would do by themselves.
    private func speaksOfAll(_ failures: Int) -> Bool {
        let parties = Set(seconds.flatMap(\.failuresByParty.keys))
        let known = seconds.reduce(0) { $0 + $1.failuresByParty.values.reduce(0, +) }
        return parties.count >= Self.failingPartiesMin
            || Double(failures - known) >= Double(Self.callsMin) * Self.failureShare
    }

    private mutating func count(failed: Bool, of party: UInt64, at now: Monotonic, jitter: Double) -> Change? {
        let number = now.nanoseconds / 1_000_000_000
        if seconds.last?.number != number {
            let first = number - Self.window.components.seconds + 1
            seconds.removeAll { $0.number < first }
            seconds.append(Second(number: number))
        }
        if failed, party != 0 {
            let known = seconds.reduce(0) { $0 + ($1.failuresByParty[party] ?? 0) }
            guard known < Self.failuresOfPartyMax else { return nil }
            seconds[seconds.count - 1].failuresByParty[party, default: 0] += 1
        }
        seconds[seconds.count - 1].calls += 1
        guard failed else { return nil }
        seconds[seconds.count - 1].failures += 1
        let calls = seconds.reduce(0) { $0 + $1.calls }
        let failures = seconds.reduce(0) { $0 + $1.failures }
        guard calls >= Self.callsMin, Double(failures) >= Double(calls) * Self.failureShare, speaksOfAll(failures)
        else { return nil }
        openedAt = now
        openings += 1
        pauseNow = Self.pause * (1 + jitter / 4)
        probesFrom = now + pauseNow
        return .opened(failures: failures, calls: calls)
    }
}
