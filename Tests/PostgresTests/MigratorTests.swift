import Postgres
import TestSupport
import Testing
import Transport

@Suite struct MigratorTests {
    private static let first = Migration(
        name: "0001_create_numbers", text: "CREATE TABLE numbers (n int);\nINSERT INTO numbers (n) VALUES (1);")
    private static let second = Migration(name: "0002_add_two", text: "INSERT INTO numbers (n) VALUES (2);")
    private static let third = Migration(name: "0003_add_three", text: "-- why\nINSERT INTO numbers (n) VALUES (3);")

    private static func numbers(in database: Database) async throws -> [Int32] {
        try await database.rows("SELECT n FROM numbers ORDER BY n").map { try $0.decode("n") }
    }

    @Test func `migrations are applied once, in order, and told apart`() async throws {
        try await TestDatabase.open { database in
            let two = Migrator([Self.first, Self.second], of: database)
            let three = Migrator([Self.first, Self.second, Self.third], of: database)
            #expect(try await two.status() == .pending([Self.first.name, Self.second.name]))
            #expect(try await two.migrate() == [Self.first.name, Self.second.name])
            #expect(try await two.status() == .upToDate)
            #expect(try await two.migrate() == [])
            #expect(try await three.status() == .pending([Self.third.name]))
            #expect(try await three.migrate() == [Self.third.name])
            #expect(try await two.status() == .ahead([Self.third.name]))
            await #expect(throws: MigrationError.impossible(.ahead([Self.third.name]))) { try await two.migrate() }
            #expect(try await Self.numbers(in: database) == [1, 2, 3])
            let rows = try await database.rows("SELECT version, checksum FROM schema_migrations ORDER BY version")
            #expect(try rows.map { try $0["version", as: Int.self] } == [1, 2, 3])
            // echo -n "INSERT INTO numbers (n) VALUES (2);" | sha256sum
            #expect(
                try rows[1]["checksum", as: String.self]
                    == "bb4fecf774f303497270cb99fd8ab270ba0004008a0cf360fa078b86743f3bf6")
        }
    }

    @Test func `an applied migration that was altered, moved or dropped stops everything`() async throws {
        try await TestDatabase.open { database in
            try await Migrator([Self.first, Self.second], of: database).migrate()
            let altered = Migration(name: Self.second.name, text: Self.second.text + " ")
            let cases: [([Migration], SchemaStatus)] = [
                ([Self.first, altered, Self.third], .altered([Self.second.name])),
                ([Self.first, Self.third, Self.second], .altered([Self.second.name])),
                ([Self.first, Self.third], .ahead([Self.second.name])),
                ([], .ahead([Self.first.name, Self.second.name])),
            ]
            for (migrations, status) in cases {
                let migrator = Migrator(migrations, of: database)
                #expect(try await migrator.status() == status)
                await #expect(throws: MigrationError.impossible(status)) { try await migrator.migrate() }
            }
            #expect(try await Self.numbers(in: database) == [1, 2])
        }
    }

    @Test func `a migration that fails leaves nothing of itself`() async throws {
        try await TestDatabase.open { database in
            let broken = Migration(
                name: "0002_broken", text: "INSERT INTO numbers (n) VALUES (9);\nINSERT INTO absent (n) VALUES (1);")
            let error = await #expect(throws: MigrationError.self) {
                try await Migrator([Self.first, broken, Self.third], of: database).migrate()
            }
            guard case .failed("0002_broken", let cause) = error else {
                Issue.record("\(String(describing: error)) is not the failure")
                return
            }
            #expect(cause.state == .undefinedTable)
            let numbers = try await Self.numbers(in: database)
            #expect(numbers == [1])
            let status = try await Migrator([Self.first], of: database).status()
            #expect(status == .upToDate)
        }
    }

    @Test(arguments: ["COMMIT; INSERT INTO numbers (n) VALUES (9);", "ROLLBACK;"])
    func `a migration may not end its transaction`(_ text: String) async throws {
        try await TestDatabase.open { database in
            let impatient = Migration(name: "0002_impatient", text: text)
            await #expect(throws: MigrationError.endsItsTransaction(name: "0002_impatient")) {
                try await Migrator([Self.first, impatient], of: database).migrate()
            }
            let status = try await Migrator([Self.first], of: database).status()
            #expect(status == .upToDate)
        }
    }

    @Test func `programs that start at once wait for each other`() async throws {
        try await TestDatabase.open { database in
            let loop = try #require(EventLoop.current)
            // Long enough for the others to come while it runs; nothing is expected of the time.
            let slow = Migration(name: "0002_slow", text: "SELECT pg_sleep(0.1); INSERT INTO numbers (n) VALUES (2);")
            let tasks = (0..<5).map { _ in
                loop.task { try await Migrator([Self.first, slow], of: database).migrate() }
            }
            var applied: [[String]] = []
            for task in tasks { applied.append(try await task.value) }
            #expect(applied.filter { $0 == [Self.first.name, slow.name] }.count == 1)
            #expect(applied.filter(\.isEmpty).count == 4)
            #expect(try await Self.numbers(in: database) == [1, 2])
        }
    }

    @Test func `a migration that does not get a lock lets others pass, and tries again`() async throws {
        try await TestDatabase.open { database in
            let loop = try #require(EventLoop.current)
            try await Migrator([Self.first], of: database).migrate()
            let change = Migration(name: "0002_widen", text: "ALTER TABLE numbers ADD COLUMN more text;")
            var task: Task<[String], any Error>?
            var seen: [Int32] = []
            try await database.transaction { transaction in
                try await transaction.execute("LOCK TABLE numbers IN ACCESS SHARE MODE")
                task = loop.task { try await Migrator([Self.first, change], of: database).migrate() }
                // It waits for this transaction, and everybody who comes now waits behind it.
                let waiting: SQL = """
                    SELECT count(*) AS count FROM pg_locks WHERE NOT granted AND relation = 'numbers'::regclass
                    """
                while try await database.rows(waiting)[0]["count", as: Int.self] == 0 {
                    try await loop.sleep(for: .milliseconds(5))
                }
                seen = try await Self.numbers(in: database)
            }
            #expect(seen == [1])
            #expect(try await task?.value == [change.name])
        }
    }
}
