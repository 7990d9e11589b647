import FoundationEssentials
import MerchantModel
import Payments
import Postgres

/// An event that waits to leave.
package struct OutgoingEvent: Sendable {
    package let id: UUID
    package let type: String
    package let body: [UInt8]
    /// The number of attempts, with the one that is being made.
    package let attempts: Int
    package let createdAt: Timestamp
}

extension Store {
    /// The part of a record's update that writes the shop's event; it applies only if the record was changed, as
    /// the part before it says.
    func emitting(_ event: ShopEvent?, of type: String, when changed: SQL = "changed") -> SQL {
        guard let event else { return "" }
        return """
            , told AS (
                INSERT INTO events (id, record_type, record_id, type, body)
                SELECT \(event.id), \(type), id, \(event.kind.rawValue), \(JSONColumn(event.body))
                FROM \(fragment: changed)
            )
            """
    }

    /// Takes up to `limit` events that are due, for so long, oldest first; of each record only the first that waits,
    /// so that they leave in order.
    package func claimDueEvents(limit: Int, lease: Duration) async throws -> [Stored<OutgoingEvent>] {
        let rows = try await database.execute(
            """
            UPDATE events SET
                version = version + 1, attempts = attempts + 1,
                leased_until = app_now() + \(lease.wholeMicroseconds) * interval '1 microsecond',
                next_attempt_at = app_now() + \(lease.wholeMicroseconds) * interval '1 microsecond'
            WHERE (id, created_at) IN (
                SELECT id, created_at FROM events
                WHERE next_attempt_at <= app_now() AND (leased_until IS NULL OR leased_until <= app_now())
                    AND NOT EXISTS (
                        SELECT FROM events AS earlier
                        WHERE earlier.record_id = events.record_id AND earlier.sequence < events.sequence
                            AND earlier.next_attempt_at IS NOT NULL)
                ORDER BY next_attempt_at
                LIMIT \(limit)
                FOR UPDATE SKIP LOCKED
            )
            RETURNING id, type, body, attempts, created_at, version, app_now() AS read_at
            """)
        return readEach(rows, of: "events") { row in
            let createdAt: Timestamp = try row.decode("created_at")
            return Stored(
                record: OutgoingEvent(
                    id: try row.decode("id"), type: try row.decode("type"),
                    body: try row.decode("body", as: JSONColumn.self).bytes,
                    attempts: Int(try row.decode("attempts", as: Int32.self)), createdAt: createdAt),
                version: try row.decode("version"), updatedAt: createdAt, deadline: nil,
                clock: try clock(row))
        }
    }

    /// Gives back what was claimed and not sent for want of time.
    package func giveBack(events: [Reschedule]) async throws {
        try await database.execute(
            """
            UPDATE events SET
                attempts = attempts - 1, version = version + 1, leased_until = NULL, next_attempt_at = app_now()
            FROM unnest(\(events.map(\.id)), \(events.map(\.version))) AS given (given_id, given_version)
            WHERE id = given_id AND version = given_version
            """)
    }

    /// The condition for an event's row, if it has not been changed since it was claimed.
    ///
    /// The time leads to one partition. In a subquery its value is not known when the statement is planned, so that
    /// PostgreSQL plans it once a session and not for each call.
    private static func isAsClaimed(_ event: Stored<OutgoingEvent>) -> SQL {
        """
        id = \(event.record.id) AND version = \(event.version) AND created_at = (SELECT \(event.record.createdAt))
        """
    }

    /// The shop has it.
    package func noteDelivery(of event: Stored<OutgoingEvent>) async throws {
        try await database.execute(
            """
            UPDATE events SET
                delivered_at = app_now(), next_attempt_at = NULL, leased_until = NULL, last_problem = NULL,
                version = version + 1
            WHERE \(fragment: Self.isAsClaimed(event))
            """)
    }

    /// The attempt did not count. Without a next one the event is parked.
    package func noteFailure(of event: Stored<OutgoingEvent>, _ problem: String, next: Duration?) async throws {
        try await database.execute(
            """
            UPDATE events SET
                last_problem = \(problem), leased_until = NULL, version = version + 1,
                next_attempt_at = app_now() + \(next.map(\.wholeMicroseconds)) * interval '1 microsecond',
                parked_at = CASE WHEN \(next == nil) THEN app_now() END
            WHERE \(fragment: Self.isAsClaimed(event))
            """)
    }
}
