import FoundationEssentials
import Glibc
import Postgres
import TestSupport
import Testing

@testable import MerchantModel
@testable import MerchantStore

/// `docs/money-rules.md` shows the triggers and functions that guard money as a migrated database has them, since each
/// migration that changes one repeats the whole of it. `./dev money-rules` writes it anew.
@Suite struct MoneyRulesDocumentTests {
    @Test func `the document shows the rules as a migrated database has them`() async throws {
        let rules = try await TestDatabase.open(.merchant) { try await Self.rules(of: $0) }
        let text = try #require(String(validating: try SmallFile.read(Self.path), as: UTF8.self))
        let parts = text.split(separator: Self.mark, omittingEmptySubsequences: false)
        try #require(parts.count == 3, "two marks enclose what is generated")
        let current = [parts[0], "\n\n\(rules)\n\n", parts[2]].joined(separator: Self.mark)
        if getenv("WRITE_MONEY_RULES") != nil {
            try Data(current.utf8).write(to: URL(filePath: Self.path))
        } else {
            #expect(text == current, "./dev money-rules writes it anew")
        }
    }

    @Test func `the functions that decide about money are among them`() async throws {
        let rules = try await TestDatabase.open(.merchant) { try await Self.rules(of: $0) }
        for name in ["guard_payment", "takes_reference", "may_belvo_pay", "raise_money_alarms", "keep_orders_in_use"] {
            #expect(rules.contains("### \(name)\n"), "\(name)")
        }
        #expect(rules.contains("what_may_be_paid_is_polled"))
    }

    private static let mark = "<!-- generated -->"
    private static let path =
        "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/") + "/docs/money-rules.md"

    private static func rules(of database: Database) async throws -> String {
        func texts(_ query: SQL) async throws -> [(name: String, text: String)] {
            try await database.rows(query).map { (try $0.decode("name"), try $0.decode("text")) }
        }
        let triggers = try await texts(triggers).map { trigger in
            ["BEFORE ", "AFTER ", "FOR EACH ROW", "WHEN ", "EXECUTE "].reduce("\(trigger.text);") { text, clause in
                text.replacing(" \(clause)", with: "\n    \(clause)", maxReplacements: 1)
            }
        }
        let functions = try await texts(functions).map { "### \($0.name)\n\n```text\n\($0.text)\n```" }
        let constraints = try await texts(constraints).map { "\($0.name)\n    \($0.text)" }
        return """
            ## Triggers

            ```text
            \(triggers.joined(separator: "\n"))
            ```

            ## Functions

            \(functions.joined(separator: "\n\n"))

            ## Constraints of payments

            ```text
            \(constraints.joined(separator: "\n"))
            ```
            """
    }

    private static let triggers: SQL = """
        SELECT tgname::text AS name, pg_get_triggerdef(oid, true) AS text FROM pg_trigger
        WHERE NOT tgisinternal AND tgrelid IN (
            'payments'::regclass, 'orders'::regclass, 'widget_tokens'::regclass, 'money_alarms'::regclass)
        ORDER BY tgrelid::regclass::text, tgname
        """

    /// The functions that these triggers and the insertion of a payment call, and those that they call in turn;
    /// `app_now` is the clock.
    private static let functions: SQL = #"""
        WITH RECURSIVE rules AS (
            SELECT DISTINCT routine.oid, routine.proname, routine.prosrc
            FROM pg_trigger JOIN pg_proc AS routine ON routine.oid = tgfoid
            WHERE NOT tgisinternal
                AND tgrelid IN (
                    'payments'::regclass, 'orders'::regclass, 'widget_tokens'::regclass, 'money_alarms'::regclass)
            UNION
            SELECT oid, proname, prosrc FROM pg_proc WHERE proname = 'require_failure_read'
            UNION
            SELECT called.oid, called.proname, called.prosrc
            FROM rules JOIN pg_proc AS called ON rules.prosrc ~ ('\m' || called.proname || '\(')
            WHERE called.pronamespace = 'public'::regnamespace AND called.proname <> 'app_now'
        )
        SELECT proname::text AS name, rtrim(pg_get_functiondef(oid), E'\n') AS text FROM rules ORDER BY proname
        """#

    private static let constraints: SQL = """
        SELECT conname::text AS name, pg_get_constraintdef(oid, true) AS text FROM pg_constraint
        WHERE conrelid = 'payments'::regclass AND contype = 'c'
        UNION ALL
        SELECT relname::text, 'UNIQUE' || substring(pg_get_indexdef(indexrelid, 0, true) FROM ' \\(.*$')
        FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
        WHERE indrelid = 'payments'::regclass AND indisunique AND NOT indisprimary
        ORDER BY name
        """
}
