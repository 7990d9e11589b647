import Postgres
import TestSupport
import Testing
import Transport

@Suite struct TransactionTests {
    private struct ChangeOfMind: Error {}

    private static let table = Migration(name: "numbers", text: "CREATE TABLE numbers (n int PRIMARY KEY);")

    private static func numbers(in database: Database) async throws -> [Int32] {
        try await database.rows("SELECT n FROM numbers ORDER BY n").map { try $0.decode("n") }
    }

    @Test func `what is committed stays and what is thrown away does not`() async throws {
        try await TestDatabase.open([Self.table]) { database in
            let sum: Int = try await database.transaction { transaction in
                try await transaction.execute("INSERT INTO numbers (n) VALUES (1)")
                try await transaction.execute(all: [
                    "INSERT INTO numbers (n) VALUES (2)", "INSERT INTO numbers (n) VALUES (3)",
                ])
                return try await transaction.rows("SELECT sum(n) AS sum FROM numbers")[0].decode("sum")
            }
            #expect(sum == 6)
            await #expect(throws: ChangeOfMind.self) {
                try await database.transaction { transaction in
                    try await transaction.execute("INSERT INTO numbers (n) VALUES (4)")
                    throw ChangeOfMind()
                }
            }
            try await database.transaction { _ in }
            #expect(try await Self.numbers(in: database) == [1, 2, 3])
        }
    }

    @Test func `a refusal that the body swallows still undoes everything`() async throws {
        try await TestDatabase.open([Self.table]) { database in
            let error = await #expect(throws: DatabaseError.self) {
                try await database.transaction { transaction in
                    try await transaction.execute("INSERT INTO numbers (n) VALUES (1)")
                    _ = try? await transaction.execute("INSERT INTO numbers (n) VALUES (1)")
                }
            }
            #expect(error?.state == .uniqueViolation)
            let numbers = try await Self.numbers(in: database)
            #expect(numbers.isEmpty)
        }
    }

    @Test func `a transaction that lost against another is done again, as often as wanted`() async throws {
        try await TestDatabase.open([Self.table]) { database in
            try await database.execute("INSERT INTO numbers (n) VALUES (0)")
            let collide: @Sendable (Int) async throws -> Int = { collisions in
                let attempts = LoopBound(Counter(), on: try #require(EventLoop.current))
                do {
                    try await database.transaction(retries: 2) { transaction in
                        attempts.value.count += 1
                        try await transaction.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                        _ = try await transaction.rows("SELECT n FROM numbers")
                        if attempts.value.count <= collisions {
                            try await database.execute("UPDATE numbers SET n = n + 1")
                        }
                        try await transaction.execute("UPDATE numbers SET n = n + 100")
                    }
                } catch let error as DatabaseError {
                    #expect(error.state == .serializationFailure)
                }
                return attempts.value.count
            }
            #expect(try await collide(2) == 3)
            #expect(try await Self.numbers(in: database) == [102])
            #expect(try await collide(9) == 3)
            #expect(try await Self.numbers(in: database) == [105])
        }
    }

    @Test func `a transaction has its connection for itself`() async throws {
        var configuration = DatabaseConfiguration.patient
        configuration.writeConnectionsMax = 2
        try await TestDatabase.open([Self.table], configuration: configuration) { database in
            let loop = try #require(EventLoop.current)
            let tasks = (0..<40).map { number in
                loop.task {
                    if number.isMultiple(of: 2) {
                        try await database.execute("INSERT INTO numbers (n) VALUES (\(number))")
                    } else {
                        try await database.transaction { transaction in
                            let id = "SELECT pg_current_xact_id()::text AS id" as SQL
                            let first: String = try await transaction.rows(id)[0].decode("id")
                            try await transaction.execute("INSERT INTO numbers (n) VALUES (\(number))")
                            let second: String = try await transaction.rows(id)[0].decode("id")
                            #expect(first == second)
                            if number % 5 == 0 { throw ChangeOfMind() }
                        }
                    }
                }
            }
            for task in tasks { _ = await task.result }
            let expected = (0..<40).filter { $0.isMultiple(of: 2) || $0 % 5 != 0 }.map(Int32.init)
            #expect(try await Self.numbers(in: database) == expected)
            // The last ROLLBACK may still be under way: no caller waits for it.
            try await waitUntil { try database.load()[1].outstanding == 0 }
            let load = try database.load()[1]
            #expect(load.connections == 2 && load.borrowed == 0 && load.waiting == 0)
        }
    }

    @Test func `what others write meanwhile is no part of it`() async throws {
        try await TestDatabase.open([Self.table]) { database in
            await #expect(throws: ChangeOfMind.self) {
                try await database.transaction { transaction in
                    try await transaction.execute("INSERT INTO numbers (n) VALUES (1)")
                    try await database.execute("INSERT INTO numbers (n) VALUES (2)")
                    throw ChangeOfMind()
                }
            }
            let numbers = try await Self.numbers(in: database)
            #expect(numbers == [2])
        }
    }

    @Test func `whose session ends in the middle has done nothing`() async throws {
        try await TestDatabase.open([Self.table]) { database in
            let error = await #expect(throws: DatabaseError.self) {
                try await database.transaction { transaction in
                    try await transaction.execute("INSERT INTO numbers (n) VALUES (1)")
                    let pid: Int32 = try await transaction.rows("SELECT pg_backend_pid() AS pid")[0].decode("pid")
                    try await database.execute("SELECT pg_terminate_backend(\(pid), 5000)")
                    try await transaction.execute("INSERT INTO numbers (n) VALUES (2)")
                }
            }
            guard case .unavailable = error else {
                Issue.record("\(String(describing: error)) is not unavailable")
                return
            }
            let numbers = try await Self.numbers(in: database)
            #expect(numbers.isEmpty)
        }
    }
}

final class Counter {
    var count = 0
}
