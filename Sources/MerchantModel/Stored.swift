import Payments
import Transport

/// A record as it was read, with what is needed to write it back.
package struct Stored<Record: Sendable>: Sendable {
    package var record: Record
    /// Grows with every change and lease. A write names the version that it was decided on, and finds no row when
    /// another writer was faster, or when another worker has its lease.
    package var version: Int64
    package var updatedAt: Timestamp
    /// Until when the present state may last.
    package var deadline: Timestamp?
    /// When its next poll is due, where that was read.
    package var due: Timestamp?
    /// How this server reads the database's clock.
    package var clock: DatabaseClock

    package init(
        record: Record, version: Int64, updatedAt: Timestamp, deadline: Timestamp? = nil,
        due: Timestamp? = nil, clock: DatabaseClock
    ) {
        self.record = record
        self.version = version
        self.updatedAt = updatedAt
        self.deadline = deadline
        self.due = due
        self.clock = clock
    }

    /// Whether the present state has lasted too long.
    package var isOverdue: Bool { deadline.map { $0 <= clock.now } ?? false }
}

/// The database's time, carried on by the monotonic clock of this machine since it was read.
package struct DatabaseClock: Sendable {
    private let moment: Timestamp
    private let readAt: Monotonic
    private let monotonic: @Sendable () -> Monotonic

    package init(reading moment: Timestamp, monotonic: @escaping @Sendable () -> Monotonic) {
        self.moment = moment
        self.monotonic = monotonic
        readAt = monotonic()
    }

    package var now: Timestamp { moment + (monotonic() - readAt) }
    /// The database's time when it was read.
    package var beginning: Timestamp { moment }
}
