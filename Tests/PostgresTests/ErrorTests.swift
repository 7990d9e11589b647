import Postgres
import TestSupport
import Testing

@Suite struct ErrorTests {
    private static let table = Migration(
        name: "people",
        text: """
            CREATE TABLE people (
                tax_number text CONSTRAINT tax_numbers_are_unique PRIMARY KEY,
                age int CONSTRAINT ages_are_positive CHECK (age > 0),
                name text NOT NULL
            );
            """)

    @Test func `what was refused is told by state and constraint`() async throws {
        try await TestDatabase.open([Self.table]) { database in
            func insert(_ number: String, _ age: Int32, _ name: String?) async throws {
                try await database.execute(
                    "INSERT INTO people (tax_number, age, name) VALUES (\(number), \(age), \(name))")
            }
            try await insert("1", 1, "a")
            let unique = await #expect(throws: DatabaseError.self) { try await insert("1", 1, "a") }
            #expect(unique?.isUniqueViolation(of: "tax_numbers_are_unique") == true)
            #expect(unique?.isUniqueViolation(of: "another") == false)
            let check = await #expect(throws: DatabaseError.self) { try await insert("2", -1, "a") }
            #expect(
                check
                    == .refused(
                        StatementError(state: .checkViolation, constraint: "ages_are_positive", table: "people")))
            let null = await #expect(throws: DatabaseError.self) { try await insert("3", 1, nil) }
            #expect(null == .refused(StatementError(state: .notNullViolation, table: "people", column: "name")))
        }
    }

    @Test func `no error holds a value`() async throws {
        try await TestDatabase.open([Self.table]) { database in
            let secret = "52998224725"
            let statements: [SQL] = [
                "INSERT INTO people (tax_number, name) VALUES (\(secret), ''), (\(secret), '')",
                "INSERT INTO people (tax_number, age, name) VALUES (\(secret), -1, '')",
                "SELECT \(secret + "x")::text::int AS number",
                "SELECT \(secret + "x")::text::uuid AS id",
                "SELECT \(secret)::text::int2 AS number",
                "INSERT INTO people (tax_number) VALUES (\(secret))",
                "SELECT \(JSONText(Array("{\"a\": \(secret)".utf8))) AS json",
            ]
            for statement in statements {
                let error = await #expect(throws: DatabaseError.self) { try await database.execute(statement) }
                var dumped = ""
                dump(error, to: &dumped)
                #expect(!dumped.contains("5299822"), "\(dumped)")
                #expect(!"\(String(describing: error))".contains("5299822"))
            }
        }
    }

    @Test func `a mistake in a statement is told in PostgreSQL's words`() async throws {
        try await TestDatabase.open { database in
            let error = await #expect(throws: DatabaseError.self) { try await database.rows("SELECT 1 FROM absent") }
            guard case .refused(let refusal) = error else {
                Issue.record("\(String(describing: error)) is not a refusal")
                return
            }
            #expect(refusal.state == .undefinedTable)
            #expect(refusal.message?.contains("absent") == true)
        }
    }
}
