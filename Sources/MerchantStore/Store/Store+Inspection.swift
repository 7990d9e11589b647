import FoundationEssentials
import Payments
import Postgres

/// A kind of record that operators ask for by id.
package enum InspectedKind: String, Sendable, PostgresValue, CaseIterable {
    case customer, enrollment, payment, webhook, event, redirect
}

/// One thing that happened to a record.
package struct TimelineEntry: Sendable, Equatable {
    package let moment: Timestamp
    /// app, callback, webhook, poller, operator, bank, belvo or shop.
    package let who: String
    package let what: String
    package let requestID: String?
}

// What `merchant inspect` and `merchant requeue` ask. No ciphertext, digest or text of a person's is read here.
extension Store {
    /// The records of a user: the latest of each kind.
    package func findRecords(of subject: String) async throws -> [(kind: InspectedKind, id: UUID)] {
        try await database.rows(
            """
            (SELECT 'enrollment' AS kind, id FROM enrollments WHERE subject = \(subject) ORDER BY id DESC LIMIT 20)
            UNION ALL
            (SELECT 'payment', id FROM payments WHERE subject = \(subject) ORDER BY id DESC LIMIT 20)
            ORDER BY id
            """
        ).map { (try $0.decode("kind"), try $0.decode("id")) }
    }

    /// The records that an id stands for: ours or Belvo's, an end-to-end id, or a reference; of a user's id the
    /// customer.
    package func findRecords(_ text: String) async throws -> [(kind: InspectedKind, id: UUID)] {
        let uuid = UUID(uuidString: text)
        return try await database.rows(
            """
            SELECT 'payment' AS kind, id FROM payments
            WHERE id = \(uuid) OR belvo_id = \(uuid) OR end_to_end_id = \(text) OR reference = \(text)
            UNION ALL
            SELECT 'enrollment', id FROM enrollments WHERE id = \(uuid) OR belvo_id = \(uuid)
            UNION ALL
            SELECT 'customer', id FROM customers WHERE id = \(uuid) OR belvo_id = \(uuid) OR subject = \(text)
            UNION ALL
            SELECT 'webhook', id FROM webhook_receipts WHERE id = \(uuid)
            UNION ALL
            SELECT 'event', id FROM events WHERE id = \(uuid)
            UNION ALL
            SELECT 'redirect', id FROM redirect_receipts WHERE id = \(uuid)
            ORDER BY id
            LIMIT 100
            """
        ).map { (try $0.decode("kind"), try $0.decode("id")) }
    }

    /// A record's present facts, as names and texts.
    package func facts(of kind: InspectedKind, _ id: UUID) async throws -> [(name: String, value: String)] {
        let columns: SQL =
            switch kind {
            case .customer:
                """
                SELECT id, belvo_id, subject, state, failure_code, created_at, updated_at, next_poll_at, deadline_at,
                    version FROM customers WHERE id = \(id)
                """
            case .enrollment:
                """
                SELECT id, belvo_id, origin, subject, customer_id, state, status, provider_status,
                    provider_details_status, institution_name, platform, confirmation_accepted, expires_at,
                    failure_code, failure_authority, created_at, updated_at, next_poll_at, deadline_at, leased_until,
                    version
                FROM enrollments WHERE id = \(id)
                """
            case .payment:
                """
                SELECT id, belvo_id, origin, subject, enrollment_id, reference, state, status, in_doubt,
                    provider_status, (amount_centavos / 100.0)::numeric(20, 2) AS amount, end_to_end_id,
                    authorization_accepted, failure_code, failure_authority, created_at, updated_at, next_poll_at,
                    deadline_at, leased_until, version
                FROM payments WHERE id = \(id)
                """
            case .webhook:
                """
                SELECT id, webhook_type, webhook_code, object_id, outcome, received_count, attempts, received_at,
                    last_received_at, processed_at, next_poll_at FROM webhook_receipts WHERE id = \(id)
                """
            case .event:
                """
                SELECT id, type, record_type, record_id, attempts, last_problem, created_at, delivered_at, parked_at,
                    next_attempt_at FROM events WHERE id = \(id)
                """
            case .redirect:
                """
                SELECT id, enrollment_id, outcome, is_error, received_at, sent_at, next_poll_at
                FROM redirect_receipts WHERE id = \(id)
                """
            }
        return try await database.rows(
            """
            SELECT key, value FROM (\(fragment: columns)) AS record, json_each_text(row_to_json(record))
            WHERE value IS NOT NULL
            """
        ).map { (try $0.decode("key"), try $0.decode("value")) }
    }

