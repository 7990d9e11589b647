import Postgres
import TestSupport
import Testing
import Transport

@Suite struct PipelineTests {
    /// One connection in each pool, so that everything shares a pipeline.
    private static var narrow: DatabaseConfiguration {
        var configuration = DatabaseConfiguration.patient
        configuration.readConnectionsMax = 1
        configuration.writeConnectionsMax = 1
        return configuration
    }

    @Test func `everybody gets the answer to what they asked`() async throws {
        try await TestDatabase.open(configuration: Self.narrow) { database in
            let loop = try #require(EventLoop.current)
            let tasks = (0..<500).map { number in
                loop.task {
                    let rows = try await database.rows(
                        "SELECT \(number) AS number, repeat('x', \(Int32(number * 20))) AS filling")
                    return (try rows[0]["number", as: Int.self], try rows[0]["filling", as: String.self].utf8.count)
                }
            }
            for (number, task) in tasks.enumerated() {
                let (read, length) = try await task.value
                #expect(read == number)
                #expect(length == number * 20)
            }
            #expect(try database.load().first?.connections == 1)
        }
    }

    @Test func `a statement that fails harms none of its neighbours`() async throws {
        try await TestDatabase.open(configuration: Self.narrow) { database in
            let loop = try #require(EventLoop.current)
            try await database.execute("CREATE TABLE numbers (n int CONSTRAINT numbers_are_unique PRIMARY KEY)")
            try await database.execute("INSERT INTO numbers (n) VALUES (7)")
            let writes = (0..<20).map { number in
                loop.task { try await database.execute("INSERT INTO numbers (n) VALUES (\(number))").affectedCount }
            }
            let reads = (0..<20).map { number in
                loop.task { try await database.rows("SELECT 100 / (\(number) - 7) AS result").count }
            }
            let broken = loop.task { try await database.rows("SELECT absent FROM numbers").count }
            let last = loop.task { try await database.rows("SELECT n FROM numbers").count }
            for (number, task) in writes.enumerated() {
                switch await task.result {
                case .success(let count): #expect(count == 1 && number != 7)
                case .failure(let error):
                    #expect(number == 7)
                    #expect((error as? DatabaseError)?.isUniqueViolation(of: "numbers_are_unique") == true)
                }
            }
            for (number, task) in reads.enumerated() {
                switch await task.result {
                case .success: #expect(number != 7)
                case .failure(let error):
                    #expect(number == 7)
                    #expect((error as? DatabaseError)?.state == SQLState(rawValue: "22012"))
                }
            }
            let error = await #expect(throws: DatabaseError.self) { try await broken.value }
            #expect(error?.state == SQLState(rawValue: "42703"))
            _ = try await last.value
            let count = try await database.rows("SELECT n FROM numbers").count
            #expect(count == 20)
        }
    }

    @Test func `what fails only at the commit is refused`() async throws {
        try await TestDatabase.open(configuration: Self.narrow) { database in
            try await database.execute(
                """
                CREATE TABLE parts (id int PRIMARY KEY,
                    whole int CONSTRAINT parts_have_a_whole REFERENCES parts (id) DEFERRABLE INITIALLY DEFERRED)
                """)
            let refused = DatabaseError.refused(
                StatementError(state: .foreignKeyViolation, constraint: "parts_have_a_whole", table: "parts"))
            await #expect(throws: refused) {
                try await database.execute("INSERT INTO parts (id, whole) VALUES (1, 99)")
            }
            await #expect(throws: refused) {
                try await database.transaction { try await $0.execute("INSERT INTO parts (id, whole) VALUES (2, 99)") }
            }
            try await database.execute("INSERT INTO parts (id, whole) VALUES (3, 3)")
            let rows = try await database.rows("SELECT id FROM parts")
            #expect(try rows.map { try $0["id", as: Int32.self] } == [3])
        }
    }

    @Test func `several statements at once are done together or not at all`() async throws {
        try await TestDatabase.open(configuration: Self.narrow) { database in
            try await database.execute("CREATE TABLE numbers (n int PRIMARY KEY)")
            let results = try await database.execute(all: [
                "INSERT INTO numbers (n) VALUES (1), (2)", "SELECT sum(n) AS sum FROM numbers",
            ])
            #expect(results[0].affectedCount == 2)
            #expect(try results[1][0]["sum", as: Int.self] == 3)
            let error = await #expect(throws: DatabaseError.self) {
                try await database.execute(all: [
                    "INSERT INTO numbers (n) VALUES (3)", "INSERT INTO numbers (n) VALUES (1)",
                    "INSERT INTO numbers (n) VALUES (4)",
                ])
            }
            #expect(error?.state == .uniqueViolation)
            let count = try await database.rows("SELECT n FROM numbers").count
            #expect(count == 2)
        }
    }

    @Test func `a statement whose table has changed is prepared anew`() async throws {
        try await TestDatabase.open(configuration: Self.narrow) { database in
            try await database.execute("CREATE TABLE things (id int, label varchar(10))")
            try await database.execute("INSERT INTO things (id, label) VALUES (1, 'a')")
            func read() async throws -> Row { try await database.rows("SELECT id, label FROM things")[0] }
            #expect(try await read()["id", as: Int32.self] == 1)
            try await database.execute("ALTER TABLE things ALTER COLUMN id TYPE bigint")
            #expect(try await read()["id", as: Int64.self] == 1)
        }
    }

    @Test func `a session that has lost its prepared statements goes on`() async throws {
        try await TestDatabase.open(configuration: Self.narrow) { database in
            func add(_ number: Int) async throws -> Int {
                try await database.execute("SELECT \(number) + 1 AS sum")[0].decode("sum")
            }
            #expect(try await add(1) == 2)
            try await database.execute("DEALLOCATE ALL")
            #expect(try await add(2) == 3)
        }
    }

    @Test func `a connection keeps no more prepared statements than it may`() async throws {
        var configuration = Self.narrow
        configuration.preparedStatementsMax = 5
        try await TestDatabase.open(configuration: configuration) { database in
            let columns: [SQL] = ["1 AS a", "2 AS b", "3 AS c", "4 AS d", "5 AS e", "6 AS f", "7 AS g", "8 AS h"]
            for _ in 1...3 {
                for (index, column) in columns.enumerated() {
                    let row = try await database.rows("SELECT \(fragment: column)")[0]
                    let name = String("abcdefgh"[String.Index(utf16Offset: index, in: "abcdefgh")])
                    #expect(try row[name, as: Int32.self] == Int32(index + 1))
                }
            }
            let count = try await database.rows("SELECT count(*) AS count FROM pg_prepared_statements")
            #expect(try count[0]["count", as: Int.self] <= 5)
        }
    }

    @Test func `a statement larger than every buffer goes through`() async throws {
        try await TestDatabase.open(configuration: Self.narrow) { database in
            let large = [UInt8](repeating: 0xA5, count: 5_000_000)
            let row = try await database.rows("SELECT length(\(large)) AS length, \(large) AS copy")[0]
            #expect(try row["length", as: Int32.self] == 5_000_000)
            #expect(try row["copy", as: [UInt8].self] == large)
        }
    }

    @Test func `reading connections refuse to write`() async throws {
        try await TestDatabase.open(configuration: Self.narrow) { database in
            try await database.execute("CREATE TABLE numbers (n int)")
            let error = await #expect(throws: DatabaseError.self) {
                try await database.rows("INSERT INTO numbers (n) VALUES (1) RETURNING n")
            }
            #expect(error?.state == .readOnlyTransaction)
            let count = try await database.rows("SELECT n FROM numbers").count
            #expect(count == 0)
        }
    }
}
