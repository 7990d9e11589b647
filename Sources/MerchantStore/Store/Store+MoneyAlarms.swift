import FoundationEssentials
import MerchantModel
import Payments
import Postgres

/// Something that is wrong with money, until an operator has settled it (reliability.md, promise 5).
package struct MoneyAlarm: Sendable {
    /// The kind of the alarm. The first three and the contradiction to SUCCEEDED are raised by the database, in the
    /// transaction that records the money; the others by who reads Belvo.
    package enum Kind: String, Sendable, CaseIterable, PostgresValue {
        case doublePaid = "double_paid"
        case paidBesideOrder = "paid_beside_order"
        case lateSuccess = "late_success"
        case contradiction
        case differs
        case endToEndIDRepeated = "end_to_end_id_repeated"
        case createdTwice = "created_twice"
    }

    package let id: UUID
    package let kind: Kind
    package let payment: Payment.ID
    package let detail: String
}

extension Store {
    /// Raises an alarm about a payment, unless the same is open already, word by word: false then.
    package func raise(_ kind: MoneyAlarm.Kind, of payment: Payment.ID, _ detail: String) async throws -> Bool {
        try await !database.execute(
            """
            INSERT INTO money_alarms (kind, payment_id, detail, next_poll_at)
            VALUES (\(kind), \(payment), \(detail), NULL)
            ON CONFLICT (payment_id, kind) WHERE settled_at IS NULL DO UPDATE SET detail = excluded.detail
            WHERE money_alarms.detail IS DISTINCT FROM excluded.detail
            RETURNING id
            """
        ).isEmpty
    }

    /// Raises an alarm about a payment once, of which the shop hears if it disputes an order; false where one says so
    /// already, be it settled or not.
    package func raiseOnce(_ kind: MoneyAlarm.Kind, of payment: Payment.ID, _ detail: String) async throws -> Bool {
        try await !database.execute(
            """
            SELECT raise_alarm(\(kind), \(payment), \(detail))
            WHERE NOT EXISTS (
                SELECT FROM money_alarms
                WHERE payment_id = \(payment) AND kind = \(kind) AND strpos(detail, \(detail)) > 0)
            """
        ).isEmpty
    }

    /// Whether an operator has settled an alarm of that kind about the payment.
    package func hasSettled(_ kind: MoneyAlarm.Kind, of payment: Payment.ID) async throws -> Bool {
        try await !database.rows(
            """
            SELECT 1 FROM money_alarms
            WHERE payment_id = \(payment) AND kind = \(kind) AND settled_at IS NOT NULL LIMIT 1
            """
        ).isEmpty
    }

    /// The unsettled alarms about a payment, and about the one whose name it bears.
    package func openAlarms(of payment: Payment.ID) async throws -> [MoneyAlarm] {
        try await database.rows(
            """
            SELECT id, kind, payment_id, coalesce(detail, '') AS detail FROM money_alarms
            WHERE payment_id IN (
                SELECT \(payment) UNION ALL
                SELECT bears_name_of FROM payments WHERE id = \(payment) AND bears_name_of IS NOT NULL)
                AND settled_at IS NULL
            ORDER BY raised_at
            """
        ).map(readAlarm)
    }

    /// How many alarms of each kind are not settled.
    package func openAlarms(within limit: Duration) async throws -> [MoneyAlarm.Kind: Int64] {
        let rows = try await database.rows(
            "SELECT kind, count(*) AS alarms FROM money_alarms WHERE settled_at IS NULL GROUP BY kind", within: limit)
        var counts: [MoneyAlarm.Kind: Int64] = [:]
        for row in rows { counts[try row.decode("kind")] = try row.decode("alarms") }
        return counts
    }

    /// Takes up to `limit` alarms for which the shop may have to get an event, for so long. See `claimDue`.
    package func claimDueAlarms(limit: Int, lease: Duration) async throws -> [Stored<MoneyAlarm>] {
        let rows = try await claimDue(
            in: .moneyAlarms, limit: limit, lease: lease,
            giving: "id, kind, payment_id, coalesce(detail, '') AS detail, raised_at, version, app_now() AS read_at")
        return readEach(rows, of: "money_alarms") { row in
            Stored(
                record: try readAlarm(row), version: try row.decode("version"),
                updatedAt: try row.decode("raised_at"), deadline: nil, clock: try clock(row))
        }
    }

    /// The order of the payment, if money for it is disputed.
    package func disputedOrder(of payment: Payment.ID) async throws -> Order? {
        try await database.rows(
            """
            SELECT orders.reference, orders.subject, orders.amount_centavos, orders.description,
                orders.statement_description, orders.expires_at
            FROM payments JOIN orders USING (reference) JOIN order_progress USING (reference)
            WHERE payments.id = \(payment) AND order_progress.status = 'disputed'
                -- The shop may have given the order to another user since the payment was opened under it.
                AND (payments.subject = orders.subject OR payments.priced_by_order)
            """
        ).first.map(readOrderTerms)
    }

    /// Notes that an alarm is handled, with the event for the shop that the order is disputed, where there is one. The
    /// shop gets one event for each dispute: none while the alarm of which it got one is not settled.
    package func noteHandled(
        _ alarm: Stored<MoneyAlarm>, disputing order: Order? = nil, emitting event: ShopEvent? = nil
    ) async throws {
        do {
            try await database.execute(
                """
                WITH changed AS (
                    UPDATE money_alarms SET
                        disputed_reference = \(order?.reference), next_poll_at = NULL, leased_until = NULL,
                        version = version + 1
                    WHERE id = \(alarm.record.id) AND version = \(alarm.version)
                    RETURNING payment_id AS id
                )\(fragment: emitting(event, of: "payment"))
                SELECT id FROM changed
                """)
        } catch let error as DatabaseError where error.isUniqueViolation(of: "one_event_for_each_dispute") {
            try await noteHandled(alarm)
        }
    }

    private func readAlarm(_ row: Row) throws -> MoneyAlarm {
        MoneyAlarm(
            id: try row.decode("id"), kind: try row.decode("kind"), payment: try row.decode("payment_id"),
            detail: try row.decode("detail"))
    }
}
