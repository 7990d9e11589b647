import Payments
import Postgres

/// What one user may have open, beside requests.
package struct UserBounds: Sendable, Equatable {
    /// Enrollments that are not at their end; 0 is no limit.
    package var openEnrollmentsMax = 20
    /// Enrollments that were begun within a day; 0 is no limit.
    package var enrollmentsPerDayMax = 50
    /// Payments that are not at their end; 0 is no limit.
    package var openPaymentsMax = 20

    package init() {}
}

extension Store {
    /// How many enrollments the user has begun here: those that are not at their end, those of the last day, and how
    /// long until the oldest of these is none of the last day's.
    ///
    /// Those who ask at the same moment do not see each other, so that a few more may be begun.
    package func enrollmentsBegun(by subject: UserSubject) async throws -> (open: Int, today: Int, untilNext: Duration)
    {
        let row = try await database.rows(
            """
            SELECT count(*) FILTER (WHERE status = 'PENDING') AS open,
                count(*) FILTER (WHERE created_at > app_now() - interval '1 day') AS today,
                (extract(epoch FROM interval '1 day' - (app_now() - min(created_at) FILTER (
                    WHERE created_at > app_now() - interval '1 day'))) * 1000000)::bigint AS until_next
            FROM enrollments
            WHERE subject = \(subject) AND origin = 'own'
                AND (status = 'PENDING' OR created_at > app_now() - interval '1 day')
            """
        ).first
        guard let row else { return (0, 0, .zero) }
        return (
            Int(try row.decode("open", as: Int64.self)), Int(try row.decode("today", as: Int64.self)),
            .microseconds(try row.decode("until_next", as: Int64?.self) ?? 0)
        )
    }
}
