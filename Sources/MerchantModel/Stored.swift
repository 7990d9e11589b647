import Payments
import Transport

/// A record as it was read, with what is needed to write it back.
struct Stored<Record: Sendable>: Sendable {
    var record: Record
    /// Grows with every change and lease. A write names the version that it was decided on, and finds no row when
    /// somebody else was faster, or when its lease has long been somebody else's.
    var version: Int64
    var updatedAt: Timestamp
    /// Until when the present state may last.
    var deadline: Timestamp?
    /// How this server reads the database's clock.
    var clock: DatabaseClock

    /// Whether the present state has lasted too long.
    var isOverdue: Bool { deadline.map { $0 <= clock.now } ?? false }
}

/// The database's time, carried on by the monotonic clock of this machine since it was read.
struct DatabaseClock: Sendable {
    private let moment: Timestamp
    private let readAt: Monotonic
    private let monotonic: @Sendable () -> Monotonic

    init(reading moment: Timestamp, monotonic: @escaping @Sendable () -> Monotonic) {
        self.moment = moment
        self.monotonic = monotonic
        readAt = monotonic()
    }

    var now: Timestamp { moment + (monotonic() - readAt) }
}
