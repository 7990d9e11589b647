import FoundationEssentials
import Payments
import Postgres

/// The result of erasing a person.
package struct Erasure: Sendable, Equatable {
    /// The pseudonym that replaces the user's id.
    package let pseudonym: String
    package let enrollments: Int
    /// Kept for the books, without the person.
    package let payments: Int
}

/// A person cannot be erased while a record of theirs is open.
package struct RecordsStillOpen: Error, CustomStringConvertible {
    let records: [String]

    package var description: String {
        "these are not at their end, try again when they are: \(records.joined(separator: ", "))"
    }
}

extension Store {
    /// Removes the person's data and puts a pseudonym in the place of the user's id, all of it or nothing.
    /// Nothing comes back when there is no such user.
    ///
    /// Throws `RecordsStillOpen`, and changes nothing, while something of the user's is not at its end or the shop has
    /// yet to get its event. A transaction that writes a record of the user's is waited for before that is read, and
    /// waits from then on, so that nothing begins and nothing ends in between.
    package func erase(_ subject: UserSubject, as pseudonym: UserSubject) async throws -> Erasure? {
        try await database.transaction { transaction in
            // In the order in which others take them: customer, records, orders, the user.
            for table: SQL in ["customers", "enrollments", "payments"] {
                try await transaction.execute(
                    "SELECT id FROM \(fragment: table) WHERE subject = \(subject) ORDER BY id FOR UPDATE")
            }
            try await transaction.execute(
                "SELECT reference FROM orders WHERE subject = \(subject) ORDER BY reference FOR UPDATE")
            try await transaction.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended('user ' || \(subject), 0))")
            // Orders go to the pseudonym, which is no other payer: the triggers of orders leave that alone.
            try await transaction.execute("SELECT set_config('merchant.erasing', 'on', true)")
            let open = try await Self.openRecords(of: subject, in: transaction)
            guard open.isEmpty else { throw RecordsStillOpen(records: open) }
            let customers = try await transaction.execute(
                """
                UPDATE customers SET
                    subject = \(pseudonym), person_ciphertext = NULL, tax_id_lookup = NULL, erased_at = app_now(),
                    version = version + 1
                WHERE subject = \(subject) RETURNING id
                """)
            let enrollments = try await transaction.execute(
                """
                UPDATE enrollments SET
                    subject = \(pseudonym), name = NULL, name_ciphertext = NULL, redirect_url = NULL,
                    redirect_url_ciphertext = NULL, redirect_state_lookup = NULL,
                    device_ciphertext = NULL, device_lookup = NULL, registration_options_ciphertext = NULL,
                    payer_information_ciphertext = NULL, metadata = NULL, failure_message = NULL,
                    failure_message_ciphertext = NULL,
                    hollowed_at = app_now(),
                    version = version + 1
                WHERE subject = \(subject) RETURNING id
                """)
            let payments = try await transaction.execute(
                """
                UPDATE payments SET
                    subject = \(pseudonym), metadata = NULL, fido_options = NULL, failure_message = NULL,
                    failure_message_ciphertext = NULL, hollowed_at = app_now(),
                    version = version + 1
                WHERE subject = \(subject) RETURNING id
                """)
            let orders = try await transaction.execute(
                "SELECT reference FROM orders WHERE subject = \(subject) FOR UPDATE")
            guard !(customers.isEmpty && enrollments.isEmpty && payments.isEmpty && orders.isEmpty) else { return nil }
            try await transaction.execute("UPDATE orders SET subject = \(pseudonym) WHERE subject = \(subject)")
            try await transaction.execute("DELETE FROM idempotency_keys WHERE subject = \(subject)")
            try await transaction.execute("DELETE FROM widget_tokens WHERE subject = \(subject)")
            try await transaction.execute(
                """
                DELETE FROM redirect_receipts WHERE posted_by = \(subject)
                    OR enrollment_id IN (SELECT id FROM enrollments WHERE subject = \(pseudonym))
                """)
            try await transaction.execute(
                """
                DELETE FROM webhook_receipts WHERE object_id IN (
                    SELECT belvo_id FROM payments WHERE subject = \(pseudonym)
                    UNION ALL SELECT belvo_id FROM enrollments WHERE subject = \(pseudonym))
                """)
            try await transaction.execute(
                """
                DELETE FROM events WHERE record_id IN (
                    SELECT id FROM payments WHERE subject = \(pseudonym)
                    UNION ALL SELECT id FROM enrollments WHERE subject = \(pseudonym))
                """)
            return Erasure(pseudonym: pseudonym.text, enrollments: enrollments.count, payments: payments.count)
        }
    }

    /// The user's unfinished records and undelivered events. A valid token counts: with it a returning user could sign
    /// an intent that is no longer tracked. So does a webhook about an unknown object: it may be about money of this
    /// user's.
    private static func openRecords(of subject: UserSubject, in transaction: Transaction) async throws -> [String] {
        try await transaction.execute(
            """
            SELECT 'payment ' || id AS name FROM payments
            WHERE subject = \(subject) AND (status = 'PENDING' OR next_poll_at IS NOT NULL)
            UNION ALL
            SELECT 'enrollment ' || id FROM enrollments WHERE subject = \(subject) AND status = 'PENDING'
            UNION ALL
            SELECT 'customer ' || id FROM customers WHERE subject = \(subject) AND state = 'creating'
            UNION ALL
            SELECT 'event ' || id FROM events
            WHERE next_attempt_at IS NOT NULL AND record_id IN (
                SELECT id FROM payments WHERE subject = \(subject)
                UNION ALL SELECT id FROM enrollments WHERE subject = \(subject))
            UNION ALL
            SELECT 'token until ' || held_until FROM widget_tokens
            WHERE subject = \(subject) AND least(held_until, obtained_at + interval '1 day') > app_now()
            UNION ALL
            SELECT 'webhook ' || id FROM webhook_receipts
            WHERE outcome = 'received' AND (
                object_id IN (
                    SELECT belvo_id FROM payments WHERE subject = \(subject)
                    UNION ALL SELECT belvo_id FROM enrollments WHERE subject = \(subject))
                -- Whose it is nobody knows while Belvo may not show it yet, or not wholly.
                OR webhook_type <> 'ENROLLMENTS' AND last_received_at > app_now() - interval '1 hour'
                    AND NOT EXISTS (SELECT FROM payments WHERE belvo_id = object_id))
            UNION ALL
            SELECT 'alarm ' || id FROM money_alarms
            WHERE next_poll_at IS NOT NULL AND payment_id IN (SELECT id FROM payments WHERE subject = \(subject))
            ORDER BY name
            """
        ).map { try $0.decode("name") }
    }
}
