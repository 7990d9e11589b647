import FoundationEssentials
import HTTP
import Invariants
import JSON
import Payments
import Postgres
import Transport

@testable import BelvoSandbox
@testable import MerchantModel

/// Holds what Belvo has seen, what apps were told and what the rows say against each other: by the rules that hold
/// everywhere, and by those that only a simulation can judge, which sees every call and every moment.
struct SimulationChecker {
    let belvo: SimulatedBelvo
    let fleet: Fleet
    let shop: Shop
    private(set) var violations: [Violation] = []
    private(set) var payments = 0
    private(set) var paid = 0

    init(belvo: SimulatedBelvo, fleet: Fleet, shop: Shop) {
        self.belvo = belvo
        self.fleet = fleet
        self.shop = shop
    }

    /// While Belvo still shows some intents otherwise than they were asked for.
    mutating func checkStorm(_ database: SimulatedDatabase) async throws {
        for payment in try await Self.payments(in: database) {
            guard let id = payment.belvoID, belvo.falsified[id] != nil, payment.state == "succeeded" else { continue }
            blame(.wrong, "payment \(payment.id) counts as paid, and Belvo shows something else than was asked for")
        }
        for row in try await database.rows(Self.paidTwiceUnalarmed) {
            blame(.wrong, "money has arrived twice for \(try row.text("reference")), and there is no alarm")
        }
    }

    /// References for which a payment is paid and another one of the same user has collected, without an alarm.
    private static let paidTwiceUnalarmed: SQL = """
        SELECT subject || '/' || reference AS reference FROM payments
        WHERE state = 'succeeded' OR contradicted_at IS NOT NULL OR collected_by IS NOT NULL AND closed_at_belvo IS NULL
        GROUP BY subject, reference
        HAVING count(*) > 1 AND NOT EXISTS (
            SELECT FROM money_alarms
            WHERE kind = 'double_paid' AND payment_id = ANY (array_agg(payments.id)))
        """

    /// When everything has healed.
    mutating func checkEnd(
        _ database: SimulatedDatabase, isQuiet: Bool, differences: [Difference]
    ) async throws {
        if !isQuiet {
            for row in try await database.rows(BackgroundEvents.open) {
                blame(
                    .stuck, "\(try row.decode("kind", as: String.self)) \(try row.text("id")): \(try row.text("state"))"
                )
            }
        }
        for row in try await database.rows("SELECT record_type, id::text FROM ops.orphans WHERE record_type <> 'event'")
        {
            blame(.stuck, "orphan: \(try row.text("record_type")) \(try row.text("id"))")
        }
        let rows = try await Self.payments(in: database)
        payments = rows.count
        paid = rows.count { $0.state == "succeeded" }
        let payments = Dictionary(uniqueKeysWithValues: rows.map { ($0.id, $0) })
        check(differences, payments)
        let common = InvariantChecker(rows.map(\.row), intents: intents)
        violations += common.judgeIntents()
        violations += common.judgeHistory(try await database.rows(HistoryLine.all).map { try HistoryLine($0) })
        violations += common.judgeAnswers(answers)
        checkTerms(payments)
        checkOpenings(payments)
        try await checkWhatWasGivenUp(database, payments)
        try await checkEnrollments(database)
        try await checkEvents(database, payments)
        try await checkMoney(database, payments)
        try await judgeWebhooks(database)
        for text in belvo.violations { blame(.double, text) }
    }

    mutating func blame(_ kind: Violation.Kind, _ text: String) {
        violations.append(Violation(kind, text))
    }
}

// Belvo's world against ours.
extension SimulationChecker {
    /// Only what was paid without us may have been paid twice; that is found, and nothing else is.
    private mutating func check(_ differences: [Difference], _ payments: [String: PaymentOfDay]) {
        let odd = payments.values.filter { $0.belvoID.map(isOdd) ?? false }
        for difference in differences {
            let payment = difference.payment.flatMap { payments[$0.uuidString.lowercased()] }
            let isTakenBack = payment?.belvoID.map(belvo.takenBack.contains) ?? false
            let isExpected =
                difference.kind == .doublePaid
                && odd.contains { $0.subject == payment?.subject && $0.reference == payment?.reference }
                || difference.kind == .externalID
                    && belvo.everFalsified.contains(difference.intent?.uuidString.lowercased() ?? "")
                || [.status, .chargeStatus, .chargedTwice].contains(difference.kind) && isTakenBack
            if !isExpected { blame(difference.kind == .doublePaid ? .double : .wrong, "reconcile finds \(difference)") }
        }
    }

