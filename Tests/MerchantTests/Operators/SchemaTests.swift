import Postgres
import TestSupport
import Testing

@testable import MerchantStore

/// The schema as an operator with psql finds it: everything explained, and nothing shown that is personal.
@Suite struct SchemaTests {
    private func lines(_ query: SQL) async throws -> [String] {
        try await TestDatabase.open(.merchant) { database in
            try await database.rows(query).map { try $0.decode("line") }
        }
    }

    @Test func `every table, view and column has a comment`() async throws {
        let silent = try await lines(
            """
            SELECT format('%s.%s', relnamespace::regnamespace, relname) AS line
            FROM pg_class
            WHERE relnamespace IN ('public'::regnamespace, 'ops'::regnamespace) AND relkind IN ('r', 'p', 'v', 'm', 'f')
                AND obj_description(oid, 'pg_class') IS NULL
            UNION ALL
            SELECT format('%s.%s.%s', relnamespace::regnamespace, relname, attname)
            FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
            WHERE relnamespace IN ('public'::regnamespace, 'ops'::regnamespace) AND relkind IN ('r', 'p', 'v', 'm', 'f')
                AND col_description(pg_class.oid, attnum) IS NULL
            ORDER BY line
            """)
        #expect(silent.isEmpty, "\(silent)")
    }

    @Test func `each view's comment is a question`() async throws {
        let views = try await lines(
            """
            SELECT coalesce(obj_description(oid, 'pg_class'), '') AS line FROM pg_class
            WHERE relnamespace = 'ops'::regnamespace AND relkind = 'v'
            """)
        #expect(views.count >= 15)
        for view in views { #expect(view.contains("?"), "\(view)") }
    }

    @Test func `no view shows a ciphertext, a digest or what a person wrote`() async throws {
        let shown = try await lines(
            """
            SELECT format('%s.%s %s', relname, attname, atttypid::regtype) AS line
            FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0
            WHERE relnamespace = 'ops'::regnamespace AND relkind = 'v' AND (
                atttypid IN ('bytea'::regtype, 'json'::regtype, 'jsonb'::regtype)
                OR attname ~ 'ciphertext|digest|lookup|metadata|description|redirect_url|fido|body')
            """)
        #expect(shown.isEmpty, "\(shown)")
        let definitions = try await lines(
            "SELECT viewname || ': ' || definition AS line FROM pg_views WHERE schemaname = 'ops'")
        for word in ["ciphertext", "digest", "lookup", "metadata", "redirect_url", "fido_options"] {
            for definition in definitions { #expect(!definition.contains(word), "\(word) in \(definition)") }
        }
    }

    @Test func `merchant_readonly reads every view and nothing else, and writes nowhere`() async throws {
        try await TestHarness.open { harness in
            let database = harness.database
            func names(_ query: SQL) async throws -> [String] { try await harness.lines(query) }
            try await database.execute("GRANT SELECT ON test_clock TO merchant_readonly")
            // With rows: what a view asks of each needs its rights, too.
            try await database.execute(
                """
                INSERT INTO orders (reference, subject, amount_centavos, description)
                VALUES ('order-1', 'ana', 1990, 'Two coffees')
                """)
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            _ = try await client.cancel(payment)
            _ = try await client.openPaymentBySDK(from: client.enrollBySDK())
            let views = try await names("SELECT viewname::text AS line FROM pg_views WHERE schemaname = 'ops'")
            #expect(views.count >= 15)
            for view in views {
                try await database.transaction { transaction in
                    try await transaction.execute("SET LOCAL ROLE merchant_readonly")
                    _ = try await transaction.rows(SQL(trusted: "SELECT * FROM ops.\(view)"))
                }
            }
            let tables = try await names(
                """
                SELECT tablename::text AS line FROM pg_tables
                WHERE schemaname = 'public' AND tablename <> 'test_clock'
                """)
            #expect(tables.count >= 10)
            for table in tables {
                let failure = await #expect(throws: DatabaseError.self, "\(table)") {
                    try await database.transaction { transaction in
                        try await transaction.execute("SET LOCAL ROLE merchant_readonly")
                        _ = try await transaction.rows(SQL(trusted: "SELECT 1 AS one FROM public.\(table)"))
                    }
                }
                #expect("\(String(describing: failure))".contains("permission denied"))
            }
            let writable = try await names(
                """
                SELECT format('%s.%s', relnamespace::regnamespace, relname) AS line FROM pg_class
                WHERE relnamespace IN ('public'::regnamespace, 'ops'::regnamespace) AND relname <> 'test_clock'
                    AND relkind IN ('r', 'p', 'v', 'm', 'S') AND (
                        has_table_privilege('merchant_readonly', oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
                        OR (relkind <> 'v' AND has_table_privilege('merchant_readonly', oid, 'SELECT')))
                """)
            #expect(writable.isEmpty, "\(writable)")
        }
    }

    @Test func `tables that say what may be paid or was are not emptied at a stroke`() async throws {
        try await TestHarness.open { harness in
            for table in ["payments", "orders", "widget_tokens", "money_alarms", "state_history"] {
                let failure = await #expect(throws: DatabaseError.self, "\(table)") {
                    try await harness.database.execute(SQL(trusted: "TRUNCATE \(table) CASCADE"))
                }
                #expect("\(String(describing: failure))".contains("23000"))
            }
        }
    }
}
