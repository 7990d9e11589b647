import FoundationEssentials
import MerchantModel
import Payments
import Postgres

extension Store {
    /// References that were paid more than once, with the last of these payments of the day.
    package func doublePaid(on day: UTCDay) async throws -> [Difference] {
        try await database.rows(
            """
            SELECT id, belvo_id FROM payments AS later
            WHERE state = 'succeeded' AND created_at >= \(day.begin) AND created_at < \(day.end)
                AND EXISTS (
                    SELECT FROM payments AS other
                    WHERE (other.subject = later.subject OR other.priced_by_order AND later.priced_by_order)
                        AND other.reference = later.reference AND other.state = 'succeeded' AND other.id <> later.id)
            ORDER BY id
            """
        ).map { row in
            Difference(
                kind: .doublePaid, payment: try row.decode("id"), intent: try row.decode("belvo_id"),
                ours: "the reference was paid by another payment too", theirs: nil)
        }
    }

    /// Stores what a run found, and marks as gone what it did not find any more.
    package func note(_ differences: [Difference], of day: UTCDay) async throws {
        try await database.transaction { transaction in
            let known = try await transaction.rows(
                """
                SELECT id, kind, payment_id, belvo_id, ours, theirs FROM reconciliation_differences
                WHERE day = \(day.description)::date AND gone_at IS NULL FOR UPDATE
                """)
            var open: [Difference: Int64] = [:]
            for row in known {
                let difference = Difference(
                    kind: try row.decode("kind"), payment: try row.decode("payment_id"),
                    intent: try row.decode("belvo_id"), ours: try row.decode("ours"), theirs: try row.decode("theirs"))
                open[difference] = try row.decode("id")
            }
            for difference in Set(differences) where open.removeValue(forKey: difference) == nil {
                try await transaction.execute(
                    """
                    INSERT INTO reconciliation_differences (day, kind, payment_id, belvo_id, ours, theirs)
                    VALUES (
                        \(day.description)::date, \(difference.kind), \(difference.payment), \(difference.intent),
                        \(difference.ours), \(difference.theirs))
                    """)
            }
            for id in open.values {
                try await transaction.execute(
                    "UPDATE reconciliation_differences SET gone_at = app_now() WHERE id = \(id)")
            }
        }
    }
}
