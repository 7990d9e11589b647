import Logging
import MerchantStore

/// Lets go of what is past its time, and encrypts what servers of an earlier version write in plain, a bounded number
/// of rows in each pass (LGPD, articles 15 and 46). Makes the partitions of the next month or year, and drops old ones.
package struct Retention: Worker {
    let store: Store
    let log: Logger
    var periods = RetentionPeriods()
    /// Rows of each kind in one pass: few enough that no lock is felt.
    var limit = 500

    package let name = "retention"

    /// Between two passes when little is to be done: nothing here is a matter of minutes.
    package static let pause = Duration.seconds(600)

    package init(store: Store, log: Logger) {
        self.store = store
        self.log = log
    }

    package func runOnce() async throws -> Pass {
        var pass = Pass()
        for (kind, count) in try await store.discardPastTime(periods, limit: limit) where count > 0 {
            log.info("retention.discarded", metadata: ["kind": "\(kind)", "rows": "\(count)"])
            pass.examined += count
            pass.wasFull = pass.wasFull || count == limit
        }
        for column in VaultColumn.allCases {
            let count = try await store.encryptPlaintext(of: column, limit: limit)
            guard count > 0 else { continue }
            log.info("retention.encrypted", metadata: ["column": "\(column.rawValue)", "rows": "\(count)"])
            pass.examined += count
            pass.wasFull = pass.wasFull || count == limit
        }
        let (made, dropped) = try await store.keepPartitions(periods)
        for name in made { log.info("retention.partition_made", metadata: ["partition": "\(name)"]) }
        for name in dropped { log.info("retention.partition_dropped", metadata: ["partition": "\(name)"]) }
        return pass
    }
}
