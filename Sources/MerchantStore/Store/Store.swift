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
        _ rows: some Sequence<Row>, of table: String, _ read: (Row) throws -> Stored<Record>
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
