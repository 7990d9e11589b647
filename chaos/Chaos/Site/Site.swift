import HTTP
import Postgres
import Transport

/// A merchant's whole site: a database, the sandbox in Belvo's place, instances of the server, and the relays between
/// them that a scenario watches.
final class Site: Sendable {
    let tools: Tools
    let directory: String
    let cluster: Cluster
    let belvo: BelvoStandIn
    let instances: [Instance]
    /// Where apps and webhooks come in.
    let door: UInt16
    let testimony = Testimony()
    let users: [User]
    /// What the commands of the operators are started with.
    let settings: [String: String]
    /// For looking at rows, past all relays.
    let database: Database
    /// Where the server looks for its database, whichever of several hosts that is.
    private let databaseURL: String
    private let relays: [Relay]
    /// Reads along in Belvo's log, which forgets, and of which one answer holds only so much.
    private let reader: Task<Void, any Error>

    /// What differs from scenario to scenario.
    struct Plan: Sendable {
        var users = 8
        var instances = 1
        /// Where the data of PostgreSQL are; nil for a directory of the site's.
        var dataDirectory: String?
        var initOptions: [String] = []
        var databaseSettings: [String] = []
        /// What stands in the server's settings.
        var settings: [String: String] = [:]
        var settleAfter = Duration.milliseconds(300)
        var warden: any Warden = OpenBorder()
        /// Who watches single instances, from 1 on, in its place.
        var wardens: [Int: any Warden] = [:]
        /// Whether the server reaches PostgreSQL through a relay; not where it has several hosts.
        var relaysDatabase = true
        /// What stands between apps and several instances; nil for the relay alone.
        var balancer: (@Sendable (_ instances: [Instance]) async throws -> UInt16)?
        /// Has its turn when the database is there and nothing else.
        var prepare: @Sendable (Cluster, _ directory: String) async throws -> String? = { _, _ in nil }
    }

    /// Plays the body on a fresh site with enrolled users, and takes it down whatever happens.
    static func open<Value: Sendable>(
        _ name: String, with tools: Tools, _ plan: Plan = Plan(), _ body: @Sendable (Site) async throws -> Value
    ) async throws -> Value {
        let directory = "\(tools.scratch)/\(name)"
        try await runTool(["mkdir", "-p", directory], log: "\(tools.scratch)/mkdir.log")
        if !Cluster.account.isEmpty {
            try await runTool(["chown", "postgres:", directory], log: "\(tools.scratch)/chown.log")
        }
        let cluster = try Cluster(in: directory, dataBelow: plan.dataDirectory, waitsForDisk: tools.waitsForDisk)
        do {
            try await cluster.create(plan.initOptions, settings: plan.databaseSettings)
            try await cluster.start()
            let site = try await Site(name, tools, plan, directory, cluster)
            let result: Result<Value, any Error>
            do { result = .success(try await body(site)) } catch { result = .failure(error) }
            await site.takeDown()
            await cluster.kill()
            return try result.get()
        } catch {
            await cluster.kill()
            throw error
        }
    }

    private init(
        _ name: String, _ tools: Tools, _ plan: Plan, _ directory: String, _ cluster: Cluster
    ) async throws {
        self.tools = tools
        self.directory = directory
        self.cluster = cluster
        let root = try Database(cluster.url("postgres"))
        try await root.execute("CREATE DATABASE merchant")
        await root.close()
        database = try Database(cluster.url())
        databaseURL = try await plan.prepare(cluster, directory) ?? cluster.url()

        door = try Port.free()
        belvo = try BelvoStandIn(
            of: tools, log: "\(directory)/belvo-sandbox.log", settleAfter: plan.settleAfter, webhooksTo: door)
        try await belvo.waitUntilReady()
        var settings = Self.settings(database: databaseURL, belvo: belvo.port, door: door)
        settings.merge(plan.settings) { $1 }
        settings.merge(tools.settings) { $1 }
        self.settings = settings
        try await runTool(
            [tools.program("merchant"), "migrate"], environment: settings, log: "\(directory)/migrate.log")

        var relays: [Relay] = []
        var instances: [Instance] = []
        for number in 1...plan.instances {
            let warden = plan.wardens[number] ?? plan.warden
            let calls = try Relay(.belvo, to: belvo.port, watchedBy: warden)
            relays.append(calls)
            settings["BELVO_BASE_URL"] = "http://127.0.0.1:\(calls.port)"
            if plan.relaysDatabase {
                let statements = try Relay(.database, to: cluster.port, watchedBy: warden)
                relays.append(statements)
                settings["DATABASE_URL"] = "postgresql://postgres@127.0.0.1:\(statements.port)/merchant"
            }
            instances.append(
                try Instance(
                    "merchant-\(number)", of: tools, at: Port.free(), log: "\(directory)/merchant-\(number).log",
                    settings: settings))
        }
        for instance in instances { try await instance.start() }
        let entrance = try await plan.balancer?(instances) ?? instances[0].port
        relays.append(try Relay(.door, to: entrance, at: door, watchedBy: plan.warden))
        reader = Loop.task { [belvo] in
            while !Task.isCancelled {
                // What could not be read now is read with the next.
                try? await belvo.readCalls()
                try await Loop.sleep(.seconds(1))
            }
        }
        self.instances = instances
        self.relays = relays
        users = try await User.enroll(
            plan.users, at: door, belvo: belvo, telling: testimony, tools: tools, settings: settings)
    }

