import Postgres
import TestSupport
import Testing
import Transport

/// The pool when the server stops, hangs or is replaced by another one.
@Suite struct ServerFaultTests {
    @Test(arguments: [TestCluster.StopMode.fast, .immediate])
    func `after a restart work goes on by itself`(_ mode: TestCluster.StopMode) async throws {
        try await onLoop {
            try await TestCluster.with { cluster in
                let log = EventLog()
                let loop = try #require(EventLoop.current)
                let database = try Database(cluster.connectionString, configuration: log.configuration)
                try await database.execute("CREATE TABLE numbers (n int)")
                try await database.execute("INSERT INTO numbers (n) VALUES (1)")
                _ = try await database.rows("SELECT n FROM numbers")
                try await cluster.stop(mode)
                try await waitUntil { try database.load().allSatisfy { $0.connections == 0 } }
                let down = await #expect(throws: DatabaseError.self) {
                    try await database.execute("INSERT INTO numbers (n) VALUES (2)", within: .milliseconds(300))
                }
                guard case .unavailable = down else {
                    Issue.record("\(String(describing: down)) is not unavailable")
                    return
                }
                // A caller that asks while the server is away and coming back is served when it is there.
                let read = loop.task { try await database.rows("SELECT n FROM numbers").count }
                let write = loop.task { try await database.execute("INSERT INTO numbers (n) VALUES (3)").affectedCount }
                try await cluster.start()
                #expect(try await read.value >= 1)
                #expect(try await write.value == 1)
                let rows = try await database.rows("SELECT n FROM numbers ORDER BY n")
                #expect(try rows.map { try $0["n", as: Int32.self] } == [1, 3])
                #expect(log.all.contains { if case .connectionFailed = $0 { true } else { false } })
                await database.close()
            }
        }
    }

    @Test func `what has been away for longer than a caller waits is waited for no more, until it is back`()
        async throws
    {
        try await onLoop {
            try await TestCluster.with { cluster in
                var configuration = DatabaseConfiguration.patient
                configuration.waitMax = .seconds(2)
                let database = try Database(cluster.connectionString, configuration: configuration)
                try await waitUntil { (try? await database.execute("SELECT 1 AS one")) != nil }
                try await cluster.stop(.immediate)
                await #expect(throws: DatabaseError.self) { try await database.execute("SELECT 1 AS one") }
                await #expect(throws: DatabaseError.self) { _ = try await database.rows("SELECT 1 AS one") }

                // Each of them waiting its two seconds would take a minute and more.
                let began = Monotonic.now()
                for _ in 0..<20 {
                    await #expect(throws: DatabaseError.self) { try await database.execute("SELECT 1 AS one") }
                    await #expect(throws: DatabaseError.self) { _ = try await database.rows("SELECT 1 AS one") }
                    await #expect(throws: DatabaseError.self) {
                        try await database.transaction { try await $0.execute("SELECT 1 AS one") }
                    }
                }
                #expect(Monotonic.now() - began < .seconds(20))

                try await cluster.start()
                try await waitUntil { (try? await database.execute("SELECT 1 AS one")) != nil }
                try await waitUntil { (try? await database.rows("SELECT 1 AS one")) != nil }
                await database.close()
            }
        }
    }

    @Test func `after an outage the next one begins with short pauses again, for statements and for listening`()
        async throws
    {
        try await onLoop {
            try await TestCluster.with { cluster in
                let loop = try #require(EventLoop.current)
                let log = EventLog()
                var configuration = log.configuration
                configuration.reconnectPauseMin = .milliseconds(1)
                configuration.reconnectPauseMax = .seconds(60)
                let database = try Database(cluster.connectionString, configuration: configuration)
                let listenings = Box(0)
                let listening = loop.task {
                    try await Notifications(of: database, channels: ["payments"]).run { event in
                        if event == .listening { listenings.update { $0 += 1 } }
                    }
                }
                try await waitUntil { listenings.value == 1 }
                try await database.execute("SELECT 1 AS one")
                for (outage, attempts) in [11, 7].enumerated() {
                    let (before, heard, began) = (log.all.count, listenings.value, Monotonic.now())
                    try await cluster.stop(.immediate)
                    try await waitUntil { try database.load().allSatisfy { $0.connections == 0 } }
                    let write = loop.task { try await database.execute("SELECT 1 AS one").count }
                    var failures: [PoolName] = []
                    // Seven attempts take an eighth of a second, or minutes where the pauses only grow.
                    try await waitUntil {
                        failures = log.all[before...].compactMap { event in
                            if case .connectionFailed(let pool, _) = event { pool } else { nil }
                        }
                        return [.write, .listen].allSatisfy { pool in failures.count { $0 == pool } >= attempts }
                            || Monotonic.now() - began > .seconds(15)
                    }
                    for pool in [PoolName.write, .listen] {
                        #expect(failures.count { $0 == pool } >= attempts, "\(pool) in outage \(outage)")
                    }
                    try await cluster.start()
                    #expect(try await write.value == 1)
                    try await waitUntil { listenings.value > heard }
                }
                listening.cancel()
                _ = await listening.result
                await database.close()
            }
        }
    }

    @Test func `a commit whose wait for the standby was given up is unknown`() async throws {
        try await onLoop {
            try await TestCluster.with { cluster in
                let loop = try #require(EventLoop.current)
                let database = try Database(cluster.connectionString, configuration: .patient)
                let other = try Database(cluster.connectionString, configuration: .patient)
                try await database.execute("CREATE TABLE numbers (n int)")
                try await other.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
                try await other.execute("SELECT pg_reload_conf()")
                try await waitUntil {
                    try await other.rows("SELECT current_setting('synchronous_standby_names') AS names")[0][
                        "names", as: String.self] == "nobody"
                }
                // The session knows the setting before the server's checkpointer does: until that has read it too,
                // commits wait for no standby.
                let ended = Box(0)
                func failure(of write: @escaping @Sendable () async throws -> Void) -> Task<any Error, any Error> {
                    loop.task {
                        defer { ended.update { $0 += 1 } }
                        while true {
                            do { try await write() } catch { return error }
                        }
                    }
                }
                let single = failure { _ = try await database.execute("INSERT INTO numbers (n) VALUES (1)") }
                let transaction = failure {
                    try await database.transaction { _ = try await $0.execute("INSERT INTO numbers (n) VALUES (2)") }
                }
                try await waitUntil {
                    _ = try await other.rows(
                        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
                    return ended.value == 2
                }
                for error in [try await single.value, try await transaction.value] {
                    guard case .outcomeUnknown = error as? DatabaseError else {
                        Issue.record("\(error) is not unknown")
                        continue
                    }
                }
                await database.close()
                await other.close()
            }
        }
    }

    @Test func `a silent host costs its share of time and is not asked first again`() async throws {
        try await onLoop {
            try await TestCluster.with { server in
                let silent = try #require(SilentListener())
                var configuration = DatabaseConfiguration.patient
                configuration.connectTimeout = .seconds(1)
                let database = try Database(
                    "postgresql://\(TestCluster.superuser)@127.0.0.1:\(silent.port),127.0.0.1:\(server.port)/postgres",
                    configuration: configuration)
                let began = Monotonic.now()
                _ = try await database.rows("SELECT 1 AS one")
                #expect(Monotonic.now() - began >= .seconds(1))
                #expect(silent.takeConnections() == 1)
                // Another pool, so another connection.
                try await database.execute("SELECT 1 AS one")
                #expect(silent.takeConnections() == 0)
                await database.close()
            }
        }
    }

    @Test func `a server that no longer takes writes is left for one that does`() async throws {
        try await onLoop {
            try await TestCluster.with { first in
                try await TestCluster.with(settings: "default_transaction_read_only = on") { second in
                    let log = EventLog()
                    let hosts = "127.0.0.1:\(second.port),127.0.0.1:\(first.port)"
                    let database = try Database(
                        "postgresql://\(TestCluster.superuser)@\(hosts)/postgres", configuration: log.configuration)
                    func port() async throws -> Int32 {
                        try await database.execute("SELECT inet_server_port() AS port")[0].decode("port")
                    }
                    #expect(try await port() == Int32(first.port))
                    try await Self.setReadOnly(first, "on")
                    try await Self.setReadOnly(second, "off")
                    let error = await #expect(throws: DatabaseError.self) {
                        try await database.execute("CREATE TABLE numbers (n int)")
                    }
                    guard case .unavailable = error else {
                        Issue.record("\(String(describing: error)) is not unavailable")
                        return
                    }
                    try await database.execute("CREATE TABLE numbers (n int)")
                    #expect(try await port() == Int32(second.port))
                    await database.close()
                }
            }
        }
    }

    /// A leader that stands still, is replaced, and wakes: it does not know yet, and answers as if nothing had been.
    @Test func `a session with the server before is not asked any more once another one has been found`()
        async throws
    {
        try await onLoop {
            try await TestCluster.with { before in
                try await TestCluster.with(settings: "default_transaction_read_only = on") { after in
                    let hosts = "127.0.0.1:\(before.port),127.0.0.1:\(after.port)"
                    let database = try Database(
                        "postgresql://\(TestCluster.superuser)@\(hosts)/postgres?target_session_attrs=read-write",
                        configuration: .patient)
                    func readPort() async throws -> Int32 {
                        try await database.rows("SELECT inet_server_port() AS port")[0].decode("port")
                    }
                    #expect(try await readPort() == Int32(before.port))
                    // New sessions are refused there; the one for reads stays as it is.
                    try await Self.setReadOnly(before, "on")
                    try await Self.setReadOnly(after, "off")
                    #expect(try await readPort() == Int32(before.port))
                    let write = try await database.execute("SELECT inet_server_port() AS port")
                    #expect(try write[0]["port", as: Int32.self] == Int32(after.port))
                    #expect(try await readPort() == Int32(after.port))
                    await database.close()
                }
            }
        }
    }

    @Test func `a session has the triggers that guard the rows, whatever the server is set to`() async throws {
        try await onLoop {
            try await TestCluster.with(settings: "session_replication_role = replica") { cluster in
                let database = try Database(cluster.connectionString, configuration: .patient)
                let role = "SELECT current_setting('session_replication_role') AS role" as SQL
                #expect(try await database.execute(role)[0].decode("role") == "origin")
                #expect(try await database.rows(role)[0].decode("role") == "origin")
                await database.close()
            }
        }
    }

    /// Makes the change and waits until new and old sessions have it.
    private static func setReadOnly(_ cluster: TestCluster, _ value: String) async throws {
        let database = try Database(cluster.connectionString, configuration: .patient)
        if value == "on" {
            try await database.execute("ALTER SYSTEM SET default_transaction_read_only = on")
        } else {
            // The session itself is read-only, so it has to say otherwise for itself.
            try await database.transaction { transaction in
                try await transaction.execute("SET TRANSACTION READ WRITE")
                try await transaction.execute("SELECT set_config('default_transaction_read_only', 'off', false)")
            }
            try await database.execute("ALTER SYSTEM SET default_transaction_read_only = off")
        }
        try await database.execute("SELECT pg_reload_conf()")
        let probe = try Database(cluster.connectionString, configuration: .patient)
        try await waitUntil {
            await probe.close()
            return try await probe.execute("SHOW default_transaction_read_only")[0]
                .decode("default_transaction_read_only", as: String.self) == value
        }
        await probe.close()
        await database.close()
    }

    @Test func `a server that cannot be reached is named, with the reason and without the password`() async throws {
        try await onLoop {
            let port = try freePort()
            let database = try Database("postgresql://somebody:geheim@127.0.0.1:\(port)/x")
            let error = await #expect(throws: DatabaseError.self) {
                try await database.rows("SELECT 1 AS one", within: .milliseconds(200))
            }
            let text = "\(String(describing: error))"
            #expect(text.contains("127.0.0.1") && text.contains("refused") && !text.contains("geheim"))
            await database.close()
        }
    }

    @Test(arguments: [
        "postgresql://a:geheim@[::1/x", "host=a,b port=1,2,3", "host=a port=0", "host=a port=geheim", "service=x",
        "host=a connect_timeout=-5", "nonsense geheim", "host=a,b target_session_attrs=prefer-standby",
    ])
    func `a connection string that is wrong is refused without being quoted`(_ text: String) {
        let fault = #expect(throws: ConnectionStringFault.self) { try Database(text) }
        #expect(fault?.description.contains("geheim") == false)
    }
}
