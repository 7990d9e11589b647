import FoundationEssentials
import Payments
import Postgres

// What `merchant export` asks.
extension Store {
    /// Kinds of rows whose texts are stored in plain.
    package enum PersonalRows {
        case orders, history, events, others
    }

    /// Each row as a JSON object, oldest first.
    package func personalRows(_ kind: PersonalRows, of subject: UserSubject) async throws -> [[UInt8]] {
        let rows: SQL =
            switch kind {
            case .orders:
                """
                SELECT reference, (amount_centavos / 100.0)::numeric(20, 2) AS amount, description,
                    statement_description, expires_at, created_at, updated_at
                FROM orders WHERE subject = \(subject) ORDER BY created_at
                """
            case .history:
                """
                SELECT changed_at, record_type, record_id, state_before, state_after, caused_by, request_id, detail
                FROM state_history WHERE record_id IN (\(fragment: Self.records(of: subject))) ORDER BY id
                """
            case .events:
                """
                SELECT type, body, created_at, delivered_at FROM events
                WHERE record_id IN (\(fragment: Self.records(of: subject))) ORDER BY sequence
                """
            case .others:
                """
                SELECT 'idempotency key' AS what, route || ' ' || key AS of, claimed_at AS since
                FROM idempotency_keys WHERE subject = \(subject)
                UNION ALL
                SELECT 'redirect of a bank, ' || outcome, enrollment_id::text, received_at FROM redirect_receipts
                WHERE posted_by = \(subject)
                    OR enrollment_id IN (SELECT id FROM enrollments WHERE subject = \(subject))
                UNION ALL
                SELECT 'token for the SDK', NULL, obtained_at FROM widget_tokens WHERE subject = \(subject)
                ORDER BY since
                """
            }
        return try await database.rows(
            "SELECT row_to_json(record)::text AS line FROM (\(fragment: rows)) AS record"
        ).map { Array(try $0.decode("line", as: String.self).utf8) }
    }

    /// The user's enrollments, decrypted, oldest first.
    package func personalEnrollments(of subject: UserSubject) async throws -> [PersonalEnrollment] {
        try await database.rows(
            """
            SELECT id, device_ciphertext, payer_information_ciphertext, registration_options_ciphertext, name,
                name_ciphertext, failure_message, failure_message_ciphertext,
                (SELECT row_to_json(facts)::text FROM (
                    SELECT enrollments.id, origin, belvo_id, institution_id, institution_name, platform, callback_url,
                        state, status, provider_status, provider_details_status, expires_at, failure_code, metadata,
                        created_at, updated_at) AS facts) AS facts
            FROM enrollments WHERE subject = \(subject) ORDER BY id
            """
        ).map { row in
            let id: UUID = try row.decode("id")
            func open(_ name: String, _ column: VaultColumn) throws -> [UInt8]? {
                try row.decode(name, as: [UInt8]?.self).map { try vault.open($0, in: column, of: id) }
            }
            return PersonalEnrollment(
                facts: Array(try row.decode("facts", as: String.self).utf8),
                name: try text(row, "name", in: .enrollmentsName),
                failureMessage: try text(row, "failure_message", in: .enrollmentsFailureMessage),
                deviceID: try open("device_ciphertext", .enrollmentsDevice).map { String(decoding: $0, as: UTF8.self) },
                payer: try open("payer_information_ciphertext", .enrollmentsPayerInformation),
                registrationOptions: try open("registration_options_ciphertext", .enrollmentsRegistrationOptions))
        }
    }

    /// The user's payments, each as a JSON object with Belvo's text on its failure, oldest first.
    package func personalPayments(of subject: UserSubject) async throws -> [(facts: [UInt8], failureMessage: String?)] {
        try await database.rows(
            """
            SELECT id, failure_message, failure_message_ciphertext,
                (SELECT row_to_json(facts)::text FROM (
                    SELECT payments.id, origin, belvo_id, enrollment_id, reference,
                        (amount_centavos / 100.0)::numeric(20, 2) AS amount, description, statement_description, state,
                        status, in_doubt, provider, provider_status, consent_id, end_to_end_id, external_payment_id,
                        failure_code, metadata, created_at, updated_at) AS facts) AS facts
            FROM payments WHERE subject = \(subject) ORDER BY id
            """
        ).map { row in
            (
                Array(try row.decode("facts", as: String.self).utf8),
                try text(row, "failure_message", in: .paymentsFailureMessage)
            )
        }
    }

    /// Belvo's webhooks about the user's payments and enrollments, decrypted, as they came.
    package func personalWebhooks(of subject: UserSubject) async throws -> [[UInt8]] {
        try await database.rows(
            """
            SELECT id, body_ciphertext FROM webhook_receipts WHERE object_id IN (
                SELECT belvo_id FROM payments WHERE subject = \(subject)
                UNION ALL SELECT belvo_id FROM enrollments WHERE subject = \(subject))
            ORDER BY received_at
            """
        ).map { row in
            try vault.open(
                row.decode("body_ciphertext"), in: .webhookReceiptsBody, of: row.decode("id"))
        }
    }

    private static func records(of subject: UserSubject) -> SQL {
        """
        SELECT id FROM customers WHERE subject = \(subject)
        UNION ALL SELECT id FROM enrollments WHERE subject = \(subject)
        UNION ALL SELECT id FROM payments WHERE subject = \(subject)
        """
    }
}

/// An enrollment with what is encrypted in its row.
package struct PersonalEnrollment: Sendable {
    /// The columns that are readable as they are, as a JSON object.
    package let facts: [UInt8]
    package let name: String?
    package let failureMessage: String?
    package let deviceID: String?
    /// The payer's account as Belvo gave it, JSON.
    package let payer: [UInt8]?
    /// The options that the phone registered with, JSON: they name the account's holder.
    package let registrationOptions: [UInt8]?
}
