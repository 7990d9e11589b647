import Postgres
import TestSupport
import Testing
import Transport

/// Callers that have to wait: for a connection, for an answer, or for one that does not come.
@Suite struct WaitingTests {
    private static var narrow: DatabaseConfiguration {
        var configuration = DatabaseConfiguration.patient
        configuration.readConnectionsMax = 1
        configuration.writeConnectionsMax = 1
        return configuration
    }

    private static func isUnavailable(_ error: (any Error)?) -> Bool {
        if case .unavailable? = error as? DatabaseError { true } else { false }
    }

    @Test func `a full pool turns callers away, and serves again when there is room`() async throws {
        var configuration = Self.narrow
        configuration.waitersMax = 3
        configuration.waitMax = .seconds(1)
        try await TestDatabase.open(configuration: configuration) { database in
            let loop = try #require(EventLoop.current)
            // On a busy machine the first connection may come later than `waitMax`.
            try await waitUntil { (try? await database.execute("SELECT 1 AS one")) != nil }
            try await database.transaction { transaction in
                try await transaction.execute("SELECT 1 AS one")
                let waiting = (0..<3).map { _ in loop.task { try await database.execute("SELECT 1 AS one") } }
                try await waitUntil { try database.load()[1].waiting == 3 }
                let began = Monotonic.now()
                let refused = await #expect(throws: DatabaseError.self) {
                    try await database.execute("SELECT 1 AS one")
                }
                #expect(Self.isUnavailable(refused) && Monotonic.now() - began < .seconds(1))
                let alsoRefused = await #expect(throws: DatabaseError.self) {
                    try await database.transaction { try await $0.execute("SELECT 1 AS one") }
                }
                #expect(Self.isUnavailable(alsoRefused))
                for task in waiting {
                    let late = await #expect(throws: DatabaseError.self) { try await task.value }
                    #expect(Self.isUnavailable(late))
                }
            }
            try await database.execute("SELECT 1 AS one")
            try await database.transaction { try await $0.execute("SELECT 1 AS one") }
        }
    }

    @Test func `the locks of a transaction that stands still are free before others give up`() async throws {
        try await TestDatabase.open(configuration: DatabaseConfiguration()) { database in
            let loop = try #require(EventLoop.current)
            try await database.execute("CREATE TABLE numbers (n int)")
            try await database.execute("INSERT INTO numbers VALUES (1)")
            await #expect(throws: DatabaseError.self) {
                try await database.transaction { transaction in
                    try await transaction.execute("UPDATE numbers SET n = 2")
                    let other = loop.task { try await database.execute("UPDATE numbers SET n = 3").affectedCount }
                    #expect(try await other.value == 1)
                    try await transaction.execute("UPDATE numbers SET n = 4")
                }
            }
            #expect(try await database.rows("SELECT n FROM numbers")[0]["n", as: Int32.self] == 3)
        }
    }

    @Test func `who waits for a connection may be cancelled`() async throws {
        var configuration = Self.narrow
        configuration.waitMax = .seconds(30)
        try await TestDatabase.open(configuration: configuration) { database in
            let loop = try #require(EventLoop.current)
            try await database.transaction { transaction in
                try await transaction.execute("SELECT 1 AS one")
                let statement = loop.task {
                    try await database.execute("CREATE TABLE absent (n int)", within: .seconds(30))
                }
                let other = loop.task {
                    try await database.transaction { try await $0.execute("CREATE TABLE absent (n int)") }
                }
                try await waitUntil { try database.load()[1].waiting == 2 }
                statement.cancel()
                other.cancel()
                await #expect(throws: CancellationError.self) { try await statement.value }
                await #expect(throws: CancellationError.self) { try await other.value }
            }
            let absent = try await database.execute("SELECT to_regclass('absent') IS NULL AS is_absent")
            #expect(try absent[0]["is_absent", as: Bool.self])
        }
    }

    @Test func `a cancelled read ends at once and leaves the pipeline in step`() async throws {
        try await TestDatabase.open(configuration: Self.narrow) { database in
            let loop = try #require(EventLoop.current)
            var behind: Task<String, any Error>?
            try await StatementGate.with(of: database) { _ in
                let held = loop.task {
                    try await database.rows("SELECT 'held' AS text FROM pg_advisory_xact_lock_shared(1)")
                }
                try await waitUntil { try database.load()[0].outstanding == 1 }
                behind = loop.task { try await database.rows("SELECT 'behind' AS text")[0]["text", as: String.self] }
                try await waitUntil { try database.load()[0].outstanding == 2 }
                held.cancel()
                await #expect(throws: CancellationError.self) { try await held.value }
            }
            #expect(try await behind?.value == "behind")
            #expect(try await database.rows("SELECT 'next' AS text")[0]["text", as: String.self] == "next")
        }
    }

    @Test func `a write that was sent is waited for even when cancelled`() async throws {
        try await TestDatabase.open(configuration: Self.narrow) { database in
            let loop = try #require(EventLoop.current)
            try await database.execute("CREATE TABLE numbers (n int)")
            let write = loop.task {
                // Long enough to be cancelled; it is seen to be under way before that.
                try await database.execute("INSERT INTO numbers (n) SELECT 1 FROM pg_sleep(0.1)").affectedCount
            }
            try await waitUntil { try database.load()[1].outstanding == 1 }
            write.cancel()
            #expect(try await write.value == 1)
        }
    }

    @Test func `past its deadline a read is unavailable, a write unknown and a transaction undone`() async throws {
        try await TestDatabase.open(configuration: Self.narrow) { database in
            try await database.execute("CREATE TABLE numbers (n int)")
            let short = Duration.milliseconds(50)
            try await StatementGate.with(of: database) { _ in
                let read = await #expect(throws: DatabaseError.self) {
                    try await database.rows("SELECT 1 AS one FROM pg_advisory_xact_lock_shared(1)", within: short)
                }
                #expect(Self.isUnavailable(read))
                let write = await #expect(throws: DatabaseError.self) {
                    try await database.execute(
                        "INSERT INTO numbers (n) SELECT 1 FROM pg_advisory_xact_lock_shared(1)", within: short)
                }
                guard case .outcomeUnknown = write else {
                    Issue.record("\(String(describing: write)) is not unknown")
                    return
                }
                let transaction = await #expect(throws: DatabaseError.self) {
                    try await database.transaction { transaction in
                        try await transaction.execute("INSERT INTO numbers (n) VALUES (2)")
                        try await transaction.execute(
                            "SELECT 1 AS one FROM pg_advisory_xact_lock_shared(1)", within: short)
                    }
                }
                #expect(Self.isUnavailable(transaction))
            }
            // The write was done after all, and the connections are in step or new.
            try await waitUntil { try await database.rows("SELECT n FROM numbers WHERE n = 1").count == 1 }
            let others = try await database.rows("SELECT n FROM numbers WHERE n <> 1")
            #expect(others.isEmpty)
        }
    }

    @Test func `PostgreSQL itself stops what takes too long`() async throws {
        var configuration = Self.narrow
        configuration.statementTimeout = .milliseconds(50)
        try await TestDatabase.open(configuration: configuration) { database in
            let error = await #expect(throws: DatabaseError.self) {
                // It never ends by itself: the test ends it.
                try await database.execute("SELECT pg_sleep(5)::text AS slept")
            }
            #expect(error?.state == .queryCanceled)
        }
    }

    @Test func `a closed database says so`() async throws {
        try await TestDatabase.open(configuration: Self.narrow) { database in
            let loop = try #require(EventLoop.current)
            // It never ends by itself: the test ends it.
            let write = loop.task { try await database.execute("SELECT pg_sleep(5)::text AS slept") }
            // It never ends by itself either.
            let read = loop.task { try await database.rows("SELECT pg_sleep(5)::text AS slept") }
            try await waitUntil { try database.load().map(\.outstanding) == [1, 1, 0] }
            await database.close()
            let lost = await #expect(throws: DatabaseError.self) { try await write.value }
            guard case .outcomeUnknown = lost else {
                Issue.record("\(String(describing: lost)) is not unknown")
                return
            }
            await #expect(throws: DatabaseError.self) { try await read.value }
        }
    }
}

/// Lets the loop go on until the condition holds, a minute at most.
func waitUntil(_ condition: () async throws -> Bool) async throws {
    let end = Monotonic.now() + .seconds(60)
    while try await !condition() {
        try #require(Monotonic.now() < end, "it did not come to pass")
        try await EventLoop.current?.sleep(for: .milliseconds(1))
    }
}
