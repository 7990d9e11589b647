import FoundationEssentials
import HTTP
import JSON
import Payments
import Postgres
import Transport

@testable import BelvoSandbox
@testable import MerchantModel

/// Holds what Belvo has seen, what apps were told and what the rows say against each other.
struct InvariantChecker {
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
    }

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
        checkIntents(payments)
        checkRows(payments)
        checkOpenings(payments)
        try await checkHistory(database, payments)
        try await checkEnrollments(database)
        try await checkEvents(database, payments)
        try await checkMoney(database, payments)
        try await judgeAnswers(database, payments)
        for text in belvo.violations { blame(.double, text) }
    }

    mutating func blame(_ kind: Violation.Kind, _ text: String) {
        violations.append(Violation(kind: kind, text: text))
    }
}

// Belvo's world against ours.
extension InvariantChecker {
    /// Only what was paid without us may have been paid twice; that is found, and nothing else is.
    private mutating func check(_ differences: [Difference], _ payments: [String: PaymentRow]) {
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

    /// Every intent is one payment of ours, and of those for one reference one is paid.
    private mutating func checkIntents(_ payments: [String: PaymentRow]) {
        var paid: [String: [String]] = [:]
        var seen: Set<String> = []
        for intent in belvo.intents {
            let external = intent.externalID ?? "none"
            if !seen.insert(external).inserted { blame(.double, "two intents at Belvo for payment \(external)") }
            guard let payment = payments[external] else {
                blame(.lost, "intent \(intent.id) was opened and never remembered")
                continue
            }
            if intent.isAuthorized, !payment.isSigned, belvo.signedElsewhere[intent.id] == nil {
                blame(.lost, "payment \(external) was authorized and its signature never remembered")
            }
            if payment.belvoID != intent.id, payment.state != "failed" {
                blame(.wrong, "payment \(external) is not known by Belvo's id \(intent.id)")
            }
            if intent.amount.text != payment.amount {
                blame(.wrong, "payment \(external) is \(payment.amount) here and \(intent.amount.text) at Belvo")
            }
            if belvo.takenBack.contains(intent.id) { continue }
            if intent.status == .succeeded {
                if belvo.signedElsewhere[intent.id] == nil {
                    paid["\(payment.subject)/\(payment.reference)", default: []].append(intent.id)
                }
                if payment.state != "succeeded" {
                    blame(.lost, "payment \(external) was paid at Belvo and is \(payment.state) here")
                }
            } else if payment.state == "succeeded" {
                blame(.wrong, "payment \(external) is \(intent.status.rawValue) at Belvo and counts as paid here")
            }
        }
        for (reference, intents) in paid where intents.count > 1 {
            blame(.double, "\(reference) was paid \(intents.count) times")
        }
    }

    private mutating func checkRows(_ payments: [String: PaymentRow]) {
        let known = Set(belvo.intents.compactMap(\.externalID))
        for payment in payments.values where payment.state != "failed" {
            if !known.contains(payment.id) {
                blame(.wrong, "payment \(payment.id) is \(payment.state) and not at Belvo")
            }
            // A price may change once a payment is given up; what is then paid elsewhere was opened at the old one.
            let isElsewhere = payment.belvoID.map { belvo.signedElsewhere[$0] != nil } ?? false
            if let prices = shop.prices[payment.reference], !prices.contains(payment.amount), !isElsewhere {
                blame(.wrong, "payment \(payment.id) is \(payment.amount), and its order one of \(prices.sorted())")
            }
        }
    }

    /// No intent was opened beside one that had been signed, by us or elsewhere, and that had not failed at Belvo.
    private mutating func checkOpenings(_ payments: [String: PaymentRow]) {
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
    private mutating func judgeAuthorizations(_ payments: [String: PaymentRow]) {
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
        _ database: SimulatedDatabase, _ payments: [String: PaymentRow]
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
extension InvariantChecker {
    /// Each line begins where the one before ended, the last one is the present, and what was final stays.
    private mutating func checkHistory(_ database: SimulatedDatabase, _ payments: [String: PaymentRow]) async throws {
        var present: [String: String] = [:]
        var paidReferences: Set<String> = []
        let lines = try await database.rows(
            """
            SELECT record_type, record_id::text, state_before, state_after, changed_at FROM state_history ORDER BY id
            """)
        for line in lines {
            let (kind, id) = (try line.text("record_type"), try line.text("record_id"))
            let before: String? = try line.decode("state_before")
            let after = try line.text("state_after")
            if before != present[id] {
                blame(.wrong, "\(kind) \(id) went from \(before ?? "nothing") and was \(present[id] ?? "nothing")")
            }
            if kind == "payment", let payment = payments[id] {
                let wasElsewhere = payment.belvoID.map { belvo.signedElsewhere[$0] != nil } ?? false
                if before == "succeeded" || before == "failed" && !(wasElsewhere && after == "succeeded") {
                    blame(.wrong, "payment \(id) went from \(before ?? "") to \(after)")
                }
                let reference = "\(payment.subject)/\(payment.reference)"
                if after == "authorizing", paidReferences.contains(reference) {
                    blame(.double, "payment \(id) was authorized when \(reference) had been paid")
                }
                if after == "succeeded" { paidReferences.insert(reference) }
                // One that was opened later was asked for by a server that had been paused; nobody can sign it.
                let changedAt: Payments.Timestamp = try line.decode("changed_at")
                if after == "failed", payment.failureCode == "creation_lost",
                    belvo.intents.contains(where: {
                        $0.externalID == id && $0.createdAt.microseconds < changedAt.microsecondsSince1970
                            && ![.failed, .canceled].contains($0.status)
                    })
                {
                    blame(.lost, "payment \(id) was given up as unknown to Belvo, which had it")
                }
            }
            present[id] = after
        }
        for payment in payments.values where payment.historyState != present[payment.id] {
            blame(
                .wrong,
                "payment \(payment.id) is \(payment.historyState), the history says \(present[payment.id] ?? "")")
        }
    }

    /// Once a key has an answer of its own, everybody has got it byte for byte, the first one included.
    private mutating func judgeKeys() {
        var bodies: [String: Set<[UInt8]>] = [:]
        var replayed: Set<String> = []
        for said in fleet.said where said.response.status.code == 201 {
            guard let key = said.request.headers["idempotency-key"] else { continue }
            let name = "\(said.user) \(said.request.target.path) \(key)"
            bodies[name, default: []].insert(said.response.body)
            if said.response.headers["idempotent-replayed"] != nil { replayed.insert(name) }
        }
        for name in replayed where bodies[name]?.count ?? 0 > 1 {
            let texts = (bodies[name] ?? []).map { String(decoding: $0, as: UTF8.self) }.sorted()
            blame(.wrong, "\(name) was answered in two ways: \(texts.joined(separator: " and "))")
        }
    }

    /// The shop was told once of each payment that was paid, and of no other.
    private mutating func checkEvents(
        _ database: SimulatedDatabase, _ payments: [String: PaymentRow]
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

    /// What was answered is still true, and the same key has always got the same.
    private mutating func judgeAnswers(_ database: SimulatedDatabase, _ payments: [String: PaymentRow]) async throws {
        var receipts: Set<String> = []
        for row in try await database.rows("SELECT DISTINCT object_id::text AS id FROM webhook_receipts") {
            if let id = try row.decode("id", as: String?.self) { receipts.insert(id) }
        }
        var signed: [String: [UInt8]] = [:]
        var made: [String: String] = [:]
        judgeKeys()
        for said in fleet.said where said.response.status.isSuccess {
            let path = said.request.target.path
            let body = try? JSONDocument(parsing: said.response.body).root
            if let key = said.request.headers["idempotency-key"], let id = body?["id"]?.string {
                let name = "\(said.user) \(path) \(key)"
                if let known = made[name], known != id { blame(.double, "\(name) made \(known) and \(id)") }
                made[name] = id
                if path.hasSuffix("payment-intents") {
                    if payments[id] == nil { blame(.lost, "payment \(id) was answered and is not there") }
                    let request = try? JSONDocument(parsing: said.request.body).root["reference"]?.string
                    if body?["reference"]?.string != request {
                        blame(.wrong, "\(name) asked for \(request ?? "nothing") and was answered with another payment")
                    }
                }
            }
            guard said.response.status.code != 202 else { continue }
            let id = path.split(separator: "/").dropLast().last.map(String.init) ?? ""
            if path.hasSuffix("/authorize") {
                if payments[id]?.isSigned != true {
                    blame(.lost, "payment \(id): the signature was taken and is not remembered")
                }
                if let other = signed.updateValue(said.request.body, forKey: id), other != said.request.body {
                    blame(.double, "payment \(id): two signatures were taken")
                }
            }
            let isElsewhere = payments[id]?.belvoID.map { belvo.signedElsewhere[$0] != nil } ?? false
            if path.hasSuffix("/cancel"), payments[id]?.state != "failed", !isElsewhere {
                blame(.lost, "payment \(id): the user's cancelling was confirmed and is forgotten")
            }
            if path == "/webhooks/belvo" {
                let told = try? JSONDocument(parsing: said.request.body).root["object_id"]?.string
                if let told, !receipts.contains(told) {
                    blame(.lost, "a webhook about \(told) was taken and forgotten")
                }
            }
        }
    }
}

/// A payment as its row has it.
struct PaymentRow {
    let id: String
    let subject: String
    let reference: String
    let state: String
    let failureCode: String?
    let historyState: String
    let belvoID: String?
    let amount: String
    let isSigned: Bool
    let isContradicted: Bool
    let createdAt: Payments.Timestamp
    /// When its row said first that it is authorized.
    let authorizedAt: Payments.Timestamp?
}

extension InvariantChecker {
    private static func payments(in database: SimulatedDatabase) async throws -> [PaymentRow] {
        try await database.rows(
            """
            SELECT id::text, subject, coalesce(reference, '') AS reference, state, failure_code, belvo_id::text,
                CASE WHEN in_doubt THEN 'in_doubt' ELSE state END AS history_state,
                (amount_centavos / 100.0)::numeric(18, 2)::text AS amount, authorize_sent_at IS NOT NULL AS is_signed,
                contradicted_at IS NOT NULL AS is_contradicted, created_at, authorize_sent_at
            FROM payments ORDER BY id
            """
        ).map { row in
            PaymentRow(
                id: try row.text("id"), subject: try row.text("subject"), reference: try row.text("reference"),
                state: try row.text("state"), failureCode: try row.decode("failure_code"),
                historyState: try row.text("history_state"),
                belvoID: try row.decode("belvo_id"), amount: try row.text("amount"),
                isSigned: try row.decode("is_signed"), isContradicted: try row.decode("is_contradicted"),
                createdAt: try row.decode("created_at"), authorizedAt: try row.decode("authorize_sent_at"))
        }
    }
}

extension Row {
    fileprivate func text(_ column: String) throws -> String { try decode(column, as: String.self) }
}
