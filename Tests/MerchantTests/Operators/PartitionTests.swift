import BelvoSandbox
import Postgres
import TestSupport
import Testing

@testable import MerchantServer
@testable import MerchantStore
@testable import MerchantWorkflows

/// Tables that only grow are partitioned by time: partitions are made before they are needed, and dropped whole.
@Suite struct PartitionTests {
    private func keepPartitions(_ harness: TestHarness, after days: Int64 = 0) async throws {
        try await harness.database.execute("UPDATE test_clock SET ahead = ahead + \(days) * interval '1 day'")
        _ = try await Retention(store: harness.merchant.dependencies.store, log: harness.log.logger).runOnce()
    }

    private func names(_ harness: TestHarness, of table: String) async throws -> [String] {
        try await harness.lines("SELECT name AS line FROM partitions_of(\(table)) ORDER BY begins_at")
    }

    private func tellOfCharge(_ harness: TestHarness, number: Int = 0) async throws {
        try await harness.tell("CHARGES", of: "0b3a1c7e-90d4-4f26-8a51-0d6c2e9b7f1\(number)")
    }

    @Test func `the partition of the next month is there before it begins, and that of the next year`() async throws {
        try await TestHarness.open { harness in
            // The first partitions end within this time, and every pass finds that of its own day already there.
            for _ in 0..<30 {
                try await keepPartitions(harness, after: 14)
                let lacking = try await harness.lines(
                    """
                    SELECT whole || ' ' || moment AS line
                    FROM unnest(ARRAY['webhook_receipts', 'events', 'state_history']) AS whole,
                        unnest(ARRAY[app_now(), app_now() + interval '28 days']) AS moment
                    WHERE NOT EXISTS (
                        SELECT FROM partitions_of(whole) WHERE begins_at <= moment AND moment < ends_at)
                    """)
                #expect(lacking.isEmpty, "\(lacking)")
            }
            #expect(harness.log.holds("retention.partition_made"))
            try await tellOfCharge(harness)
            let place = "SELECT 'x' AS line FROM webhook_receipts_default" as SQL
            #expect(try await harness.lines(place).isEmpty)
        }
    }

    @Test func `a later partition has the keys, indexes, options and triggers of the first`() async throws {
        try await TestHarness.open { harness in
            // The first ones are still there, and others beside them.
            try await keepPartitions(harness, after: 70)
            for table in ["webhook_receipts", "events", "state_history"] {
                // Of each partition what stands on it, without names.
                let kinds = try await harness.lines(
                    """
                    SELECT DISTINCT concat_ws('; ', reloptions::text,
                        (SELECT string_agg(regexp_replace(pg_get_indexdef(indexrelid), 'INDEX .* USING', ''), ', '
                                ORDER BY regexp_replace(pg_get_indexdef(indexrelid), 'INDEX .* USING', ''))
                            FROM pg_index WHERE indrelid = pg_class.oid),
                        (SELECT string_agg(conname || pg_get_constraintdef(oid), ', ' ORDER BY conname)
                            FROM pg_constraint WHERE conrelid = pg_class.oid AND contype = 'c'),
                        (SELECT string_agg(tgname, ', ') FROM pg_trigger WHERE tgrelid = pg_class.oid)) AS line
                    FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
                    WHERE inhparent = to_regclass(\(table))
                    """)
                #expect(kinds.count == 1, "\(table): \(kinds)")
                #expect(try await names(harness, of: table).count >= 2)
            }
            let silent = try await harness.lines(
                """
                SELECT relname::text AS line FROM pg_class
                WHERE relispartition AND relkind = 'r' AND obj_description(oid, 'pg_class') IS NULL
                """)
            #expect(silent.isEmpty, "\(silent)")
        }
    }

