import FoundationEssentials
import MerchantModel
import Payments
import Postgres

/// A webhook of Belvo's, as it is stored.
package struct WebhookReceipt: Sendable {
    /// Its outcome.
    package enum Outcome: String, Sendable, PostgresValue {
        /// To be worked on.
        case received
        /// The object was read from Belvo.
        case done
        /// A type that means nothing here.
        case ignored
        /// Belvo has it for no customer of ours, or does not have it.
        case notOurs = "not_ours"
        /// It could not be read for so long that the webhook is worth nothing any more.
        case expired
    }

    package let id: UUID
    /// `ENROLLMENTS` and the like, as it came.
    package let type: String
    /// `STATUS_UPDATE` and the like, as it came, or why the server itself has to read the object.
    package let code: String
    /// The object that it names, by Belvo's id.
    package let object: UUID?
    /// The payment's id that it names, or the intent that its charge or transaction was read to belong to.
    package let externalID: UUID?
    let outcome: Outcome
    package let lastReceivedAt: Timestamp
    /// How often it was worked on.
    package let attempts: Int32
    /// The day on which it came first, in days since 2000-01-01: its partition.
    let storedOn: Int
    /// Its content beside the object's name.
    package let statement: WebhookStatement
    /// Whether Belvo sent it; else it stands for what the server itself has to read.
    package let isOfBelvo: Bool
}

/// A webhook that has just arrived.
package struct NewWebhook: Sendable {
    package let id: UUID
    /// The digest of the body after parsing.
    package let digest: [UInt8]
    package let type: String
    package let code: String
    package let object: UUID?
    /// The name that the object bears at Belvo (`external_id`), if it can be an id of ours; of a movement without one
    /// its intent, by Belvo's id.
    package let externalID: UUID?
    /// Whether one without a name takes the one that the last webhook of its object has, or was read to have.
    let takesEarlierName: Bool
    package let outcome: WebhookReceipt.Outcome
    package let body: [UInt8]
    /// How long it is left alone; of several that come together, where nothing that it names is known here.
    let rest: Duration

    package init(
        id: UUID, digest: [UInt8], type: String, code: String, object: UUID?, externalID: UUID? = nil,
        takesEarlierName: Bool = false, outcome: WebhookReceipt.Outcome, body: [UInt8], rest: Duration = .zero
    ) {
        self.id = id
        self.digest = digest
        self.type = type
        self.code = code
        self.object = object
        self.externalID = externalID
        self.takesEarlierName = takesEarlierName
        self.outcome = outcome
        self.body = body
        self.rest = rest
    }
}

/// The outcome of a webhook that was processed.
package struct WebhookSettlement: Sendable {
    package let id: UUID
    package let version: Int64
    package let outcome: WebhookReceipt.Outcome
    let storedOn: Int
    /// Until it is worked on again; nil where it is settled.
    package let nextPoll: Duration?
    /// Whether Belvo answers that it does not have the object.
    let isAbsent: Bool
    /// The intent that its object was read to belong to, which the webhook then names as well.
    let intent: UUID?

    package init(
        of receipt: Stored<WebhookReceipt>, outcome: WebhookReceipt.Outcome, nextPoll: Duration? = nil,
        isAbsent: Bool = false, intent: UUID? = nil
    ) {
        id = receipt.record.id
        version = receipt.version
        storedOn = receipt.record.storedOn
        self.outcome = outcome
        self.nextPoll = nextPoll
        self.isAbsent = isAbsent
        self.intent = intent
    }
}

extension Store {
    private static let webhookColumns: SQL = """
        id, webhook_type, webhook_code, object_id, external_id, body_ciphertext, outcome, last_received_at, attempts,
        stored_on - date '2000-01-01' AS day, version, app_now() AS read_at
        """