    /// The timeline of a record, oldest first: its changes, redirects, webhooks and events.
    package func timeline(of id: UUID) async throws -> [TimelineEntry] {
        try await database.rows(
            """
            SELECT moment, who, what, request_id FROM (
                SELECT changed_at AS moment, caused_by AS who,
                    coalesce(state_before || ' → ', '') || state_after || coalesce(' (' || detail || ')', '') AS what,
                    request_id, id AS place
                FROM state_history WHERE record_id = \(id)
                UNION ALL
                SELECT received_at, CASE WHEN posted_by IS NULL THEN 'bank' ELSE 'app' END,
                    CASE WHEN is_error THEN 'redirect with an error received' ELSE 'redirect received' END
                        || ', now ' || outcome, NULL, 0
                FROM redirect_receipts WHERE enrollment_id = \(id)
                UNION ALL
                SELECT received_at, 'belvo',
                    'webhook ' || webhook_type || ' ' || webhook_code || ' received ' || received_count
                        || ' times, now ' || outcome, NULL, 0
                FROM webhook_receipts
                WHERE object_id IN (
                    SELECT belvo_id FROM payments WHERE id = \(id)
                    UNION ALL SELECT belvo_id FROM enrollments WHERE id = \(id))
                UNION ALL
                SELECT claimed_at, 'app', 'idempotency key claimed for ' || route
                    || coalesce(', answered ' || response_status, ''), NULL, 0
                FROM idempotency_keys WHERE record_id = \(id)
                UNION ALL
                SELECT created_at, 'shop', 'event ' || type || ' written', NULL, sequence
                FROM events WHERE record_id = \(id)
                UNION ALL
                SELECT coalesce(delivered_at, parked_at), 'shop',
                    'event ' || type || CASE WHEN parked_at IS NULL THEN ' delivered' ELSE ' parked' END
                        || ' after ' || attempts || ' attempts', NULL, sequence
                FROM events WHERE record_id = \(id) AND coalesce(delivered_at, parked_at) IS NOT NULL
            ) AS entries
            ORDER BY moment, place
            """
        ).map { row in
            TimelineEntry(
                moment: try row.decode("moment"), who: try row.decode("who"), what: try row.decode("what"),
                requestID: try row.decode("request_id"))
        }
    }

    /// Has a record polled, or an event sent, as soon as a server is free. False when there is no such thing to do.
    package func requeue(_ kind: InspectedKind, _ id: UUID) async throws -> Bool {
        let statement: SQL =
            switch kind {
            case .customer:
                """
                UPDATE customers SET next_poll_at = app_now(), leased_until = NULL, version = version + 1
                WHERE id = \(id) AND next_poll_at IS NOT NULL RETURNING id
                """
            case .enrollment:
                """
                UPDATE enrollments SET next_poll_at = app_now(), leased_until = NULL, version = version + 1
                WHERE id = \(id) RETURNING id
                """
            case .payment:
                """
                UPDATE payments SET next_poll_at = app_now(), leased_until = NULL, version = version + 1
                WHERE id = \(id) RETURNING id
                """
            case .webhook:
                """
                UPDATE webhook_receipts SET outcome = 'received', processed_at = NULL, next_poll_at = app_now(),
                    last_received_at = app_now(), leased_until = NULL, version = version + 1
                WHERE id = \(id) AND object_id IS NOT NULL RETURNING id
                """
            case .event:
                """
                UPDATE events SET delivered_at = NULL, parked_at = NULL, next_attempt_at = app_now(),
                    leased_until = NULL, version = version + 1
                WHERE id = \(id) RETURNING id
                """
            case .redirect:
                """
                UPDATE redirect_receipts SET next_poll_at = app_now(), leased_until = NULL, version = version + 1
                WHERE id = \(id) AND outcome IN ('received', 'sent') RETURNING id
                """
            }
        return try await !database.execute(statement).isEmpty
    }
}
