import Glibc
import JSON
import Postgres
import Transport

/// Holds what apps were told, what Belvo has, and what the rows say against each other, after everything has healed.
struct InvariantChecker: Sendable {
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
        let rows = try await payments()
        report.payments = rows.count
        report.paid = rows.count { $0.state == "succeeded" }
        let byID = Dictionary(uniqueKeysWithValues: rows.map { ($0.id, $0) })
        checkIntents(byID, try await site.belvo.intents(), &report)
        checkCalls(&report)
        checkAnswers(byID, &report)
        try await checkHistory(byID, &report)
        report.differences = try await reconcile()
    }

    private struct PaymentRow: Sendable {
        let id: String
        let subject: String
        let reference: String
        let state: String
        let isSigned: Bool
        let belvoID: String?
    }

    private func payments() async throws -> [PaymentRow] {
        let rows = try await database.rows(
            """
            SELECT id::text, subject, coalesce(reference, id::text) AS reference, state,
                assertion_digest IS NOT NULL AS is_signed, belvo_id::text
            FROM payments
            """, within: .seconds(20))
        return try rows.map { row in
            PaymentRow(
                id: try row.text("id"), subject: try row.text("subject"), reference: try row.text("reference"),
                state: try row.text("state"), isSigned: try row.decode("is_signed"), belvoID: try row.decode("belvo_id")
            )
        }
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

    /// Every intent is one payment of ours; of those for one reference one is paid.
    private func checkIntents(
        _ payments: [String: PaymentRow], _ intents: [BelvoStandIn.Intents], _ report: inout Report
    ) {
        var paid: [String: Int] = [:]
        for intent in intents {
            if intent.created > 1 {
                report.double.append("\(intent.created) intents for payment \(intent.externalID)")
            }
            guard let payment = payments[intent.externalID] else {
                report.lost.append("intent \(intent.ids.joined(separator: " ")) was opened and never remembered")
                continue
            }
            paid["\(payment.subject)/\(payment.reference)", default: 0] += intent.succeeded
            if intent.authorized > 0, !payment.isSigned {
                report.lost.append("payment \(payment.id) was authorized, and its signature is not remembered")
            }
            if intent.succeeded > 0, payment.state != "succeeded" {
                report.lost.append("payment \(payment.id) is paid at Belvo and \(payment.state) here")
            }
            if intent.succeeded == 0, payment.state == "succeeded" {
                report.wrong.append("payment \(payment.id) counts as paid here and is not")
            }
        }
        for (reference, count) in paid where count > 1 { report.double.append("\(reference) was paid \(count) times") }
        let known = Set(intents.map(\.externalID))
        for payment in payments.values where payment.state != "failed" && !known.contains(payment.id) {
            report.wrong.append("payment \(payment.id) is \(payment.state) and unknown to Belvo")
        }
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

    /// What was answered is still true, and one key has one answer.
    private func checkAnswers(_ payments: [String: PaymentRow], _ report: inout Report) {
        var records: [String: String] = [:]
        var bodies: [String: Set<[UInt8]>] = [:]
        for told in site.testimony.answers {
            if told.call == "POST /v1/payment-intents" {
                guard let id = (try? JSONDocument(parsing: told.body).root)?["id"]?.string else { continue }
                if payments[id] == nil {
                    report.lost.append("payment \(id) was answered and is not there")
                    report.forgotten += 1
                }
                let key = "\(told.subject) \(told.key ?? "")"
                if let other = records.updateValue(id, forKey: key), other != id {
                    report.double.append("key \(key) made \(other) and \(id)")
                }
                if told.status == 201 { bodies[key, default: []].insert(told.body) }
            } else if told.call.hasSuffix("/authorize") {
                let id = String(told.call.split(separator: "/").dropLast().last ?? "")
                if payments[id]?.isSigned != true {
                    report.lost.append("payment \(id): the signature was taken and is not there")
                    report.forgotten += 1
                }
            }
        }
        for (key, texts) in bodies where texts.count > 1 {
            report.wrong.append("key \(key) was answered in \(texts.count) ways")
        }
    }

    /// Each line begins where the one before ended, the last one is the present, and no end was left.
    private func checkHistory(_ payments: [String: PaymentRow], _ report: inout Report) async throws {
        let lines = try await database.rows(
            """
            SELECT record_id::text AS id, state_before, state_after FROM state_history
            WHERE record_type = 'payment' ORDER BY state_history.id
            """, within: .seconds(20))
        var present: [String: String] = [:]
        for line in lines {
            let id = try line.text("id")
            let before: String? = try line.decode("state_before")
            if before != present[id] {
                report.wrong.append("payment \(id) went on from \(before ?? "") and was \(present[id] ?? "")")
            }
            if before == "succeeded" || before == "failed" {
                report.wrong.append(
                    "payment \(id) left its end: \(before ?? "") became \(try line.text("state_after"))")
            }
            present[id] = try line.text("state_after")
        }
        for payment in payments.values where present[payment.id] != payment.state {
            report.wrong.append("payment \(payment.id) is \(payment.state); the history: \(present[payment.id] ?? "")")
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
