import Postgres
import TestSupport
import Testing
import Transport

@Suite struct LostConnectionTests {
    @Test func `a read that was lost with its connection is read again`() async throws {
        let log = EventLog()
        try await TestDatabase.open(configuration: log.configuration) { database in
            let loop = try #require(EventLoop.current)
            var held: Task<String, any Error>?
            try await StatementGate.with(of: database) { gate in
                let read = loop.task {
                    try await database.rows("SELECT 'held' AS text FROM pg_advisory_xact_lock_shared(1)")[0][
                        "text", as: String.self]
                }
                try await gate.endSessionOfHeld()
                try await waitUntil { log.all.contains(.readRepeated) }
                held = read
            }
            #expect(try await held?.value == "held")
            #expect(log.all.contains { if case .connectionLost(.read, _) = $0 { true } else { false } })
        }
    }

    @Test func `a read is not read a third time`() async throws {
        try await TestDatabase.open { database in
            let loop = try #require(EventLoop.current)
            try await StatementGate.with(of: database) { gate in
                let read = loop.task {
                    try await database.rows("SELECT 'held' AS text FROM pg_advisory_xact_lock_shared(1)")
                }
                try await gate.endSessionOfHeld()
                try await gate.endSessionOfHeld()
                let error = await #expect(throws: DatabaseError.self) { try await read.value }
                guard case .unavailable = error else {
                    Issue.record("\(String(describing: error)) is not unavailable")
                    return
                }
            }
        }
    }

    @Test func `a write that was lost is unknown, never repeated, and those behind it were not done`() async throws {
        var configuration = DatabaseConfiguration.patient
        configuration.writeConnectionsMax = 1
        try await TestDatabase.open(configuration: configuration) { database in
            let loop = try #require(EventLoop.current)
            try await database.execute("CREATE TABLE numbers (n int)")
            try await StatementGate.with(of: database) { gate in
                let write = loop.task {
                    try await database.execute(
                        "INSERT INTO numbers (n) SELECT 1 FROM pg_advisory_xact_lock_shared(1)")
                }
                try await waitUntil { try database.load()[1].outstanding == 1 }
                let behind = loop.task { try await database.execute("INSERT INTO numbers (n) VALUES (2)") }
                try await waitUntil { try database.load()[1].outstanding == 2 }
                try await gate.endSessionOfHeld()
                let lost = await #expect(throws: DatabaseError.self) { try await write.value }
                guard case .outcomeUnknown = lost else {
                    Issue.record("\(String(describing: lost)) is not unknown")
                    return
                }
                let notDone = await #expect(throws: DatabaseError.self) { try await behind.value }
                guard case .unavailable = notDone else {
                    Issue.record("\(String(describing: notDone)) is not unavailable")
                    return
                }
            }
            try await database.execute("INSERT INTO numbers (n) VALUES (3)")
            let rows = try await database.rows("SELECT n FROM numbers")
            #expect(try rows.map { try $0["n", as: Int32.self] } == [3])
        }
    }
}
