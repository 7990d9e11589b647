import Postgres
import TestSupport
import Testing

@Suite struct SQLTests {
    @Test func `values become numbered placeholders`() {
        let (name, age) = ("x", 3)
        let sql: SQL = "SELECT \(name), \(age) WHERE \(true)"
        #expect(sql.text == "SELECT $1, $2 WHERE $3")
        #expect("\(sql)" == "SELECT $1, $2 WHERE $3")
    }

    @Test func `fragments are numbered on, however many there are`() {
        let list = SQL(joining: (1...12).map { "\($0)" }, separator: ", ")
        let inner: SQL = "a = \(1) AND b IN (\(fragment: list))"
        let outer: SQL = "SELECT \(0) WHERE \(fragment: inner) OR c = \("z")"
        #expect(
            outer.text
                == "SELECT $1 WHERE a = $2 AND b IN ($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) OR c = $15")
    }

    @Test func `fragments keep their values in their places`() async throws {
        try await TestDatabase.open { database in
            let pairs: [SQL] = (0..<11).map { "(\($0), \("text \($0)"))" }
            let rows = try await database.rows(
                """
                SELECT number, text FROM (VALUES \(fragment: SQL(joining: pairs, separator: ", "))) AS v (number, text)
                WHERE number < \(11) ORDER BY number
                """)
            let read = try rows.map { "\(try $0["number", as: Int.self]) \(try $0["text", as: String.self])" }
            #expect(read == (0..<11).map { "\($0) text \($0)" })
        }
    }

    @Test(arguments: [
        "'; DROP TABLE victims; --", "x' OR '1'='1", "\\'; DROP TABLE victims; --", "$1",
        "$2); DELETE FROM victims; --",
        "\u{2019}; DROP TABLE victims", "/* */", "\"", "%s", "E'\\x27'",
    ])
    func `a hostile value is only a value`(_ hostile: String) async throws {
        try await TestDatabase.open { database in
            try await database.execute("CREATE TABLE victims (name text, kind text)")
            try await database.execute("INSERT INTO victims (name, kind) VALUES (\(hostile), \("kept"))")
            let found = try await database.rows("SELECT name FROM victims WHERE name = \(hostile)")
            #expect(try found.map { try $0["name", as: String.self] } == [hostile])
            #expect(try await database.rows("SELECT name FROM victims WHERE name = \("other")").isEmpty)
        }
    }

    @Test func `a text with a NUL is refused and not cut off`() async throws {
        try await TestDatabase.open { database in
            let refused = DatabaseError.refused(StatementError(state: .characterNotInRepertoire))
            await #expect(throws: refused) { try await database.rows("SELECT \("admin\0 not")::text AS name") }
            let error = await #expect(throws: DatabaseError.self) {
                try await database.rows("SELECT \(["admin\0 not"]) AS names")
            }
            #expect(error?.state == .characterNotInRepertoire)
            let next = try await database.rows("SELECT 1 AS one")
            #expect(next.count == 1)
        }
    }

    @Test func `the same text with other types is another statement`() async throws {
        try await TestDatabase.open { database in
            for _ in 1...2 {
                let types = [
                    try await database.rows("SELECT pg_typeof(\(1))::text AS name"),
                    try await database.rows("SELECT pg_typeof(\(Int16(1)))::text AS name"),
                    try await database.rows("SELECT pg_typeof(\(true))::text AS name"),
                ]
                let names = try types.map { try $0[0]["name", as: String.self] }
                #expect(names == ["bigint", "smallint", "boolean"])
            }
        }
    }
}
