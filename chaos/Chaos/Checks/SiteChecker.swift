import Glibc
import Invariants
import Postgres
import Transport

/// Holds what apps were told, what Belvo has, and what the rows say against each other, after everything has healed.
struct SiteChecker: Sendable {
    let site: Site
    /// The database that is the true one in the end.
    let database: Database

    init(_ site: Site, database: Database? = nil) {
        self.site = site
        self.database = database ?? site.database
    }

    /// Waits until everything has come to its end, for as long as healing may take, and judges.
    func check(_ report: inout Report) async throws {
        let isQuiet = await site.heals {
            // While the database is away nothing is at its end.
            (try? await open().isEmpty) ?? false
        }
        if !isQuiet { report.stuck += try await open() }
        for row in try await database.rows("SELECT record_type, id::text FROM ops.orphans") {
            report.stuck.append("orphan: \(try row.text("record_type")) \(try row.text("id"))")
        }
        report.stuck += site.testimony.unpaid.map { "purchase \($0) is not paid for the app" }
        report.wrong += site.testimony.complaints
        try await site.belvo.readCalls()
        // What `merchant reconcile` has imported was asked for by no app here.
        let rows = try await database.rows(
            "SELECT \(fragment: PaymentRow.columns) FROM payments WHERE origin = 'own'", within: .seconds(20)
        ).map { try PaymentRow($0) }
        report.payments = rows.count
        report.paid = rows.count { $0.state == "succeeded" }
        let common = InvariantChecker(rows, intents: try await site.belvo.intents())
        report.take(common.judgeIntents())
        checkCalls(&report)
        let broken = common.judgeAnswers(site.testimony.answers)
        report.forgotten += broken.count { $0.kind == .lost }
        report.take(broken)
        let lines = try await database.rows(HistoryLine.all, within: .seconds(20))
        report.take(common.judgeHistory(try lines.map { try HistoryLine($0) }))
        report.differences = try await reconcile()
    }

    /// Everything that has yet to reach its end.
    private func open() async throws -> [String] {
        try await database.rows(
            """
            SELECT 'payment' AS kind, id::text, state FROM payments WHERE status = 'PENDING'
            UNION ALL SELECT 'enrollment', id::text, state FROM enrollments WHERE status = 'PENDING'
            UNION ALL SELECT 'customer', id::text, state FROM customers WHERE state = 'creating'
            UNION ALL SELECT 'redirect', id::text, outcome FROM redirect_receipts WHERE outcome IN ('received', 'sent')
            UNION ALL SELECT 'webhook', id::text, outcome FROM webhook_receipts WHERE outcome = 'received'
            """
        ).map { "\(try $0.text("kind")) \(try $0.text("id")) is \(try $0.text("state"))" }
    }

    /// Nothing that changes something at Belvo was sent twice.
    private func checkCalls(_ report: inout Report) {
        let book = site.belvo.calls
        if book.missing > 0 { report.wrong.append("\(book.missing) calls to Belvo were not seen") }
        for (path, count) in book.counts(of: "authorize_payment_intent", by: \.path) where count > 1 {
            report.double.append("\(path) was called \(count) times")
        }
        for (id, count) in book.counts(of: "create_payment_intent", by: \.externalID) where count > 1 {
            report.double.append("the creation of \(id) was sent \(count) times")
        }
    }

    /// What `merchant reconcile` finds, of the day of the first payment and of today.
    private func reconcile() async throws -> Int {
        let days = try await database.rows(
            """
            SELECT DISTINCT to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day
            FROM (SELECT min(created_at) AS moment FROM payments UNION ALL SELECT app_now()) AS moments
            WHERE moment IS NOT NULL
            """)
        var count = 0
        for day in days {
            let run = try await runTool(
                [site.tools.program("merchant"), "reconcile", "--day", try day.text("day")], environment: site.settings,
                log: "\(site.directory)/reconcile.log", expecting: [0, 1])
            // The last line: "2026-11-21: 0 differences".
            let number = run.output.split(separator: "\n").last?.split(separator: " ").dropFirst().first
            guard let number = number.flatMap({ Int($0) }), (number == 0) == (run.code == 0) else {
                throw CommandFailed(description: "merchant reconcile said: \(run.output)")
            }
            count += number
        }
        return count
    }
}

extension Row {
    func text(_ column: String) throws -> String { try decode(column) }
}
