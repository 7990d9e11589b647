import FoundationEssentials
import MerchantModel
import Payments
import Postgres

/// What Belvo told by webhook.
package struct WebhookReceipt: Sendable {
    /// What became of it.
    package enum Outcome: String, Sendable, PostgresValue {
        /// To be worked on.
        case received
        /// The object was read from Belvo.
        case done
        /// A type that means nothing here.
        case ignored
        /// Belvo has it for no customer of ours, or does not have it.
        case notOurs = "not_ours"
        /// It could not be read for so long that its telling is worth nothing any more.
        case expired
    }

    package let id: UUID
    /// `ENROLLMENTS` and the like, as it came.
    package let type: String
    /// What it is about, by Belvo's id.
    package let object: UUID?
    let outcome: Outcome
    package let lastReceivedAt: Timestamp
}

extension Store {
    private static let webhookColumns: SQL = """
        id, webhook_type, object_id, outcome, last_received_at, version, app_now() AS read_at
        """

    /// Stores what was told before it is answered. The same telling again counts up, and is worked on once more.
    package func insertWebhook(
        id: UUID, digest: [UInt8], type: String, code: String, object: UUID?, outcome: WebhookReceipt.Outcome,
        body: [UInt8]
    ) async throws {
        try await database.execute(
            """
            INSERT INTO webhook_receipts (
                id, digest, webhook_type, webhook_code, object_id, body_ciphertext, outcome, next_poll_at,
                processed_at)
            VALUES (
                \(id), \(digest), \(type), \(code), \(object), \(vault.seal(body, in: .webhookReceiptsBody, of: id)),
                \(outcome), CASE WHEN \(outcome == .received) THEN app_now() END,
                CASE WHEN \(outcome != .received) THEN app_now() END)
            ON CONFLICT ON CONSTRAINT one_receipt_per_webhook DO UPDATE SET
                received_count = webhook_receipts.received_count + 1, last_received_at = app_now(),
                outcome = excluded.outcome, next_poll_at = excluded.next_poll_at,
                processed_at = excluded.processed_at,
                version = webhook_receipts.version + 1
            """)
    }

    /// Takes up to `limit` webhooks that are due, for so long, oldest first. See `claimDue`.
    package func claimDueWebhooks(limit: Int, lease: Duration) async throws -> [Stored<WebhookReceipt>] {
        let rows = try await claimDue(in: .webhookReceipts, limit: limit, lease: lease, giving: Self.webhookColumns)
        return readEach(rows, of: "webhook_receipts", readWebhook)
    }

    /// Settles a webhook, or has it worked on again after a pause. Nothing happens when it came once more meanwhile,
    /// or somebody else has it: then it is worked on anyway.
    package func update(
        _ before: Stored<WebhookReceipt>, to outcome: WebhookReceipt.Outcome, nextPoll: Duration? = nil
    ) async throws {
        try await database.execute(
            """
            UPDATE webhook_receipts SET
                outcome = \(outcome), attempts = attempts + 1, version = version + 1, leased_until = NULL,
                next_poll_at = app_now() + \(nextPoll.map(\.wholeMicroseconds)) * interval '1 microsecond',
                processed_at = CASE WHEN \(outcome != .received) THEN app_now() END
            WHERE id = \(before.record.id) AND version = \(before.version)
            """)
    }

    private func readWebhook(_ row: Row) throws -> Stored<WebhookReceipt> {
        let receivedAt: Timestamp = try row.decode("last_received_at")
        return Stored(
            record: WebhookReceipt(
                id: try row.decode("id"), type: try row.decode("webhook_type"), object: try row.decode("object_id"),
                outcome: try row.decode("outcome"), lastReceivedAt: receivedAt),
            version: try row.decode("version"), updatedAt: receivedAt, deadline: nil,
            clock: try clock(row))
    }
}
