import FoundationEssentials
import MerchantModel
import Payments
import Postgres

/// A redirect of a bank through the user's browser or app.
package struct RedirectReceipt: Sendable {
    /// How far it has been passed on to Belvo.
    package enum Outcome: String, Sendable, PostgresValue {
        /// Not sent yet.
        case received
        /// On its way.
        case sent
        /// Belvo took it.
        case taken
        /// Belvo refused it.
        case refused
        /// It was sent and the answer was lost: only reading the enrollment shows it.
        case unknown
        /// It could not be sent in time, or was not needed any more.
        case expired
    }

    package let id: UUID
    package let enrollment: Enrollment.ID?
    /// The user whose app posted it; nil when it came through a browser.
    package let postedBy: UserSubject?
    package let outcome: Outcome
    /// The parameters as one JSON text; nil once the outcome is settled.
    package let body: [UInt8]?
    package let receivedAt: Timestamp
    /// In which round of senders it is passed on, where it belongs to no enrollment known here.
    package let turn: Int64
}

/// How many redirects are stored before some of them are settled.
package struct RedirectBounds: Sendable {
    /// Redirects that belong to no enrollment known here and wait for Belvo: of one user, or of all browsers.
    let unknownMax: Int
    /// Redirects of one enrollment that wait for Belvo: its bank sends one.
    var openMax = 10
    /// Redirects of one enrollment that have come within a day.
    var perDayMax = 20

    package init(unknownMax: Int) {
        self.unknownMax = unknownMax
    }
}

extension Store {
    private static let receiptColumns: SQL = """
        id, enrollment_id, posted_by, outcome, body_ciphertext, received_at, turn, version, next_poll_at,
        app_now() AS read_at
        """

    /// Whether the very same redirect was stored before.
    package func hasReceipt(_ digest: [UInt8]) async throws -> Bool {
        try await !database.rows("SELECT id FROM redirect_receipts WHERE digest = \(digest)").isEmpty
    }

    /// Stores a redirect before anything is done with it. The same redirect again is not stored twice: then what is
    /// there comes back. Nothing comes back where one of the bounds is reached.
    ///
    /// The room for those that belong to no enrollment known here is for all browsers: where `w` wait, and `n` of them
    /// are the sender's, another one is stored while `(n + 1) * w` is less than the bound. The redirects of one sender
    /// are passed on in one round each, the first of a new sender in the next round.
    ///
    /// Redirects at the same moment do not see each other, so that a few more may be stored.
    package func insertReceipt(
        id: UUID, digest: [UInt8], redirectState: String, enrollment: Enrollment.ID?, postedBy: UserSubject?,
        sender: String?, isError: Bool, body: [UInt8], nextPoll: Duration, bounds: RedirectBounds
    ) async throws -> (receipt: Stored<RedirectReceipt>, isNew: Bool)? {
        let senderLookup = enrollment == nil ? sender.map { vault.lookup($0, for: .redirectSender) } : nil
        let room: SQL =
            if let enrollment {
                """
                SELECT 0 AS turn, count(*) FILTER (WHERE outcome IN ('received', 'sent')) < \(bounds.openMax)
                    AND count(*) FILTER (WHERE received_at > app_now() - interval '1 day') < \(bounds.perDayMax)
                    AS is_left
                FROM redirect_receipts WHERE enrollment_id = \(enrollment)
                """
            } else {
                """
                SELECT 1 + coalesce(
                        max(turn) FILTER (WHERE is_own),
                        (
                            SELECT min(turn) FROM redirect_receipts
                            WHERE enrollment_id IS NULL AND next_poll_at IS NOT NULL
                        ), 0) AS turn,
                    count(*) * (1 + count(*) FILTER (WHERE is_own AND \(postedBy == nil))) < \(bounds.unknownMax)
                    AS is_left
                FROM (
                    SELECT turn, sender_lookup IS NOT DISTINCT FROM \(senderLookup) AS is_own FROM redirect_receipts
                    WHERE enrollment_id IS NULL AND outcome IN ('received', 'sent')
                        AND posted_by IS NOT DISTINCT FROM \(postedBy)
                    LIMIT \(bounds.unknownMax)
                ) waiting
                """
            }
        let inserted = try await database.execute(
            """
            INSERT INTO redirect_receipts (
                id, digest, state_lookup, enrollment_id, posted_by, sender_lookup, turn, is_error, body_ciphertext,
                next_poll_at)
            SELECT
                \(id), \(digest), \(vault.lookup(redirectState, for: .redirectState)), \(enrollment), \(postedBy),
                \(senderLookup), turn, \(isError), \(vault.seal(body, in: .redirectReceiptsBody, of: id)),
                app_now() + \(nextPoll.wholeMicroseconds) * interval '1 microsecond'
            FROM (\(fragment: room)) room WHERE is_left
            ON CONFLICT ON CONSTRAINT one_receipt_per_redirect DO NOTHING
            RETURNING \(fragment: Self.receiptColumns)
            """)
        if let row = inserted.first { return (try readReceipt(row), true) }
        // On the write pool, so that a standby or an older snapshot cannot hide it.
        let rows = try await database.execute(
            "SELECT \(fragment: Self.receiptColumns) FROM redirect_receipts WHERE digest = \(digest)")
        return try rows.first.map { (try readReceipt($0), false) }
    }