    @Test func `a month past its time is dropped whole, but not while something in it is yet to be done`() async throws
    {
        try await ShopDouble.serving { shop in
            try await TestHarness.open(environment: shop.environment) { harness in
                shop.isAway = true
                // Months with a partition each.
                for _ in 0..<4 { try await keepPartitions(harness, after: 31) }
                var client = try await AppClient.arrive(on: harness)
                _ = try await client.enroll()
                try await tellOfCharge(harness)
                let places = """
                    SELECT tableoid::regclass::text AS line FROM webhook_receipts
                    UNION ALL SELECT tableoid::regclass::text FROM events ORDER BY line
                    """ as SQL
                let months = try await harness.lines(places)
                #expect(months.count == 2 && !months.contains { $0.hasSuffix("_first") || $0.hasSuffix("_default") })

                // Neither was worked on: nothing goes, however old it is.
                try await keepPartitions(harness, after: 400)
                #expect(try await harness.lines(places) == months)

                try await harness.database.execute(
                    "UPDATE events SET next_attempt_at = NULL, delivered_at = app_now()")
                try await harness.database.execute(
                    "UPDATE webhook_receipts SET next_poll_at = NULL, outcome = 'done', last_received_at = app_now()")
                try await keepPartitions(harness)
                #expect(harness.log.holds("retention.partition_dropped"))
                #expect(try await harness.lines(places).isEmpty)
                for (table, month) in zip(["events", "webhook_receipts"], months) {
                    #expect(try await !names(harness, of: table).contains(month))
                }
                // What happened stays, and nothing drops it.
                #expect(try await names(harness, of: "state_history").contains("state_history_first"))
                await #expect(throws: DatabaseError.self) {
                    try await harness.database.execute("SELECT drop_partitions('state_history', '0')")
                }
            }
        }
    }

    @Test func `a partition is kept until 60 days after its end`() async throws {
        try await TestHarness.open { harness in
            try await keepPartitions(harness, after: 70)
            let end = "SELECT min(ends_at)::text AS line FROM partitions_of('events')" as SQL
            let first = try await harness.lines(end)
            try await harness.database.execute(
                """
                UPDATE test_clock
                SET ahead = (SELECT min(ends_at) FROM partitions_of('events')) + interval '59 days 23 hours'
                    - clock_timestamp()
                """)
            try await keepPartitions(harness)
            #expect(try await harness.lines(end) == first)
            try await keepPartitions(harness, after: 1)
            #expect(try await harness.lines(end) != first)
        }
    }

    @Test func `what comes when there is no partition for it is kept, found, and put into its partition`() async throws
    {
        try await TestHarness.open { harness in
            // No server made a pass for half a year.
            try await harness.database.execute("UPDATE test_clock SET ahead = interval '200 days'")
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.tell("PAYMENT_INTENTS", of: payment.belvoID)
            try await harness.work()
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
            let states = """
                SELECT outcome AS line FROM webhook_receipts UNION ALL SELECT count(*)::text FROM state_history
                """ as SQL
            let before = try await harness.lines(states)
            #expect(before.first == "done")
            let spare = """
                SELECT tableoid::regclass::text AS line FROM webhook_receipts_default
                UNION SELECT tableoid::regclass::text FROM state_history_default ORDER BY line
                """ as SQL
            #expect(try await harness.lines(spare).contains("webhook_receipts_default"))
            try await keepPartitions(harness)
            #expect(try await harness.lines(spare).isEmpty)
            #expect(try await harness.lines(states) == before)
            await #expect(throws: DatabaseError.self) {
                try await harness.database.execute("DELETE FROM state_history")
            }
        }
    }

    @Test func `what stays without a partition goes row by row`() async throws {
        try await TestHarness.open { harness in
            // A clock that leaps: rows for a month that no pass comes to.
            try await harness.database.execute("UPDATE test_clock SET ahead = interval '200 days'")
            try await harness.tell("BANK_ACCOUNTS", of: "0b3a1c7e-90d4-4f26-8a51-0d6c2e9b7f10")
            try await keepPartitions(harness, after: 90)
            #expect(try await harness.lines("SELECT id::text AS line FROM webhook_receipts_default").count == 1)
            try await keepPartitions(harness, after: 3)
            #expect(try await harness.lines("SELECT id::text AS line FROM webhook_receipts").isEmpty)
        }
    }

    @Test func `the same webhook on another day is another row, and is read once more`() async throws {
        try await TestHarness.open { harness in
            let rows = "SELECT received_count || ' ' || outcome AS line FROM webhook_receipts ORDER BY id" as SQL
            for _ in 0..<2 { try await tellOfCharge(harness) }
            #expect(try await harness.lines(rows) == ["2 received"])
            try await harness.advance(by: .seconds(86_400))
            try await tellOfCharge(harness)
            #expect(try await harness.lines(rows) == ["2 received", "1 received"])
        }
    }

    @Test func `a pass does without a partition that somebody holds, keeps nobody waiting, and drops it later`()
        async throws
    {
        try await TestHarness.open { harness in
            try await harness.database.execute("UPDATE test_clock SET ahead = interval '200 days'")
            try await harness.database.transaction { transaction in
                // An operator reads the events for long.
                _ = try await transaction.rows("SELECT count(*) AS count FROM events")
                try await keepPartitions(harness)
                // The session's own bound would have been longer, and failed the pass.
                #expect(try await names(harness, of: "events").contains("events_first"))
                #expect(try await !names(harness, of: "webhook_receipts").contains("webhook_receipts_first"))
                try await tellOfCharge(harness)
            }
            try await keepPartitions(harness)
            #expect(try await !names(harness, of: "events").contains("events_first"))
            #expect(try await names(harness, of: "events").count == 2)
        }
    }
}
