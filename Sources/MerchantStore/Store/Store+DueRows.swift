import FoundationEssentials
import MerchantModel
import Payments
import Postgres

/// The tables whose rows carry their own next poll.
package enum DueTable: Sendable, CaseIterable {
    case customers, redirectReceipts, webhookReceipts, enrollments, payments, moneyAlarms, events
    /// The redirects that belong to no enrollment known here: a table of their own as far as work goes, so that those
    /// that are invented keep no others waiting.
    case unknownRedirects

    fileprivate var name: SQL {
        switch self {
        case .customers: "customers"
        case .redirectReceipts, .unknownRedirects: "redirect_receipts"
        case .webhookReceipts: "webhook_receipts"
        case .enrollments: "enrollments"
        case .payments: "payments"
        case .moneyAlarms: "money_alarms"
        case .events: "events"
        }
    }

    /// The condition for its rows, where not all rows of the table are meant.
    fileprivate var condition: SQL {
        switch self {
        case .redirectReceipts: "enrollment_id IS NOT NULL"
        case .unknownRedirects: "enrollment_id IS NULL"
        case .customers, .webhookReceipts, .enrollments, .payments, .moneyAlarms, .events: "true"
        }
    }

    /// The columns that find a row: of a partitioned table the partition's key as well, so that one partition is read.
    fileprivate var key: SQL {
        self == .webhookReceipts ? "id, stored_on" : "id"
    }

    /// The columns that a claim changes beside the lease. Payments and enrollments keep the moment at which they were
    /// due: neither the lease nor the version is in an index, so that a claim writes but a few bytes of the row.
    fileprivate func claimed(for lease: Duration) -> SQL {
        [.payments, .enrollments].contains(self)
            ? "" : ", next_poll_at = app_now() + \(lease.wholeMicroseconds) * interval '1 microsecond'"
    }

    /// Whether a row that is claimed has become due anew since (`hasten`).
    fileprivate var wasHastened: SQL {
        self == .enrollments
            ? "next_poll_at IS DISTINCT FROM timestamptz 'epoch' + due * interval '1 microsecond'" : "false"
    }

    /// In which order due rows are claimed.
    ///
    /// Webhooks that have been worked on in vain come behind the others: made-up ones must not keep true ones waiting.
    /// Enrollments whose creation is of unknown outcome come behind those at Belvo: for these users wait, and the app
    /// of a user who waits for a creation repeats its request.
    private var order: SQL {
        switch self {
        case .unknownRedirects: "turn, id"
        case .webhookReceipts: "attempts > 3, next_poll_at"
        case .enrollments: "state = 'creating', urgency DESC"
        default: "next_poll_at"
        }
    }

    /// Due enrollments with their urgency: how late the poll is for the pause before it
    /// (`Timeouts.unchangedPollInterval`); of those of one user a quarter of that for the second latest step, and a
    /// ninth for the third one. Many that wait for a bank which does nothing, and many of one user, do not keep those
    /// waiting whose users have just taken a step.
    private var urgencies: SQL {
        """
        SELECT id, state, extract(epoch FROM app_now() - next_poll_at)
            / greatest(0.5, least(10, extract(epoch FROM next_poll_at - updated_at) / 5))
            / row_number() OVER (PARTITION BY subject ORDER BY updated_at DESC) ^ 2 AS urgency
        FROM enrollments WHERE \(fragment: isDue)
        """
    }

    /// The condition for rows that may be claimed.
    private var isDue: SQL {
        """
        \(fragment: condition)
            AND next_poll_at <= app_now() AND (leased_until IS NULL OR leased_until <= app_now())
        """
    }

    /// The keys of up to `limit` due rows, which are locked; those that others have locked are left out.
    fileprivate func choice(limit: Int) -> SQL {
        guard self == .enrollments else {
            return """
                SELECT \(fragment: key) FROM \(fragment: name) WHERE \(fragment: isDue)
                ORDER BY \(fragment: order) LIMIT \(limit)
                FOR UPDATE SKIP LOCKED
                """
        }
        // What is numbered cannot be locked.
        return """
            SELECT id FROM enrollments WHERE \(fragment: isDue) AND id IN (
                SELECT id FROM (\(fragment: urgencies)) AS urgencies ORDER BY \(fragment: order) LIMIT \(limit))
            FOR UPDATE SKIP LOCKED
            """
    }

    /// The column that says when; each has an index of its own, which holds no finished row.
    fileprivate var moment: SQL {
        self == .events ? "next_attempt_at" : "next_poll_at"
    }
}

