import Postgres

/// The tables whose rows carry their own next look.
enum DueTable: Sendable {
    case customers, redirectReceipts, webhookReceipts, enrollments, payments

    fileprivate var name: SQL {
        switch self {
        case .customers: "customers"
        case .redirectReceipts: "redirect_receipts"
        case .webhookReceipts: "webhook_receipts"
        case .enrollments: "enrollments"
        case .payments: "payments"
        }
    }
}

extension Store {
    /// Takes up to `limit` rows whose look is due, for so long, oldest first: one statement for the whole batch.
    ///
    /// `SKIP LOCKED` lets instances claim at once without waiting for each other; the lease keeps them from asking
    /// Belvo about the same row, and ends by itself if this server dies. The index of what is due holds no finished
    /// row, so that a claim costs the same however many of them there are.
    func claimDue(in table: DueTable, limit: Int, lease: Duration, giving columns: SQL) async throws -> Rows {
        try await database.execute(
            """
            UPDATE \(fragment: table.name) SET
                version = version + 1,
                leased_until = app_now() + \(lease.wholeMicroseconds) * interval '1 microsecond',
                next_poll_at = app_now() + \(lease.wholeMicroseconds) * interval '1 microsecond'
            WHERE id IN (
                SELECT id FROM \(fragment: table.name)
                WHERE next_poll_at <= app_now() AND (leased_until IS NULL OR leased_until <= app_now())
                ORDER BY next_poll_at
                LIMIT \(limit)
                FOR UPDATE SKIP LOCKED
            )
            RETURNING \(fragment: columns)
            """)
    }
}
