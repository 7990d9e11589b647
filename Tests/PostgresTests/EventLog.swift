import Postgres
import Synchronization
import TestSupport

/// The events of a database, kept for a test to look at.
final class EventLog: Sendable {
    private let events = Mutex<[DatabaseEvent]>([])

    var all: [DatabaseEvent] { events.withLock { $0 } }

    func append(_ event: DatabaseEvent) {
        events.withLock { $0.append(event) }
    }

    /// A configuration whose events end here.
    var configuration: DatabaseConfiguration {
        var configuration = DatabaseConfiguration.patient
        configuration.onEvent = { self.append($0) }
        return configuration
    }
}