/// A row that is to be left as it is until its next poll.
package struct Reschedule: Sendable {
    let id: UUID
    /// The version that was claimed.
    let version: Int64
    /// Until the next poll; nil when there is nothing left to poll.
    let wait: Duration?
    /// When the row was due that was claimed, where the claim has not changed that.
    var due: Timestamp?
    /// Whether the row stays due since then.
    var isStillDue = false

    package init(id: UUID, version: Int64, wait: Duration?, due: Timestamp? = nil) {
        self.id = id
        self.version = version
        self.wait = wait
        self.due = due
    }

    /// A row that there was no time for: due at once, or still where the claim has not changed that.
    package static func unread(_ id: UUID, version: Int64, due: Timestamp?) -> Reschedule {
        var left = Reschedule(id: id, version: version, wait: .zero, due: due)
        left.isStillDue = due != nil
        return left
    }

    /// The wait as a number: microseconds, or one of two marks, because array parameters cannot hold NULL.
    fileprivate var waitOrMark: Int64 { isStillDue ? Self.stillDue : wait?.wholeMicroseconds ?? Self.never }
    fileprivate static let never: Int64 = -1
    fileprivate static let stillDue: Int64 = -2
}

extension Store {
    /// Takes up to `limit` rows whose poll is due, for so long, in the table's order: one statement for all.
    ///
    /// `SKIP LOCKED` lets instances claim at once without waiting for each other; the lease keeps them from asking
    /// Belvo about the same row, and ends by itself if this server dies. The index of what is due holds no finished
    /// row, so that a claim costs the same however many of them there are.
    func claimDue(in table: DueTable, limit: Int, lease: Duration, giving columns: SQL) async throws -> Rows {
        try await database.execute(claiming(in: table, limit: limit, lease: lease, giving: columns))
    }

    /// The statement of `claimDue`.
    func claiming(in table: DueTable, limit: Int, lease: Duration, giving columns: SQL) -> SQL {
        """
        UPDATE \(fragment: table.name) SET
            version = version + 1,
            leased_until = app_now() + \(lease.wholeMicroseconds) * interval '1 microsecond'
            \(fragment: table.claimed(for: lease))
        WHERE (\(fragment: table.key)) IN (
            \(fragment: table.choice(limit: limit))
        )
        RETURNING \(fragment: columns)
        """
    }

    /// Claims a row for a call that is about to be sent again, until the next poll is due. Nil when another writer was
    /// faster, or has claimed the row for such a call. Without a deadline the present one stays.
    /// - Parameter isClaimed: whether the caller has had the claim since it read the row.
    package func claimSending<Record>(
        _ before: Stored<Record>, id: UUID, in table: DueTable, isClaimed: Bool, firstPoll: Duration,
        deadline: Duration?
    ) async throws -> Stored<Record>? {
        let rows = try await database.execute(
            """
            UPDATE \(fragment: table.name) SET
                version = version + 1,
                leased_until = app_now() + \(firstPoll.wholeMicroseconds) * interval '1 microsecond',
                next_poll_at = app_now() + \(firstPoll.wholeMicroseconds) * interval '1 microsecond',
                deadline_at = coalesce(
                    app_now() + \(deadline.map(\.wholeMicroseconds)) * interval '1 microsecond', deadline_at)
            WHERE id = \(id) AND version = \(before.version)
                -- Where its poll is due the claim is a worker's, which only reads.
                AND (
                    \(isClaimed) OR leased_until IS NULL OR leased_until <= app_now() OR next_poll_at <= app_now())
            RETURNING version, deadline_at, app_now() AS read_at
            """)
        return try rows.first.map { row in
            var claimed = before
            claimed.version = try row.decode("version")
            claimed.deadline = try row.decode("deadline_at")
            claimed.clock = try clock(row)
            return claimed
        }
    }