    /// Stands for none, since array parameters cannot hold NULL.
    private static let noName = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))

    /// Stores a webhook before it is answered. The same webhook again counts up, and is processed once more; on another
    /// day it is another row, which comes to the same.
    ///
    /// With `isOpenKept` one that is open keeps its age and its turn, however often it is stored: for what the server
    /// itself has to read, which the reading that it waits for may store.
    package func insertWebhook(_ webhook: NewWebhook, isOpenKept: Bool = false) async throws {
        try await database.execute(
            """
            INSERT INTO webhook_receipts (
                id, digest, webhook_type, webhook_code, object_id, external_id, body_ciphertext, outcome,
                next_poll_at, processed_at)
            VALUES (
                \(webhook.id), \(webhook.digest), \(webhook.type), \(webhook.code), \(webhook.object),
                \(webhook.externalID), \(vault.seal(webhook.body, in: .webhookReceiptsBody, of: webhook.id)),
                \(webhook.outcome),
                CASE WHEN \(webhook.outcome == .received)
                    THEN app_now() + \(webhook.rest.wholeMicroseconds) * interval '1 microsecond' END,
                CASE WHEN \(webhook.outcome != .received) THEN app_now() END)
            ON CONFLICT ON CONSTRAINT one_receipt_per_webhook DO UPDATE SET
                received_count = webhook_receipts.received_count + 1, last_received_at = app_now(),
                outcome = excluded.outcome, next_poll_at = excluded.next_poll_at,
                processed_at = excluded.processed_at, leased_until = NULL, absent_since = NULL,
                version = webhook_receipts.version + 1
                WHERE NOT \(isOpenKept) OR webhook_receipts.outcome <> 'received'
            """)
    }

    /// Closes the webhook with this digest, if it is open: nothing has to be read for it any more.
    package func closeWebhook(_ digest: [UInt8]) async throws {
        try await database.execute(
            """
            UPDATE webhook_receipts SET
                outcome = 'done', processed_at = app_now(), next_poll_at = NULL, leased_until = NULL,
                version = version + 1
            WHERE digest = \(digest) AND outcome = 'received'
            """)
    }

    /// Stores several that are to be worked on, each with how often it came, by one statement. No two of them are the
    /// same. With a lease those that name an object that is known here, or a record whose object is not, come back
    /// claimed for so long, which need not be written again; the others are due after their rest. Without a lease all
    /// are due at once. In subqueries the arrays say nothing of their lengths: see `settle`.
    package func insertWebhooks(
        _ webhooks: [(NewWebhook, copies: Int)], lease: Duration?
    ) async throws -> [Stored<WebhookReceipt>] {
        let told = webhooks.map(\.0)
        let (isLeased, microseconds) = (lease != nil, lease?.wholeMicroseconds ?? 0)
        let rests = told.map { isLeased ? $0.rest.wholeMicroseconds : 0 }
        let rows = try await database.execute(
            """
            INSERT INTO webhook_receipts (
                id, digest, webhook_type, webhook_code, object_id, external_id, body_ciphertext, received_count,
                next_poll_at, leased_until)
            SELECT id, digest, type, code, object,
                CASE WHEN takes_earlier_name = 1 AND name = \(Self.noName) THEN (
                    SELECT earlier.external_id FROM webhook_receipts AS earlier
                    WHERE earlier.object_id = told.object AND earlier.external_id IS NOT NULL
                    ORDER BY earlier.received_at DESC LIMIT 1
                ) ELSE nullif(name, \(Self.noName)) END, body, copies,
                coalesce(claimed_until, app_now() + rest * interval '1 microsecond'), claimed_until
            FROM unnest(
                (SELECT \(told.map(\.id))), (SELECT \(told.map { ByteString($0.digest) })),
                (SELECT \(told.map(\.type))), (SELECT \(told.map(\.code))),
                (SELECT \(told.compactMap(\.object))), (SELECT \(told.map { $0.externalID ?? Self.noName })),
                (SELECT \(told.map { ByteString(vault.seal($0.body, in: .webhookReceiptsBody, of: $0.id)) })),
                (SELECT \(webhooks.map(\.copies))), (SELECT \(rests)),
                (SELECT \(told.map { $0.takesEarlierName ? 1 : 0 }))
                ) AS told (id, digest, type, code, object, name, body, copies, rest, takes_earlier_name),
                LATERAL (
                    SELECT CASE WHEN \(isLeased) AND (
                        EXISTS (SELECT FROM payments WHERE belvo_id = told.object)
                        OR EXISTS (SELECT FROM payments WHERE belvo_id = told.name)
                        OR EXISTS (
                            SELECT FROM payments WHERE payments.id = told.name AND payments.belvo_id IS NULL)
                        OR EXISTS (SELECT FROM enrollments WHERE belvo_id = told.object)
                        OR EXISTS (
                            SELECT FROM enrollments WHERE enrollments.id = told.name AND enrollments.belvo_id IS NULL)
                    ) THEN app_now() + \(microseconds) * interval '1 microsecond' END AS claimed_until
                    -- Without this it would be asked for each column that it decides.
                    OFFSET 0
                ) AS claim
            ORDER BY 2
            ON CONFLICT ON CONSTRAINT one_receipt_per_webhook DO UPDATE SET
                received_count = webhook_receipts.received_count + excluded.received_count,
                last_received_at = app_now(), outcome = excluded.outcome, next_poll_at = excluded.next_poll_at,
                leased_until = excluded.leased_until, absent_since = NULL,
                processed_at = NULL, version = webhook_receipts.version + 1
            RETURNING \(fragment: Self.webhookColumns), leased_until IS NOT NULL AS is_claimed
            """)
        let claimed = try rows.filter { try $0.decode("is_claimed") }
        return readEach(claimed, of: "webhook_receipts", readWebhook)
    }

    /// Takes up to `limit` webhooks that are due, for so long, oldest first. See `claimDue`.
    package func claimDueWebhooks(limit: Int, lease: Duration) async throws -> [Stored<WebhookReceipt>] {
        let rows = try await claimDue(in: .webhookReceipts, limit: limit, lease: lease, giving: Self.webhookColumns)
        return readEach(rows, of: "webhook_receipts", readWebhook)
    }

    /// Settles webhooks, or has them worked on again after a pause: one statement for all of them. Nothing happens to
    /// one that came once more meanwhile, or that another worker has: then it is processed anyway.
    ///
    /// The day leads to one partition. In subqueries the arrays say nothing of their lengths, so that PostgreSQL plans
    /// the statement once a session and not for each call, which took longer than the statement itself.
    package func settle(_ webhooks: [WebhookSettlement]) async throws {
        guard !webhooks.isEmpty else { return }
        // Array parameters cannot hold NULL: -1 means none.
        let waits = webhooks.map { $0.nextPoll?.wholeMicroseconds ?? -1 }
        try await database.execute(
            """
            UPDATE webhook_receipts SET
                outcome = settled_as, attempts = attempts + 1, version = version + 1, leased_until = NULL,
                next_poll_at = CASE WHEN wait >= 0 THEN app_now() + wait * interval '1 microsecond' END,
                processed_at = CASE WHEN settled_as <> 'received' THEN app_now() END,
                absent_since = CASE WHEN is_absent = 1 THEN coalesce(absent_since, app_now()) END,
                external_id = coalesce(external_id, nullif(intent, \(Self.noName)))
            FROM unnest(
                (SELECT \(webhooks.map(\.id))), (SELECT \(webhooks.map(\.version))),
                (SELECT \(webhooks.map(\.outcome.rawValue))), (SELECT \(waits)),
                (SELECT \(webhooks.map(\.storedOn))), (SELECT \(webhooks.map { $0.isAbsent ? 1 : 0 })),
                (SELECT \(webhooks.map { $0.intent ?? Self.noName }))
            ) AS settled (settled_id, settled_version, settled_as, wait, day, is_absent, intent)
            WHERE stored_on = date '2000-01-01' + day::integer AND id = settled_id AND version = settled_version
            """)
    }

    /// Keeps with the webhook of a movement, which is being worked on, the intent that the movement belongs to, unless
    /// it keeps another one; gives the one that it keeps, or nil where it is not being worked on any more.
    package func note(_ webhook: Stored<WebhookReceipt>, isOf intent: UUID) async throws -> UUID? {
        try await database.execute(
            """
            UPDATE webhook_receipts SET external_id = coalesce(external_id, \(intent))
            WHERE stored_on = date '2000-01-01' + \(webhook.record.storedOn)::integer AND id = \(webhook.record.id)
                AND version = \(webhook.version)
            RETURNING external_id
            """
        ).first?.decode("external_id")
    }

    /// The user whose object at Belvo it is, and its institution.
    package struct ObjectOwner: Sendable {
        package let subject: UserSubject
        /// Nil where it is a foreign payment that names no enrollment of the same user.
        package let institution: UUID?
    }

    /// The owners of those of Belvo's objects that are known here, by the id that Belvo has given each.
    package func owners(ofObjects ids: [UUID]) async throws -> [UUID: ObjectOwner] {
        let rows = try await database.rows(
            """
            SELECT id, coalesce(payment.subject, enrollment.subject) AS subject,
                coalesce(payment.institution_id, enrollment.institution_id) AS institution_id
            FROM unnest((SELECT \(ids))) AS named (id)
            LEFT JOIN LATERAL (
                SELECT subject, (
                    SELECT institution_id FROM enrollments WHERE enrollments.id = enrollment_id
                ) AS institution_id
                FROM payments WHERE belvo_id = named.id
            ) AS payment ON true
            LEFT JOIN LATERAL (
                SELECT subject, institution_id FROM enrollments WHERE belvo_id = named.id
            ) AS enrollment ON true
            WHERE coalesce(payment.subject, enrollment.subject) IS NOT NULL
            """)
        let owners = try rows.map { row in
            let owner = ObjectOwner(
                subject: try row.decode("subject"), institution: try row.decode("institution_id"))
            return (try row.decode("id", as: UUID.self), owner)
        }
        return Dictionary(owners, uniquingKeysWith: { first, _ in first })
    }

    private func readWebhook(_ row: Row) throws -> Stored<WebhookReceipt> {
        let receivedAt: Timestamp = try row.decode("last_received_at")
        let id: UUID = try row.decode("id")
        // A body that cannot be read any more says nothing; the object is read all the same.
        let body = try? vault.open(row.decode("body_ciphertext"), in: .webhookReceiptsBody, of: id)
        return Stored(
            record: WebhookReceipt(
                id: id, type: try row.decode("webhook_type"), code: try row.decode("webhook_code"),
                object: try row.decode("object_id"), externalID: try row.decode("external_id"),
                outcome: try row.decode("outcome"),
                lastReceivedAt: receivedAt,
                attempts: try row.decode("attempts"), storedOn: try row.decode("day"),
                statement: body.map { WebhookStatement(body: $0) } ?? WebhookStatement(), isOfBelvo: body != []),
            version: try row.decode("version"), updatedAt: receivedAt, deadline: nil,
            clock: try clock(row))
    }
}