    var instance: Instance { instances[0] }

    /// Waits until every app has what it asked for; false when that takes longer than healing may take.
    func settleDown() async -> Bool {
        await heals { testimony.unpaid.isEmpty }
    }

    /// Lets apps buy for a while, and until something has been paid since.
    func trade(for span: Duration) async throws {
        let before = testimony.paid
        try await Loop.sleep(span)
        guard await heals({ testimony.paid > before }) else {
            throw CommandFailed(description: "nothing is paid any more")
        }
    }

    /// Waits until the answer is yes; false when that takes longer than healing may take.
    ///
    /// A payment that was signed and never arrived at Belvo is in doubt until it lapses there, one that was remembered
    /// and never asked for is given up after a while, and a record that was being polled at a fault has a
    /// lease: these minutes are made to pass.
    func heals(_ isSo: () async -> Bool) async -> Bool {
        let deadline = Monotonic.now() + tools.healing
        var timeouts = tools.timeouts
        while true {
            let rest = deadline - .now()
            if await eventually(within: min(timeouts, rest), every: .milliseconds(50), isSo) { return true }
            if rest <= timeouts { return false }
            // A database that is away has its minutes another time.
            try? await pass(.seconds(310))
            // Who is slow needs more time, and what is under way lapses with each of these jumps.
            timeouts += timeouts / 2
        }
        return false
    }

    /// Puts the clocks forward by which everything is due: the database's (`app_now()`) and Belvo's.
    private func pass(_ time: Duration) async throws {
        // With connections of its own: those that are open may lead to one that is silent.
        let database = try Database(databaseURL)
        let put: Result<Void, any Error>
        do { put = .success(try await Self.putForward(database, by: time)) } catch { put = .failure(error) }
        await database.close()
        try put.get()
        try await belvo.pass(time)
    }

    private static func putForward(_ database: Database, by time: Duration) async throws {
        _ = try await database.execute(all: [
            "CREATE TABLE IF NOT EXISTS chaos_clock (ahead interval NOT NULL)",
            "INSERT INTO chaos_clock SELECT '0' WHERE NOT EXISTS (SELECT FROM chaos_clock)",
            """
            CREATE OR REPLACE FUNCTION app_now() RETURNS timestamptz LANGUAGE sql STABLE
            AS 'SELECT now() + ahead FROM chaos_clock'
            """,
            "UPDATE chaos_clock SET ahead = ahead + \(time.wholeNanoseconds / 1_000) * interval '1 microsecond'",
        ])
    }

    /// A server as it is in use, except that it is in a hurry and does not limit users.
    private static func settings(database: String, belvo: UInt16, door: UInt16) -> [String: String] {
        [
            "DATABASE_URL": database, "PUBLIC_BASE_URL": "http://127.0.0.1:\(door)",
            "BELVO_BASE_URL": "http://127.0.0.1:\(belvo)", "BELVO_SECRET_ID": "sandbox-id",
            "BELVO_SECRET_PASSWORD": "sandbox-password", "BELVO_BENEFICIARY_BANK_ACCOUNT": Secrets.beneficiary,
            "BELVO_WEBHOOK_TOKEN": Secrets.webhookToken, "AUTH_HS256_SECRET": Secrets.app,
            "ENCRYPTION_KEYS": "chaos:\(Secrets.key)", "LOOKUP_KEY": Secrets.key, "ORDERS": "optional",
            "USER_RATE": "0", "HTTP_CONNECTIONS_PER_ADDRESS_MAX": "0", "HTTP_REQUESTS_IN_FLIGHT_PER_USER_MAX": "0",
            "USER_OPEN_ENROLLMENTS_MAX": "0", "USER_ENROLLMENTS_PER_DAY_MAX": "0", "USER_OPEN_PAYMENTS_MAX": "0",
            "USER_PAYMENTS_PER_DAY_MAX": "0",
            "ADDRESS_RATE": "0", "BELVO_USER_RATE": "0", "BELVO_STRANGER_RATE": "0", "BELVO_RATE": "0",
            "BELVO_TIMEOUT_MS": "2000", "POLL_INTERVAL_MS": "500", "POLL_DEADLINE_MS": "20000",
        ]
    }

    private func takeDown() async {
        reader.cancel()
        _ = await reader.result
        for relay in relays { relay.close() }
        for instance in instances { instance.kill() }
        belvo.stop()
        await database.close()
    }
}
