/// How long things may take, and how often Belvo is asked about them (merchant-api.md, "Time").
public struct Timeouts: Sendable, Equatable {
    /// Between two polls of a record that waits for Belvo.
    public var pollInterval = Duration.milliseconds(2_000)
    /// How long Belvo may take over one step.
    public var pollDeadline = Duration.milliseconds(120_000)
    /// How long a person may take: at the bank, or before the fingerprint.
    public var userDeadline = Duration.milliseconds(900_000)
    /// How long a creation whose outcome is not known may be missing from Belvo's lists before it counts as lost.
    public var creationGrace = Duration.seconds(60)
    /// How long a call to Belvo may take in all. A record whose call is in flight is not polled before that.
    public var callDeadline = Duration.milliseconds(10_000)
    /// How long the reading may take that follows a call whose answer says nothing, beyond the call itself.
    public var readOnceDeadline = Duration.seconds(2)
    /// How long that reading, a second sending and its reading may take in all (reliability.md, promise 14).
    public var resendDeadline = Duration.seconds(5)

    public init() {}

    /// How long a request may wait for Belvo in all: after that, a worker finds out what became of it.
    public var askingDeadline: Duration { callDeadline + resendDeadline }

    /// How long to wait before the next poll of a record whose creation was sent so long ago, with an outcome that is
    /// not known: half of its age, from `pollInterval` to 15 s. The app that waits repeats its request, which
    /// finds out by itself, so workers look ever less often.
    public func creationPollInterval(age: Duration) -> Duration {
        max(pollInterval, min(age / 2, .seconds(15)))
    }

    /// How long to wait before the next poll of an enrollment that Belvo has shown unchanged so long after the last
    /// step: a fifth of that, from `pollInterval` to 10 s. What comes after a minute need not be seen at once, and
    /// many that wait for a bank which does nothing leave Belvo's calls to others.
    public func unchangedPollInterval(age: Duration) -> Duration {
        max(pollInterval, min(age / 5, .seconds(10)))
    }

    /// How long to wait before the next poll of a record whose deadline passed so long ago, of whatever kind: every 10
    /// s at first, backing off to 2 minutes within the first hour; every 15 minutes for a week; then hourly.
    ///
    /// Past `doubtAlarmAge` an operator has to find out about a payment by other means.
    public func overduePollInterval(overdue age: Duration) -> Duration {
        if age < .seconds(3_600) { return min(max(age / 10, .seconds(10)), .seconds(120)) }
        return age < Timeouts.doubtAlarmAge ? .seconds(900) : .seconds(3_600)
    }

    /// How long an authorized payment may be in doubt until each poll of it raises an alarm.
    public static let doubtAlarmAge = Duration.seconds(7 * 86_400)
}

/// When a record in its present state is to be polled, counted from the change that led to the state.
public struct Schedule: Sendable, Equatable {
    /// Until the first poll.
    public let firstPoll: Duration
    /// Until the state has lasted too long.
    public let deadline: Duration

    public init(firstPoll: Duration, deadline: Duration) {
        self.firstPoll = firstPoll
        self.deadline = deadline
    }
}