    /// Whether it was paid without us, or Belvo has said one thing of it and then the opposite.
    private func isOdd(_ intent: String) -> Bool {
        belvo.signedElsewhere[intent] != nil || belvo.takenBack.contains(intent)
    }

    /// What Belvo has, by the payment that it is for.
    private var intents: [IntentsOfPayment] {
        var grouped: [String: IntentsOfPayment] = [:]
        for intent in belvo.intents {
            let external = intent.externalID ?? "none"
            let isElsewhere = belvo.signedElsewhere[intent.id] != nil
            var known = grouped[external] ?? IntentsOfPayment(externalID: external, ids: [], authorized: 0, paid: 0)
            known.ids.append(intent.id)
            if intent.isAuthorized, !isElsewhere { known.authorized += 1 }
            if intent.status == .succeeded, !isElsewhere { known.paid += 1 }
            if intent.status == .succeeded, isElsewhere { known.paidElsewhere += 1 }
            if belvo.takenBack.contains(intent.id) { known.isContradicted = true }
            grouped[external] = known
        }
        return grouped.values.sorted { $0.externalID < $1.externalID }
    }

    /// The successes that apps have heard.
    private var answers: [ToldAnswer] {
        fleet.said.filter(\.response.status.isSuccess).map { said in
            ToldAnswer(
                subject: said.user, path: said.request.target.path, key: said.request.headers["idempotency-key"],
                status: said.response.status.code,
                isReplayed: said.response.headers["idempotent-replayed"] != nil, request: said.request.body,
                body: said.response.body)
        }
    }

    /// What is to be paid is what the shop asks for, here as at Belvo.
    private mutating func checkTerms(_ payments: [String: PaymentOfDay]) {
        for intent in belvo.intents {
            guard let payment = intent.externalID.flatMap({ payments[$0] }) else { continue }
            if payment.belvoID != intent.id, payment.state != "failed" {
                blame(.wrong, "payment \(payment.id) is not known by Belvo's id \(intent.id)")
            }
            if intent.amount.text != payment.row.amount {
                blame(.wrong, "payment \(payment.id) is \(payment.row.amount) here and \(intent.amount.text) at Belvo")
            }
        }
        for payment in payments.values where payment.state != "failed" {
            // A price may change once a payment is given up; what is then paid elsewhere was opened at the old one.
            let isElsewhere = payment.belvoID.map { belvo.signedElsewhere[$0] != nil } ?? false
            if let prices = shop.prices[payment.reference], !prices.contains(payment.row.amount), !isElsewhere {
                blame(.wrong, "payment \(payment.id) is \(payment.row.amount), and its order one of \(prices.sorted())")
            }
        }
    }

    /// No intent was opened beside one that had been signed, by us or elsewhere, and that had not failed at Belvo.
    private mutating func checkOpenings(_ payments: [String: PaymentOfDay]) {
        judgeAuthorizations(payments)
        for opening in belvo.openings {
            guard let payment = payments[opening.externalID] else { continue }
            for other in opening.others {
                guard let earlier = other.externalID.flatMap({ payments[$0] }), earlier.subject == payment.subject,
                    earlier.reference == payment.reference
                else { continue }
                // A last status that was taken back counts for what was begun after a server had read it.
                let begun = payment.createdAt - SimulatedTime.beginning
                let isUnheard =
                    belvo.takenBackAt[other.id].map { takenBackAt in
                        !(belvo.readings[other.id] ?? []).contains { takenBackAt < $0 && $0 < begun }
                    } ?? false
                if wasSigned(other, before: payment.createdAt), !isUnheard {
                    blame(.double, "payment \(payment.id) was opened while \(earlier.id) was \(other.status.rawValue)")
                }
                if isSignable(other, beside: opening, since: payment.createdAt) {
                    blame(
                        .double, "payment \(payment.id) was opened while a token could sign \(earlier.id)")
                }
            }
        }
    }

