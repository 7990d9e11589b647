import FoundationEssentials
import MerchantModel
import Payments
import Postgres
import Transport

/// The rows behind the merchant's nouns: every SQL statement of the program, one file for each noun.
///
/// It knows neither HTTP nor Belvo, and decides nothing: a change comes in as the value before and the value after,
/// and goes out as one statement that changes the row, writes the history line and stores what belongs to both,
/// or does none of it.
package struct Store: Sendable {
    let database: Database
    package let vault: Vault
    /// Carries the database's time on from when it was read.
    package let monotonic: @Sendable () -> Monotonic
    /// Called with a row that could not be read: its table, its id and why. An operator has to act.
    let onUnreadable: @Sendable (_ table: String, _ id: String, _ error: any Error) -> Void

    package init(
        database: Database, vault: Vault, monotonic: @escaping @Sendable () -> Monotonic = Monotonic.now,
        onUnreadable: @escaping @Sendable (_ table: String, _ id: String, _ error: any Error) -> Void
    ) {
        self.database = database
        self.vault = vault
        self.monotonic = monotonic
        self.onUnreadable = onUnreadable
    }

    /// The database's clock as a row shows it.
    func clock(_ row: Row) throws -> DatabaseClock {
        DatabaseClock(reading: try row.decode("read_at"), monotonic: monotonic)
    }

    /// Reads each row by itself: one that is damaged, or encrypted under a key that is gone, must not keep the others
    /// from being polled.
    func readEach<Record>(
        _ rows: Rows, of table: String, _ read: (Row) throws -> Stored<Record>
    ) -> [Stored<Record>] {
        rows.compactMap { row in
            do {
                return try read(row)
            } catch {
                let id = try? row.decode("id", as: UUID.self)
                onUnreadable(table, id.map { "\($0)" } ?? "unknown", error)
                return nil
            }
        }
    }
}

/// When a record is polled next, and until when its state may last.
package struct PollPlan: Sendable {
    /// From now until the next poll; nil when there is nothing left to poll.
    package let nextPoll: Duration?
    /// From now until the deadline, where the state is new.
    let deadline: Duration?
    /// The deadline that stays, where it is not.
    let keptDeadline: Timestamp?
    /// Whether the writer is about to send something, and keeps the row until the next poll.
    var isHeld = false
    /// Whether a next poll that is ahead stays as it is.
    var keepsNextPoll = false

    /// Until when the state may last, as it is written at this moment.
    package func deadline(at moment: Timestamp) -> Timestamp? { keptDeadline ?? deadline.map { moment + $0 } }

    /// A state that was just entered.
    package static func entered(_ schedule: Schedule?) -> PollPlan {
        PollPlan(nextPoll: schedule?.firstPoll, deadline: schedule?.deadline, keptDeadline: nil)
    }

    /// A state that lasts.
    package static func goesOn(nextPoll: Duration, deadline: Timestamp?) -> PollPlan {
        PollPlan(nextPoll: nextPoll, deadline: nil, keptDeadline: deadline)
    }

    /// The same, but for a next poll that is ahead: what is due when stands in an index, and need not be written again.
    package var keepingNextPoll: PollPlan {
        var plan = self
        plan.keepsNextPoll = true
        return plan
    }

    /// The same, for a writer that is about to send something.
    package var held: PollPlan {
        var plan = self
        plan.isHeld = true
        return plan
    }

    var leaseMicroseconds: Int64? { isHeld ? nextPollMicroseconds : nil }
    var nextPollMicroseconds: Int64? { nextPoll.map(\.wholeMicroseconds) }
    var deadlineMicroseconds: Int64? { deadline.map(\.wholeMicroseconds) }
}

extension Duration {
    package var wholeMicroseconds: Int64 { wholeNanoseconds / 1_000 }
}
