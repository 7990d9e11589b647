import FoundationEssentials
import Postgres
import TestSupport
import Testing
import Transport

@testable import MerchantStore

/// How the tables that only grow became partitioned: with all their rows, and under servers at work.
@Suite struct PartitioningTests {
    private static let before = Array([Postgres.Migration].merchant.prefix(37))

    /// The statements of release 1.0.0, which knows nothing of partitions.
    private static let insertions: [SQL] = [
        """
        INSERT INTO webhook_receipts (
            id, digest, webhook_type, webhook_code, object_id, body_ciphertext, outcome, next_poll_at, processed_at)
        VALUES (gen_random_uuid(), 'one', 'CHARGES', 'STATUS_UPDATE', gen_random_uuid(), 'x', 'received', app_now(),
            NULL)
        ON CONFLICT ON CONSTRAINT one_receipt_per_webhook DO UPDATE SET
            received_count = webhook_receipts.received_count + 1, last_received_at = app_now(),
            outcome = excluded.outcome, next_poll_at = excluded.next_poll_at, processed_at = excluded.processed_at,
            version = webhook_receipts.version + 1
        """,
        """
        WITH changed AS (SELECT '0b3a1c7e-90d4-4f26-8a51-0d6c2e9b7f10'::uuid AS id)
        INSERT INTO events (id, record_type, record_id, type, body)
        SELECT gen_random_uuid(), 'payment', id, 'payment.succeeded', '{}' FROM changed
        """,
        """
        INSERT INTO state_history (record_type, record_id, state_before, state_after, caused_by, request_id, detail)
        SELECT 'payment', '0b3a1c7e-90d4-4f26-8a51-0d6c2e9b7f10', 'creating', 'opened', 'app', 'request', 'created'
        """,
    ]

    /// The rows as operators see them, in their order.
    private static let shown: SQL = """
        SELECT concat_ws(' ', webhook_type, received_count) AS line FROM ops.webhooks_unprocessed
        UNION ALL SELECT concat_ws(' ', type, record_id) FROM ops.events_undelivered
        UNION ALL SELECT concat_ws(' ', what, pending) FROM ops.workload WHERE pending > 0
        UNION ALL SELECT concat_ws(' ', state_after, detail) FROM ops.history
        """

    /// All that stands on the tables and views but partitions and what is new in them: columns, constraints, indexes,
    /// triggers, comments and grants.
    private static let shape: SQL = """
        SELECT concat_ws(' ', relname, attname, format_type(atttypid, atttypmod), attnotnull,
            col_description(attrelid, attnum)) AS line
        FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        WHERE attnum > 0 AND attname NOT IN ('stored_on', 'absent_since') AND (relnamespace = 'ops'::regnamespace
            OR attrelid IN ('webhook_receipts'::regclass, 'events'::regclass, 'state_history'::regclass))
        UNION ALL
        SELECT concat_ws(' ', relname, relacl, CASE relkind WHEN 'v' THEN obj_description(oid, 'pg_class') END)
        FROM pg_class WHERE relnamespace = 'ops'::regnamespace
            OR oid IN ('webhook_receipts'::regclass, 'events'::regclass, 'state_history'::regclass)
        UNION ALL
        SELECT concat_ws(' ', conrelid::regclass, conname, CASE contype WHEN 'c' THEN pg_get_constraintdef(oid) END)
        FROM pg_constraint WHERE contype <> 'p'
            AND conrelid IN ('webhook_receipts'::regclass, 'events'::regclass, 'state_history'::regclass)
        UNION ALL
        SELECT concat_ws(' ', indrelid::regclass, relname)
        FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE NOT indisprimary
            AND indrelid IN ('webhook_receipts'::regclass, 'events'::regclass, 'state_history'::regclass)
        UNION ALL
        SELECT pg_get_triggerdef(oid) FROM pg_trigger
        WHERE tgrelid = 'state_history'::regclass AND tgname <> 'history_is_not_emptied'
        ORDER BY line
        """