    /// Whether an intent had been signed and could be paid when another one was opened or authorized. One that was
    /// signed elsewhere counts if that was before the other one's row said so.
    private func wasSigned(_ intent: PaymentIntent, before moment: Payments.Timestamp?) -> Bool {
        guard intent.status != .failed, intent.status != .canceled else { return false }
        guard let signedAt = belvo.signedElsewhere[intent.id] else { return intent.isAuthorized }
        return moment.map { signedAt < $0 - SimulatedTime.beginning } ?? false
    }

    /// Whether a user could sign one intent with a token when another one was opened or authorized, and had the token
    /// before the row said so.
    private func isSignable(
        _ intent: PaymentIntent, beside opening: SimulatedBelvo.Opening, since moment: Payments.Timestamp?
    ) -> Bool {
        guard let moment, !intent.status.isTerminal, !belvo.takenBack.contains(intent.id) else { return false }
        return belvo.isSignable(intent, at: opening.time, begun: moment - SimulatedTime.beginning)
    }

    /// Nothing was authorized beside what had been signed, by us or elsewhere, and that Belvo had not closed.
    private mutating func judgeAuthorizations(_ payments: [String: PaymentOfDay]) {
        for authorization in belvo.authorizations {
            guard let payment = payments[authorization.externalID] else { continue }
            for other in authorization.others where other.externalID != authorization.externalID {
                guard let earlier = other.externalID.flatMap({ payments[$0] }), earlier.subject == payment.subject,
                    earlier.reference == payment.reference, !belvo.takenBack.contains(other.id)
                else { continue }
                if wasSigned(other, before: payment.authorizedAt) {
                    blame(.double, "\(payment.id) was authorized while \(earlier.id) was \(other.status.rawValue)")
                }
                if isSignable(other, beside: authorization, since: payment.authorizedAt) {
                    blame(.double, "\(payment.id) was authorized while a token could sign \(earlier.id)")
                }
            }
        }
    }

    /// What is wrong with money has an alarm.
    private mutating func checkMoney(
        _ database: SimulatedDatabase, _ payments: [String: PaymentOfDay]
    ) async throws {
        var alarms: [String: Set<String>] = [:]
        for row in try await database.rows("SELECT payment_id::text AS id, kind FROM money_alarms") {
            alarms[try row.text("id"), default: []].insert(try row.text("kind"))
        }
        let paid = Dictionary(grouping: payments.values.filter { $0.state == "succeeded" }) {
            "\($0.subject)/\($0.reference)"
        }
        for (reference, rows) in paid where rows.count > 1 {
            if !rows.contains(where: { alarms[$0.id]?.contains("double_paid") ?? false }) {
                blame(.wrong, "\(reference) was paid \(rows.count) times and nobody is alarmed")
            }
        }
        let late = try await database.rows(
            """
            SELECT DISTINCT record_id::text AS id FROM state_history
            WHERE record_type = 'payment' AND state_before = 'failed' AND state_after = 'succeeded'
            """)
        for row in late where alarms[try row.text("id")]?.contains("late_success") != true {
            blame(.wrong, "payment \(try row.text("id")) was paid after it had been given up, and nobody is alarmed")
        }
        for payment in payments.values
        where payment.isContradicted && alarms[payment.id]?.contains("contradiction") != true {
            blame(.wrong, "Belvo took its last word on payment \(payment.id) back, and nobody is alarmed")
        }
        let orders = try await database.rows(
            """
            SELECT payments.id::text AS id, order_progress.status
            FROM payments JOIN orders USING (reference, subject) JOIN order_progress USING (reference)
            WHERE state = 'succeeded' AND payments.amount_centavos <> orders.amount_centavos
            """)
        for row in orders {
            let id = try row.text("id")
            if try row.text("status") != "disputed" || !(alarms[id]?.contains("paid_beside_order") ?? false) {
                blame(.wrong, "payment \(id) is not what its order asks for, and nobody is alarmed")
            }
        }
    }

