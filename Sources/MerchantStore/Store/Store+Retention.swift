import Payments
import Postgres

/// For how long what is kept serves a purpose.
package struct RetentionPeriods: Sendable {

    package init() {}
    /// A settled redirect distinguishes a repeated one from a new one; a week is longer than any browser keeps a page.
    var redirects = Duration.seconds(7 * 86_400)
    /// One that belongs to no enrollment known here and that Belvo did not take is most likely invented; a bank's code
    /// has long lapsed by then.
    var unknownRedirects = Duration.seconds(3_600)
    /// Webhooks help to find out what Belvo said and when, events what the shop was told. They go with their month's
    /// partition, so long after its end: 60 to 91 days after they came.
    var partitions = Duration.seconds(60 * 86_400)
    /// Webhooks and events that do not go with their partition go one by one: those of a month in which something is
    /// yet to be done, those of a month without a partition, and those from before there were partitions.
    var leftovers = Duration.seconds(92 * 86_400)
    /// The data that an enrollment or a payment needed on its way: options, addresses, the payer's account of a failed
    /// one.
    var steps = Duration.seconds(30 * 86_400)
}

extension Store {
    /// The statements of one pass by name; each deletes or redacts up to `limit` rows and returns how many.
    package func discardPastTime(_ periods: RetentionPeriods, limit: Int) async throws -> [(name: String, count: Int)] {
        var done: [(String, Int)] = []
        for (name, statement) in retentionStatements(periods, limit: limit) {
            let rows = try await database.execute(statement)
            done.append((name, rows.count))
        }
        return done
    }

    /// Makes the partitions of this period and the next, and drops the webhooks' and events' that are past their time
    /// and in which nothing is left to do. Says which.
    ///
    /// Each table has a transaction of its own, since its locks keep others waiting until it ends. The functions do
    /// without a partition that they get no lock for within half a second; the next pass tries again.
    package func keepPartitions(_ periods: RetentionPeriods) async throws -> (made: [String], dropped: [String]) {
        func names(_ statement: SQL) async throws -> [String] {
            try await database.transaction { transaction in
                try await transaction.execute(statement).map { try $0.decode("name") }
            }
        }
        var (made, dropped): ([String], [String]) = ([], [])
        for table in ["webhook_receipts", "events", "state_history"] {
            made += try await names("SELECT make_partitions(\(table)) AS name")
        }
        for table in ["webhook_receipts", "events"] {
            dropped += try await names(
                """
                SELECT drop_partitions(
                    \(table), \(periods.partitions.wholeMicroseconds) * interval '1 microsecond') AS name
                """)
        }
        return (made, dropped)
    }

    /// The condition that a row has not changed for so long. An id is never newer than the row's last change, so the id
    /// index bounds the scan, and no timestamp index is needed.
    private static func hasStood(_ column: SQL, _ period: Duration) -> SQL {
        let moment: SQL = "app_now() - \(period.wholeMicroseconds) * interval '1 microsecond'"
        return "\(fragment: column) < \(fragment: moment) AND id < first_id_at(\(fragment: moment))"
    }

    private func retentionStatements(_ periods: RetentionPeriods, limit: Int) -> [(String, SQL)] {
        [
            (
                "idempotency_keys",
                """
                DELETE FROM idempotency_keys WHERE ctid IN (
                    SELECT ctid FROM idempotency_keys
                    WHERE claimed_at
                        < app_now() - \(Self.idempotencyLifetime.wholeMicroseconds) * interval '1 microsecond'
                        AND \(fragment: Self.isNotOpen)
                    ORDER BY claimed_at LIMIT \(limit)
                ) RETURNING 1 AS gone
                """
            ),
            (
                "redirect_receipts",
                """
                DELETE FROM redirect_receipts WHERE id IN (
                    SELECT id FROM redirect_receipts
                    WHERE outcome NOT IN ('received', 'sent')
                        AND received_at < app_now() - interval '1 microsecond' * CASE
                            WHEN enrollment_id IS NULL AND outcome <> 'taken'
                            THEN \(periods.unknownRedirects.wholeMicroseconds)
                            ELSE \(periods.redirects.wholeMicroseconds)
                        END
                    LIMIT \(limit)
                ) RETURNING 1 AS gone
                """
            ),
            (
                "webhook_receipts",
                """
                DELETE FROM webhook_receipts WHERE id IN (
                    SELECT id FROM webhook_receipts
                    WHERE outcome <> 'received' AND \(fragment: Self.hasStood("last_received_at", periods.leftovers))
                    ORDER BY id LIMIT \(limit)
                ) RETURNING 1 AS gone
                """
            ),
            (
                "events",
                """
                DELETE FROM events WHERE id IN (
                    SELECT id FROM events
                    WHERE next_attempt_at IS NULL
                        AND created_at < app_now() - \(periods.leftovers.wholeMicroseconds) * interval '1 microsecond'
                    ORDER BY created_at LIMIT \(limit)
                ) RETURNING 1 AS gone
                """
            ),
            (
                "widget_tokens",
                """
                DELETE FROM widget_tokens WHERE id IN (
                    SELECT id FROM widget_tokens
                    WHERE held_until < app_now() - interval '7 days'
                        AND (leased_until IS NULL OR leased_until < app_now())
                    LIMIT \(limit)
                ) RETURNING 1 AS gone
                """
            ),
            // A usable enrollment keeps its device, by which it is found, and the payer's account, which the app shows.
            (
                "enrollments",
                """
                UPDATE enrollments SET
                    redirect_url = NULL, redirect_url_ciphertext = NULL, redirect_state_lookup = NULL,
                    registration_options_ciphertext = NULL, failure_message = NULL, failure_message_ciphertext = NULL,
                    device_ciphertext = CASE WHEN state = 'succeeded' THEN device_ciphertext END,
                    device_lookup = CASE WHEN state = 'succeeded' THEN device_lookup END,
                    payer_information_ciphertext = CASE WHEN state = 'succeeded' THEN payer_information_ciphertext END,
                    hollowed_at = app_now()
                WHERE id IN (
                    SELECT id FROM enrollments
                    WHERE hollowed_at IS NULL AND state IN ('succeeded', 'failed')
                        AND updated_at < app_now() - \(periods.steps.wholeMicroseconds) * interval '1 microsecond'
                    ORDER BY updated_at LIMIT \(limit)
                    FOR UPDATE SKIP LOCKED
                ) RETURNING 1 AS gone
                """
            ),
            (
                "payments",
                """
                UPDATE payments SET
                    fido_options = NULL, failure_message = NULL, failure_message_ciphertext = NULL,
                    hollowed_at = app_now()
                WHERE id IN (
                    SELECT id FROM payments
                    WHERE hollowed_at IS NULL AND state IN ('succeeded', 'failed')
                        AND \(fragment: Self.hasStood("updated_at", periods.steps))
                    ORDER BY id LIMIT \(limit)
                    FOR UPDATE SKIP LOCKED
                ) RETURNING 1 AS gone
                """
            ),
        ]
    }
}
