import FoundationEssentials
import MerchantModel
import Payments
import Postgres

/// The rows on which a new payment would rest, and those that stand in its way.
package struct PaymentSurvey: Sendable {
    /// The enrollment that would pay, if the user has it.
    package struct EnrollmentState: Sendable {
        package let state: Enrollment.State
        package let belvoID: UUID?
        /// The bank.
        package let institution: UUID
        /// When a webhook last named it.
        package let lastWebhookAt: Timestamp?
        /// Whether such a webhook has not been worked on yet.
        package let hasUnreadWebhook: Bool
    }

    /// Whether the idempotency key was used before.
    package let isKeyUsed: Bool
    /// The user's payments that are not at their end, as many as there may be at most.
    package let openPayments: Int
    /// His payments of the last day, as many as there may be at most, and how long until the oldest of these is none.
    package let paymentsToday: Int
    package let untilNextPayment: Duration
    package let enrollment: EnrollmentState?
    /// The user, as Belvo knows one.
    package let payer: UUID?
    /// The order that the reference names.
    package let order: StoredOrder?
    /// Whether another payment for the reference has been paid or may still be.
    package let isReferenceTaken: Bool
    /// The last attempt for the reference that was signed and that Belvo has called FAILED.
    package let failedAfterSignature: FailedAttempt?
    package let clock: DatabaseClock

    /// An attempt that Belvo has called FAILED, as Belvo knows it, and how long ago.
    package struct FailedAttempt: Sendable {
        package let belvoID: UUID
        package let age: Duration
    }
}

extension Store {
    static func askingForOpen(of subject: UserSubject, limit: Int) -> SQL {
        """
        SELECT FROM payments WHERE subject = \(subject) AND status = 'PENDING' AND origin = 'own' LIMIT \(limit)
        """
    }

    /// Looks up, by one statement, everything that decides whether a payment may be opened. What it finds in the way is
    /// read again, and judged, by the caller; and the insertion decides once more.
    package func surveyPayment(
        from enrollment: Enrollment.ID, for reference: Reference?, of subject: UserSubject,
        claiming claim: IdempotencyClaim?, openPaymentsMax: Int, paymentsPerDayMax: Int
    ) async throws -> PaymentSurvey? {
        let rows = try await database.rows(
            """
            SELECT app_now() AS read_at,
                EXISTS (
                    SELECT FROM idempotency_keys
                    WHERE subject = \(subject) AND route = \(claim?.route.rawValue) AND key = \(claim?.key)
                ) AS is_key_used,
                (SELECT count(*) FROM (
                    \(fragment: Self.askingForOpen(of: subject, limit: openPaymentsMax))) AS open) AS open_payments,
                (SELECT belvo_id FROM customers WHERE subject = \(subject)) AS payer,
                EXISTS (
                    SELECT FROM payments
                    WHERE reference = \(reference) AND takes_reference(payments)
                        AND (subject = \(subject) OR holds_order(payments) AND placed.reference IS NOT NULL)
                ) AS is_reference_taken,
                today.*, rests_on.*, placed.*, failed.*
            FROM (
                SELECT count(*) AS payments_today,
                    (extract(epoch FROM interval '1 day' - (app_now() - min(created_at))) * 1000000)::bigint
                        AS until_next_payment
                FROM (
                    SELECT created_at FROM payments
                    WHERE subject = \(subject) AND origin = 'own'
                        AND coalesce(failure_code, '') NOT IN ('not_sent', 'not_let_in')
                    ORDER BY id DESC LIMIT \(paymentsPerDayMax)
                ) AS latest
                WHERE created_at > app_now() - interval '1 day'
            ) AS today
            LEFT JOIN (
                SELECT state AS enrollment_state, belvo_id AS enrollment_belvo_id,
                    institution_id AS enrollment_institution_id,
                    (SELECT max(last_received_at) FROM webhook_receipts WHERE object_id = belvo_id) AS last_webhook_at,
                    EXISTS (
                        SELECT FROM webhook_receipts WHERE object_id = belvo_id AND outcome = 'received'
                    ) AS has_unread_webhook
                FROM enrollments WHERE id = \(enrollment) AND subject = \(subject)
            ) AS rests_on ON true
            LEFT JOIN (\(fragment: Self.askingForOrder(reference))) AS placed ON true
            LEFT JOIN LATERAL (
                SELECT belvo_id AS failed_belvo_id,
                    (extract(epoch FROM app_now() - closed_at_belvo) * 1000000)::bigint AS failed_for
                FROM payments
                WHERE reference = \(reference) AND state = 'failed' AND closed_at_belvo IS NOT NULL
                    AND may_have_been_signed(payments)
                    AND (subject = \(subject) OR priced_by_order AND placed.reference IS NOT NULL)
                -- By the database's clock: ids are made by those of servers, which differ.
                ORDER BY closed_at_belvo DESC, id DESC LIMIT 1
            ) AS failed ON true
            """)
        guard let row = rows.first else { return nil }
        let state: Enrollment.State? = try row.decode("enrollment_state")
        let enrollmentState = try state.map { state in
            PaymentSurvey.EnrollmentState(
                state: state, belvoID: try row.decode("enrollment_belvo_id"),
                institution: try row.decode("enrollment_institution_id"),
                lastWebhookAt: try row.decode("last_webhook_at"),
                hasUnreadWebhook: try row.decode("has_unread_webhook"))
        }
        let hasOrder = try row.decode("reference", as: String?.self) != nil
        return PaymentSurvey(
            isKeyUsed: try row.decode("is_key_used"),
            openPayments: Int(try row.decode("open_payments", as: Int64.self)),
            paymentsToday: Int(try row.decode("payments_today", as: Int64.self)),
            untilNextPayment: .microseconds(try row.decode("until_next_payment", as: Int64?.self) ?? 0),
            enrollment: enrollmentState,
            payer: try row.decode("payer"), order: hasOrder ? try readOrder(row) : nil,
            isReferenceTaken: try row.decode("is_reference_taken"),
            failedAfterSignature: try failedAttempt(row), clock: try clock(row))
    }

    private func failedAttempt(_ row: Row) throws -> PaymentSurvey.FailedAttempt? {
        guard let id = try row.decode("failed_belvo_id", as: UUID?.self) else { return nil }
        return .init(belvoID: id, age: .microseconds(try row.decode("failed_for", as: Int64?.self) ?? 0))
    }
}