    private mutating func checkEnrollments(_ database: SimulatedDatabase) async throws {
        var rows: [String: String] = [:]
        for row in try await database.rows("SELECT id::text, coalesce(belvo_id::text, '') AS belvo_id FROM enrollments")
        {
            rows[try row.text("id")] = try row.text("belvo_id")
        }
        for enrollment in belvo.enrollments {
            let external = enrollment.externalID ?? "none"
            guard let known = rows[external] else {
                blame(.lost, "enrollment \(enrollment.id) was never remembered")
                continue
            }
            // One that was sent again may come to be twice: the one that is not known is not used.
            if known != enrollment.id, enrollment.redirection.completedAt != nil || enrollment.credential != nil {
                blame(.double, "an enrollment beside the one of \(external) was used")
            }
        }
    }
}

// What was told, and what happened in which order.
extension SimulationChecker {
    /// Nothing was given up as unknown to Belvo that Belvo had. An intent that was opened later was asked for by a
    /// server that had been paused; no user can sign it.
    private mutating func checkWhatWasGivenUp(
        _ database: SimulatedDatabase, _ payments: [String: PaymentOfDay]
    ) async throws {
        let lines = try await database.rows(
            """
            SELECT record_id::text AS id, changed_at FROM state_history
            WHERE record_type = 'payment' AND state_after = 'failed' ORDER BY state_history.id
            """)
        for line in lines {
            let id = try line.text("id")
            let changedAt: Payments.Timestamp = try line.decode("changed_at")
            if payments[id]?.row.failureCode == "creation_lost",
                belvo.intents.contains(where: {
                    $0.externalID == id && $0.createdAt.microseconds < changedAt.microsecondsSince1970
                        && ![.failed, .canceled].contains($0.status)
                })
            {
                blame(.lost, "payment \(id) was given up as unknown to Belvo, which had it")
            }
        }
    }

    /// The shop was told once of each payment that was paid, and of no other.
    private mutating func checkEvents(
        _ database: SimulatedDatabase, _ payments: [String: PaymentOfDay]
    ) async throws {
        var told: [String: Int] = [:]
        for row in try await database.rows(
            "SELECT record_id::text FROM events WHERE type = 'payment.succeeded' AND delivered_at IS NULL")
        {
            told[try row.text("record_id"), default: 0] += 1
        }
        for id in shop.heard { told[id, default: 0] += 1 }
        for payment in payments.values where told[payment.id, default: 0] != (payment.state == "succeeded" ? 1 : 0) {
            blame(.lost, "the shop was told \(told[payment.id] ?? 0) times that payment \(payment.id) was paid")
        }
    }

    /// A webhook that was taken is kept.
    private mutating func judgeWebhooks(_ database: SimulatedDatabase) async throws {
        var receipts: Set<String> = []
        for row in try await database.rows("SELECT DISTINCT object_id::text AS id FROM webhook_receipts") {
            if let id = try row.decode("id", as: String?.self) { receipts.insert(id) }
        }
        for said in fleet.said
        where said.response.status.isSuccess && said.response.status.code != 202
            && said.request.target.path == "/webhooks/belvo"
        {
            let told = try? JSONDocument(parsing: said.request.body).root["object_id"]?.string
            if let told, !receipts.contains(told) {
                blame(.lost, "a webhook about \(told) was taken and forgotten")
            }
        }
    }
}

/// A payment with the moments that only a simulation can judge.
struct PaymentOfDay {
    let row: PaymentRow
    let isContradicted: Bool
    let createdAt: Payments.Timestamp
    /// When its row said first that it is authorized.
    let authorizedAt: Payments.Timestamp?

    var id: String { row.id }
    var subject: String { row.subject }
    var reference: String { row.reference }
    var state: String { row.state }
    var belvoID: String? { row.belvoID }
}

extension SimulationChecker {
    private static func payments(in database: SimulatedDatabase) async throws -> [PaymentOfDay] {
        try await database.rows(
            """
            SELECT \(fragment: PaymentRow.columns), contradicted_at IS NOT NULL AS is_contradicted, created_at,
                authorize_sent_at
            FROM payments ORDER BY id
            """
        ).map { row in
            PaymentOfDay(
                row: try PaymentRow(row), isContradicted: try row.decode("is_contradicted"),
                createdAt: try row.decode("created_at"), authorizedAt: try row.decode("authorize_sent_at"))
        }
    }
}

extension Row {
    fileprivate func text(_ column: String) throws -> String { try decode(column, as: String.self) }
}
