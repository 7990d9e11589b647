import FoundationEssentials
import MerchantModel
import Payments
import Postgres

/// The payments that one list of Belvo's can show: how many are due, and within which time they were made.
package struct ListedSpan: Sendable {
    package let count: Int
    package let begin: Timestamp
    package let end: Timestamp
}

/// An entry of a page of Belvo's list: the members that decide whether anything is new.
package struct ShownIntent: Sendable {
    package let id: UUID
    /// Belvo's status, in its own word.
    package let word: String
    /// Empty where it is not shown.
    package let externalID: String
    /// Negative where it is not shown.
    package let centavos: Int64
    /// `noCustomer` where it is not shown.
    package let customer: UUID

    package init(id: UUID, word: String, externalID: String, centavos: Int64, customer: UUID) {
        self.id = id
        self.word = word
        self.externalID = externalID
        self.centavos = centavos
        self.customer = customer
    }

    /// Stands for a missing customer: array parameters cannot hold NULL.
    package static let noCustomer = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
}

extension Store {
    /// The condition for payments that wait only for Belvo's decision, are due within so long, and are not claimed; in
    /// doubt for an hour at most, since older ones are read rarely and one by one.
    private static func listed(dueWithin ahead: Duration) -> SQL {
        """
        next_poll_at <= app_now() + \(ahead.wholeMicroseconds) * interval '1 microsecond'
            AND state IN ('authorizing', 'observed') AND belvo_id IS NOT NULL
            AND (leased_until IS NULL OR leased_until <= app_now())
            AND (NOT in_doubt AND deadline_at > app_now() OR in_doubt AND deadline_at > app_now() - interval '1 hour')
        """
    }

    /// How many payments a list of Belvo's could show now, and of which time.
    package func listedPayments(dueWithin ahead: Duration) async throws -> ListedSpan? {
        let row = try await database.rows(
            """
            SELECT count(*) AS count, min(created_at) AS first, max(created_at) AS last FROM payments
            WHERE \(fragment: Self.listed(dueWithin: ahead))
            """
        ).first
        guard let row, let begin = try row.decode("first", as: Timestamp?.self),
            let end = try row.decode("last", as: Timestamp?.self)
        else { return nil }
        return ListedSpan(count: Int(try row.decode("count", as: Int64.self)), begin: begin, end: end)
    }

    /// Sets the next poll of those payments that a page shows as they are known here, and gives their ids. Nothing else
    /// about them changes, so no version does. One that another session has locked stays due, and keeps none waiting.
    ///
    /// A list is evidence of what it shows: that this one had not been decided. A process with an old page puts a
    /// poll off by one interval.
    package func putOff(
        shown: [ShownIntent], dueWithin ahead: Duration, by interval: Duration, inDoubtBy pause: Duration
    ) async throws -> [UUID] {
        try await database.execute(
            """
            UPDATE payments SET next_poll_at = app_now()
                + CASE WHEN in_doubt THEN \(pause.wholeMicroseconds) ELSE \(interval.wholeMicroseconds) END
                    * interval '1 microsecond'
            WHERE id IN (
                SELECT id FROM payments JOIN \(fragment: Self.page(shown)) ON belvo_id = shown_id
                WHERE \(fragment: Self.isUnchanged) AND \(fragment: Self.listed(dueWithin: ahead))
                FOR NO KEY UPDATE OF payments SKIP LOCKED)
            RETURNING id
            """
        ).map { try $0.decode("id") }
    }

    /// How many payments a page shows otherwise than they are known here.
    package func countChanged(among shown: [ShownIntent], dueWithin ahead: Duration) async throws -> Int {
        let row = try await database.rows(
            """
            SELECT count(*) AS count FROM payments JOIN \(fragment: Self.page(shown)) ON belvo_id = shown_id
            WHERE \(fragment: Self.listed(dueWithin: ahead)) AND NOT (\(fragment: Self.isUnchanged))
            """
        ).first
        return Int(try row?.decode("count", as: Int64.self) ?? 0)
    }

    /// The intents among these whose payments are not paid here, nor contradicted, and which of them have failed.
    package func unpaidIntents(among intents: [UUID]) async throws -> [(id: UUID, hasFailed: Bool)] {
        guard !intents.isEmpty else { return [] }
        return try await database.rows(
            """
            SELECT belvo_id, state = 'failed' AS has_failed FROM payments
            WHERE belvo_id = ANY (\(intents)) AND state <> 'succeeded' AND contradicted_at IS NULL
            """
        ).map { (try $0.decode("belvo_id"), try $0.decode("has_failed")) }
    }

    /// The intents of a page as rows. Array parameters cannot hold NULL: -1, "" and the zero UUID mean none.
    private static func page(_ shown: [ShownIntent]) -> SQL {
        """
        unnest(
            \(shown.map(\.id)), \(shown.map(\.word)), \(shown.map(\.externalID)), \(shown.map(\.centavos)),
            \(shown.map(\.customer))
        ) AS shown (shown_id, word, external_id, centavos, customer)
        """
    }

    private static let isUnchanged: SQL = """
        provider_status IS NOT DISTINCT FROM word
            AND (shown.external_id = '' OR origin <> 'own' OR shown.external_id = payments.id::text)
            AND centavos IN (-1, amount_centavos)
            AND customer IN ('00000000-0000-0000-0000-000000000000', belvo_customer_id)
        """
}