    /// In which of the tables something may be due, and the database's clock: one statement for all of them, which
    /// reads the first entry of each table's index of what is due.
    package func dueTables(among tables: [DueTable]) async throws -> (due: Set<DueTable>, clock: DatabaseClock) {
        let rows = try await database.rows(askingWhatIsDue(in: tables))
        let places = try rows.map { try $0.decode("place", as: Int.self) }
        return (Set(places.filter(tables.indices.contains).map { tables[$0] }), try clock(rows[0]))
    }

    /// When one of the newest records last changed; nil while there is none.
    package func latestChange() async throws -> Timestamp? {
        try await database.rows(askingForTheLatestChange).first.flatMap { try $0.decode("changed_at") }
    }

    /// Makes everything that waits due at once, and leases end in time again: for a clock that has gone back.
    package func bringForward(_ tables: [DueTable], leases: Duration) async throws {
        for table in tables {
            try await database.execute(
                """
                UPDATE \(fragment: table.name) SET
                    \(fragment: table.moment) = app_now(),
                    leased_until = CASE WHEN leased_until IS NOT NULL THEN least(
                        leased_until, app_now() + \(leases.wholeMicroseconds) * interval '1 microsecond') END
                WHERE \(fragment: table.condition) AND \(fragment: table.moment) > app_now()
                """)
        }
    }

    /// The statement of `latestChange`: the history has no index by age, and ids grow with the time, so it asks for the
    /// lines of the newest records.
    var askingForTheLatestChange: SQL {
        let newest: [SQL] = [DueTable.customers, .enrollments, .payments].map { table in
            "(SELECT id FROM \(fragment: table.name) ORDER BY id DESC LIMIT 64)"
        }
        return """
            SELECT max((SELECT max(changed_at) FROM state_history WHERE record_id = newest.id)) AS changed_at
            FROM (\(fragment: SQL(joining: newest, separator: " UNION ALL "))) AS newest
            """
    }

    /// The statement of `dueTables`: a row for each table, and one for the clock alone. A least value is found at the
    /// index's end; EXISTS might be sought in the table.
    func askingWhatIsDue(in tables: [DueTable]) -> SQL {
        let questions: [SQL] = tables.enumerated().map { place, table in
            """
            SELECT \(place) AS place, app_now() AS read_at
            WHERE (
                SELECT min(\(fragment: table.moment)) FROM \(fragment: table.name) WHERE \(fragment: table.condition)
            ) <= app_now()
            """
        }
        return SQL(joining: ["SELECT -1 AS place, app_now() AS read_at"] + questions, separator: " UNION ALL ")
    }

    /// Ends the leases of rows that a poll has left as they are, and sets their next polls: one statement for all of
    /// them, and no history. A row that was changed or claimed meanwhile stays as it is, and so does one that another
    /// session has locked: it keeps none of the others waiting, and comes again when its lease ends.
    package func reschedule(_ rows: [Reschedule], in table: DueTable) async throws {
        let dues = rows.map { $0.due?.microsecondsSince1970 ?? 0 }
        try await database.execute(
            """
            UPDATE \(fragment: table.name) SET
                version = version + 1, leased_until = NULL,
                next_poll_at = CASE
                    WHEN \(fragment: table.wasHastened) THEN next_poll_at
                    WHEN wait = \(Reschedule.stillDue) THEN next_poll_at
                    WHEN wait >= 0 THEN app_now() + wait * interval '1 microsecond' END
            FROM (
                SELECT rested_id, wait, due FROM \(fragment: table.name) JOIN
                    unnest(\(rows.map(\.id)), \(rows.map(\.version)), \(rows.map(\.waitOrMark)), \(dues))
                        AS rest (rested_id, rested_version, wait, due) ON id = rested_id AND version = rested_version
                FOR NO KEY UPDATE OF \(fragment: table.name) SKIP LOCKED
            ) AS free
            WHERE id = rested_id
            """)
    }
}
