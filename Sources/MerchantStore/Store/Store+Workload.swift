import Postgres

/// How much there is to do about one kind of record.
package struct Workload: Sendable {
    /// The kind as `ops.workload` calls it: payments, enrollments, customers, redirects, webhooks, events.
    package let name: String
    package let pending: Int64
    /// Only payments can be.
    package let inDoubt: Int64?
    package let oldestPending: Duration?
    package let oldestInDoubt: Duration?
    /// Given up, until an operator requeues them. Only events can be.
    package let parked: Int64?
    /// Negative while the next poll is ahead.
    package let mostOverdue: Duration?
}

// What metrics ask.
extension Store {
    /// How much there is to do, for every kind of record.
    ///
    /// All of it stands in the indexes of what is due, whose size is that of the work and not of the past; payments in
    /// doubt are due as all that are not at their end (`no_orphaned_payment`). Parked events have an index of
    /// their own.
    package func workload(within limit: Duration) async throws -> [Workload] {
        try await database.rows(
            """
            SELECT what, pending, in_doubt,
                (extract(epoch FROM oldest_pending) * 1000000)::bigint AS oldest_pending_us,
                (extract(epoch FROM most_overdue) * 1000000)::bigint AS most_overdue_us,
                CASE WHEN what = 'payments' THEN (
                    -- Doubt begins at the deadline; the row may change in it.
                    SELECT (extract(epoch FROM greatest(app_now() - min(deadline_at), interval '0')) * 1000000)::bigint
                    FROM payments WHERE in_doubt AND next_poll_at IS NOT NULL
                ) END AS oldest_in_doubt_us,
                CASE WHEN what = 'events' THEN (SELECT count(*) FROM events WHERE parked_at IS NOT NULL) END AS parked
            FROM ops.workload
            """, within: limit
        ).map { row in
            func duration(_ column: String) throws -> Duration? {
                try row.decode(column, as: Int64?.self).map { .microseconds($0) }
            }
            return Workload(
                name: try row.decode("what"), pending: try row.decode("pending"),
                inDoubt: try row.decode("in_doubt"), oldestPending: try duration("oldest_pending_us"),
                oldestInDoubt: try duration("oldest_in_doubt_us"), parked: try row.decode("parked"),
                mostOverdue: try duration("most_overdue_us"))
        }
    }
}
