import FoundationEssentials
import JSON
import Postgres

/// What an operator reads about one record, over a connection that may only read.
struct Records: Sendable {
    private let database: Database

    init(connectionString: String) throws {
        var configuration = DatabaseConfiguration()
        configuration.applicationName = "shop-example"
        configuration.readConnectionsMax = 1
        database = try Database(connectionString, configuration: configuration)
    }

    /// A record that the page is about.
    struct Subject: Sendable, Hashable {
        enum Kind: String { case payment, enrollment, customer }
        let kind: Kind
        let id: UUID

        /// The id as everybody else writes it.
        var name: String { id.uuidString.lowercased() }

        /// Reads `payment:01a1…`.
        init?(_ text: String) {
            let parts = text.split(separator: ":").map(String.init)
            guard parts.count == 2, let kind = Kind(rawValue: parts[0]), let id = UUID(uuidString: parts[1]) else {
                return nil
            }
            self.kind = kind
            self.id = id
        }
    }

    /// A statement with its result: an array of objects in JSON.
    struct Answer: Sendable {
        let title: String
        let statement: String
        let rows: [UInt8]
    }

    /// The record's own row.
    func row(of subject: Subject) async throws -> Answer {
        try await ask(Records.row(of: subject))
    }

    /// Everything that an operator would ask about the record.
    func answers(about subject: Subject) async throws -> [Answer] {
        var answers: [Answer] = []
        for question in Records.questions(about: subject) { answers.append(try await ask(question)) }
        return answers
    }

    /// What happened to the record: oldest first.
    func history(of subject: Subject) async throws -> Answer {
        try await ask(Records.history(of: subject))
    }

    /// The payments for a reference: their ids, and whether they were paid.
    func attempts(for reference: String) async throws -> JSONValue {
        let answer = try await ask(
            Question("attempts", "SELECT id, state FROM payments WHERE reference = \(reference) ORDER BY id", reference)
        )
        return try JSONDocument(parsing: answer.rows).root
    }

    private struct Question {
        let title: String
        let sql: SQL
        /// What stands for `$1`.
        let value: String

        init(_ title: String, _ sql: SQL, _ value: String) {
            self.title = title
            self.sql = sql
            self.value = value
        }
    }

    private func ask(_ question: Question) async throws -> Answer {
        let rows = try await database.rows(
            "SELECT coalesce(json_agg(row_to_json(answer)), '[]')::text AS rows FROM (\(fragment: question.sql)) answer"
        )
        let text: String = try rows[0].decode("rows")
        return Answer(
            title: question.title, statement: question.sql.text.replacing("$1", with: "'\(question.value)'") + ";",
            rows: Array(text.utf8))
    }

    private static func row(of subject: Subject) -> Question {
        let id = subject.id
        let sql: SQL =
            switch subject.kind {
            case .payment:
                """
                SELECT id, state, in_doubt, amount_centavos, reference, belvo_id, provider_status, end_to_end_id,
                       failure_code, authorization_accepted, version, next_poll_at, deadline_at, updated_at
                FROM payments WHERE id = \(id)
                """
            case .enrollment:
                """
                SELECT id, state, institution_name, platform, belvo_id, provider_status, provider_details_status,
                       failure_code, confirmation_accepted, version, next_poll_at, deadline_at, updated_at
                FROM enrollments WHERE id = \(id)
                """
            case .customer:
                """
                SELECT id, subject, state, belvo_id, belvo_created_at, failure_code, version, next_poll_at, updated_at
                FROM customers WHERE id = \(id)
                """
            }
        return Question("row", sql, subject.name)
    }

    private static func history(of subject: Subject) -> Question {
        let id = subject.id
        return Question(
            "history",
            """
            SELECT id, changed_at, state_before, state_after, caused_by, detail
            FROM state_history WHERE record_id = \(id) ORDER BY id
            """, subject.name)
    }

    private static func questions(about subject: Subject) -> [Question] {
        let id = subject.id
        var questions = [row(of: subject), history(of: subject)]
        if subject.kind == .payment {
            questions += [
                Question(
                    "order",
                    """
                    SELECT reference, subject, amount::text, status FROM ops.orders
                    WHERE reference = (SELECT reference FROM payments WHERE id = \(id))
                    """, subject.name),
                Question(
                    "double",
                    """
                    SELECT reference, payments, amount::text FROM ops.double_paid
                    WHERE reference = (SELECT reference FROM payments WHERE id = \(id))
                    """, subject.name),
            ]
        }
        questions.append(
            Question(
                "events",
                """
                SELECT type, created_at, attempts, delivered_at FROM events WHERE record_id = \(id) ORDER BY created_at
                """, subject.name))
        return questions
    }
}