    /// The receipt, of any user; on the write pool, so that a standby cannot hide what was stored a moment ago.
    package func receipt(_ id: UUID) async throws -> Stored<RedirectReceipt>? {
        try await database.execute(
            "SELECT \(fragment: Self.receiptColumns) FROM redirect_receipts WHERE id = \(id)"
        ).first.map(readReceipt)
    }

    /// Settles a receipt or marks it as on its way: then its sender has it until the next poll. Nothing comes
    /// back when another writer was faster.
    ///
    /// A settled receipt loses its parameters: the code and the id_token are one-shot secrets.
    package func update(
        _ before: Stored<RedirectReceipt>, to outcome: RedirectReceipt.Outcome, enrollment: Enrollment.ID? = nil,
        nextPoll: Duration? = nil, isClaimed: Bool = false
    ) async throws -> Stored<RedirectReceipt>? {
        try await database.execute(
            changing(before, to: outcome, enrollment: enrollment, nextPoll: nextPoll, isClaimed: isClaimed)
        ).first.map(readReceipt)
    }

    /// The statement behind `update`, alone or beside that of the enrollment.
    func changing(
        _ before: Stored<RedirectReceipt>, to outcome: RedirectReceipt.Outcome, enrollment: Enrollment.ID?,
        nextPoll: Duration?, isClaimed: Bool
    ) -> SQL {
        let lease = isClaimed ? nextPoll : nil
        let keepsBody = outcome == .received || outcome == .sent
        return """
            UPDATE redirect_receipts SET
                outcome = \(outcome), enrollment_id = coalesce(\(enrollment), enrollment_id),
                body_ciphertext = CASE WHEN \(keepsBody) THEN body_ciphertext END,
                sender_lookup = CASE WHEN \(keepsBody) THEN sender_lookup END,
                sent_at = CASE WHEN \(outcome == .sent) THEN app_now() ELSE sent_at END,
                version = version + 1,
                leased_until = app_now() + \(lease.map(\.wholeMicroseconds)) * interval '1 microsecond',
                next_poll_at = app_now() + \(nextPoll.map(\.wholeMicroseconds)) * interval '1 microsecond'
            WHERE id = \(before.record.id) AND version = \(before.version)
            RETURNING \(fragment: Self.receiptColumns)
            """
    }

    /// Whether another redirect of the enrollment is being sent to Belvo right now.
    package func hasReceiptInFlight(of enrollment: Enrollment.ID, besides receipt: UUID? = nil) async throws -> Bool {
        try await !database.execute(
            """
            SELECT id FROM redirect_receipts
            WHERE enrollment_id = \(enrollment) AND outcome = 'sent' AND leased_until > app_now()
                AND id IS DISTINCT FROM \(receipt)
            LIMIT 1
            """
        ).isEmpty
    }

    /// Whether Belvo has another redirect of the enrollment, or may have it.
    package func hasReceiptPassedOn(of enrollment: Enrollment.ID, besides receipt: UUID) async throws -> Bool {
        try await !database.execute(
            """
            SELECT id FROM redirect_receipts
            WHERE enrollment_id = \(enrollment) AND outcome IN ('sent', 'taken', 'unknown') AND id <> \(receipt)
            LIMIT 1
            """
        ).isEmpty
    }

    /// Whether a redirect of the enrollment waits for Belvo or is on its way there.
    package func hasOpenReceipt(of enrollment: Enrollment.ID) async throws -> Bool {
        try await !database.execute(
            """
            SELECT id FROM redirect_receipts
            WHERE enrollment_id = \(enrollment) AND outcome IN ('received', 'sent')
            LIMIT 1
            """
        ).isEmpty
    }

    /// Whether another redirect that belongs to no enrollment known here is due, and no worker has it yet.
    package func hasUnknownReceiptDue(besides receipt: UUID) async throws -> Bool {
        try await !database.execute(
            """
            SELECT id FROM redirect_receipts
            WHERE enrollment_id IS NULL AND outcome = 'received' AND id <> \(receipt)
                AND next_poll_at <= app_now() AND (leased_until IS NULL OR leased_until <= app_now())
            LIMIT 1
            """
        ).isEmpty
    }

    /// Takes up to `limit` receipts whose poll is due, for so long: of enrollments that are known, oldest first, or the
    /// others, in their turn. See `claimDue`.
    package func claimDueReceipts(
        in table: DueTable, limit: Int, lease: Duration
    ) async throws -> [Stored<RedirectReceipt>] {
        let rows = try await claimDue(in: table, limit: limit, lease: lease, giving: Self.receiptColumns)
        return readEach(rows, of: "redirect_receipts", readReceipt)
    }

    func readReceipt(_ row: Row) throws -> Stored<RedirectReceipt> {
        let id: UUID = try row.decode("id")
        let receivedAt: Timestamp = try row.decode("received_at")
        return Stored(
            record: RedirectReceipt(
                id: id, enrollment: try row.decode("enrollment_id"), postedBy: try row.decode("posted_by"),
                outcome: try row.decode("outcome"),
                body: try row.decode("body_ciphertext", as: [UInt8]?.self).map {
                    try vault.open($0, in: .redirectReceiptsBody, of: id)
                },
                receivedAt: receivedAt, turn: try row.decode("turn")),
            version: try row.decode("version"), updatedAt: receivedAt, deadline: nil,
            clock: try clock(row))
    }
}
