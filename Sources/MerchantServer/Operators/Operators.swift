import Belvo
import BelvoGate
import FoundationEssentials
import Logging
import MerchantModel
import MerchantStore
import MerchantWorkflows
import Payments
import Postgres
import Transport

/// Questions of operators from the command line to a server's dependencies: one value behind `merchant inspect`,
/// `requeue`, `reconcile` and `doctor`.
///
/// Used from a task on an event loop. Nothing that it gives back is secret.
package struct Operators: Sendable {
    let settings: Settings
    let dependencies: Dependencies
    let database: Database

    /// Builds what the commands need, and opens nothing but files. Throws what is wrong with a file or the database's
    /// address.
    package init(settings: Settings, log: Logger) throws {
        let database = try Database(settings.databaseURL.text, configuration: .logged(to: log))
        self.settings = settings
        self.database = database
        let gate = BelvoGate(
            rate: settings.belvoRate, callsMax: settings.belvoCallsMax, log: log, now: { Monotonic.now() })
        dependencies = Dependencies(
            settings, database: database, belvo: try Belvo.Client.live(settings, through: gate).background, gate: gate,
            changes: ChangeFeed(loops: [], database: database), log: log)
    }

    /// Compares a day's intents and charges at Belvo with our payments; see `ops.reconciliation_differences`.
    package func reconcile(_ day: UTCDay) async throws -> [Difference] {
        try await Reconciliation(dependencies: dependencies).run(day)
    }

    /// Everything that an id stands for: ours, Belvo's, an end-to-end id or a reference; of a user's id the customer
    /// with the latest enrollments and payments.
    package func inspect(_ id: String) async throws -> [Inspection] {
        var found: [Inspection] = []
        let records = try await dependencies.store.findRecords(id) + dependencies.store.findRecords(of: id)
        for (kind, id) in records {
            found.append(
                Inspection(
                    kind: kind, facts: try await dependencies.store.facts(of: kind, id),
                    timeline: try await dependencies.store.timeline(of: id)))
        }
        return found
    }

    /// Makes everything that the id names due for a poll, or for sending, now. Gives back what that is.
    package func requeue(_ id: String) async throws -> [String] {
        var queued: [String] = []
        for (kind, id) in try await dependencies.store.findRecords(id)
        where try await dependencies.store.requeue(kind, id) {
            queued.append("\(kind.rawValue) \(id.uuidString.lowercased())")
        }
        return queued
    }

    /// Erases a person: the user's data is removed, records of money stay under a pseudonym (LGPD, article 18).
    ///
    /// Throws `RecordsStillOpen` while a payment or an enrollment of the user is not at its end, and while Belvo may
    /// still pay one that was given up. Nothing comes back
    /// when there is no such user.
    package func erase(_ subject: UserSubject) async throws -> Erasure? {
        let pseudonym = try UserSubject("erased-\(dependencies.identities.next().uuidString.lowercased())")
        return try await dependencies.store.erase(subject, as: pseudonym)
    }

    /// Encrypts anew what is not under the first of `ENCRYPTION_KEYS`, `batch` rows read at a time.
    package func rotateKeys(batch: Int = 500) async throws -> [RotatedColumn] {
        var done: [RotatedColumn] = []
        for column in VaultColumn.allCases {
            done.append(try await dependencies.store.rotateKeys(of: column, batch: batch))
        }
        return done
    }

    /// Closes the database's connections of the calling loop.
    package func close() async {
        await database.close()
    }
}