    private static func lines(_ query: SQL, in database: Database) async throws -> [String] {
        try await database.rows(query).map { try $0.decode("line") }
    }

    @Test func `rows that were there are there, and operators see them and the tables as before`() async throws {
        try await TestDatabase.open(Self.before) { database in
            try await database.execute("GRANT SELECT ON events TO merchant_readonly")
            for insertion in Self.insertions { try await database.execute(insertion) }
            try await database.execute(
                """
                INSERT INTO state_history (record_type, record_id, state_after, caused_by, changed_at)
                SELECT 'payment', gen_random_uuid(), 'older', 'app', app_now() - years * interval '1 year'
                FROM generate_series(1, 5) AS years
                """)
            let (shown, shape) = (
                try await Self.lines(Self.shown, in: database), try await Self.lines(Self.shape, in: database)
            )
            let places = "SELECT ctid || ' ' || xmin || ' ' || id AS line FROM state_history" as SQL
            let rows = try await Self.lines(places, in: database)
            #expect(try await Migrator(.merchant, of: database).migrate().count >= 7)
            #expect(try await Self.lines(Self.shown, in: database) == shown)
            #expect(try await Self.lines(Self.shape, in: database) == shape)
            // None was written anew.
            #expect(try await Self.lines(places, in: database) == rows)
            // Numbers go on.
            for insertion in Self.insertions { try await database.execute(insertion) }
            let last = "SELECT count(*) || ' ' || max(id) AS line FROM state_history" as SQL
            let counted = try await Self.lines(last, in: database)
            #expect(counted.first?.hasPrefix("7 ") == true)
            let newest = "SELECT state_after AS line FROM state_history ORDER BY id DESC LIMIT 1" as SQL
            #expect(try await Self.lines(newest, in: database) == ["opened"])
        }
    }

    @Test func `a server of release 1.0.0 stores webhooks, events and history on the migrated database`() async throws {
        try await TestDatabase.open(.merchant) { database in
            for _ in 0..<2 {
                for insertion in Self.insertions { try await database.execute(insertion) }
            }
            #expect(
                try await Self.lines(Self.shown, in: database) == [
                    "CHARGES 2", "payment.succeeded 0b3a1c7e-90d4-4f26-8a51-0d6c2e9b7f10",
                    "payment.succeeded 0b3a1c7e-90d4-4f26-8a51-0d6c2e9b7f10", "webhooks 1", "events 2",
                    "opened created", "opened created",
                ])
            let settled = try await database.execute(
                """
                UPDATE webhook_receipts SET outcome = 'done', next_poll_at = NULL, version = version + 1
                WHERE version = 2
                """)
            #expect(settled.affectedCount == 1)
        }
    }

    @Test func `servers store what comes while a table that somebody holds is to be partitioned`() async throws {
        try await TestDatabase.open(Self.before) { database in
            let loop = try #require(EventLoop.current)
            var task: Task<[String], any Error>?
            try await database.transaction { transaction in
                _ = try await transaction.rows("SELECT count(*) AS count FROM events")
                task = loop.task { try await Migrator(.merchant, of: database).migrate() }
                let waiting: SQL = """
                    SELECT 'x' AS line FROM pg_locks WHERE NOT granted AND relation = 'events'::regclass
                    """
                while try await Self.lines(waiting, in: database).isEmpty {
                    try await loop.sleep(for: .milliseconds(5))
                }
                // It stands behind the migration, which gives up first.
                for insertion in Self.insertions { try await database.execute(insertion) }
            }
            #expect(try await task?.value.count ?? 0 >= 7)
            let kept = """
                SELECT 'x' AS line FROM webhook_receipts UNION ALL SELECT 'x' FROM events
                UNION ALL SELECT 'x' FROM state_history
                """ as SQL
            #expect(try await Self.lines(kept, in: database).count == 3)
        }
    }
}
