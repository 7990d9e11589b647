import BelvoSandbox
import FoundationEssentials
import HTTP
import JSON
import Logging
import Payments
import Postgres
import TestSupport
import Testing
import Transport

@testable import MerchantModel
@testable import MerchantServer
@testable import MerchantStore

/// Everything a flow is played on: a database of its own, the sandbox in Belvo's place, and the merchant's server
/// between them, in one process on one loop, each reached over real sockets.
///
/// Nothing happens by itself, unless a test asks for it. The sandbox is moved by the test, the database's clock by
/// `advance(by:)`, and the workers make one pass when `work()` says so.
struct TestHarness: Sendable {
    let loop: EventLoop
    let sandbox: Sandbox
    let merchant: MerchantServer
    let database: Database
    let client: HTTP.Client
    let admin: HTTP.Client
    /// Belvo's address, and the bank's.
    let bank: HTTP.Client
    let addresses: MerchantServer.Addresses
    let log: LogRecorder
    let settings: Settings
    /// The environment that the settings were read from, as a process that is started would get it.
    let environment: [String: String]
    /// By what the server measures intervals, other than its timers.
    let clock: MovableClock

    /// Where the API is reached, without a slash at the end.
    var origin: String { "http://\(addresses.api)" }

    static let secret = "a-secret-of-the-tests-that-is-long-enough"

    /// Plays the body on a fresh harness, and takes the harness down whatever happens.
    /// - Parameter instead: the answer to a call of Belvo's that the sandbox does not get.
    static func open(
        environment changes: [String: String] = [:], sandbox configuration: SandboxConfiguration = .test(),
        clock: IntervalClock = .machine,
        work: MerchantServer.WorkMode = .whenTold,
        instead: @escaping @Sendable (Request) -> Response? = { _ in nil },
        _ body: @escaping @Sendable (TestHarness) async throws -> Void
    ) async throws {
        try await Door.harnesses.inside {
            try await withLoop { loop in
                try await TestDatabase.with(.merchant) { database in
                    try await play(
                        on: loop, database.connectionString, changes, configuration, clock, work, instead, body)
                }
            }
        }
    }

    /// Plays the body on a database server of its own, which the test may stop.
    static func open(
        on cluster: TestCluster, _ body: @escaping @Sendable (TestHarness) async throws -> Void
    ) async throws {
        try await withLoop { loop in
            let database = try Database(cluster.connectionString, configuration: .patient)
            try await Migrator(.merchant, of: database).migrate()
            await database.close()
            try await play(on: loop, cluster.connectionString, [:], .test(), .machine, .whenTold, { _ in nil }, body)
        }
    }

    private static func play(
        on loop: EventLoop, _ databaseURL: String, _ changes: [String: String],
        _ configuration: SandboxConfiguration, _ clock: IntervalClock, _ work: MerchantServer.WorkMode,
        _ instead: @escaping @Sendable (Request) -> Response?,
        _ body: @Sendable (TestHarness) async throws -> Void
    ) async throws {
        let sandbox = Sandbox(configuration: configuration)
        let belvo = HTTP.Server(
            configuration: .prompt, refusal: { Response($0.status) },
            handler: { request, _ in
                if let response = instead(request) { return .response(response) }
                return await sandbox.reply(to: request)
            })
        let belvoListener = try Listener(at: loopback)
        try await belvo.listen(to: belvoListener, on: [loop])

        var environment = [
            "DATABASE_URL": databaseURL, "PUBLIC_BASE_URL": "https://shop.example",
            "LISTEN": "127.0.0.1:0", "ADMIN_LISTEN": "127.0.0.1:0",
            "BELVO_BASE_URL": "http://\(belvoListener.address)", "BELVO_SECRET_ID": sandbox.configuration.secretID,
            "BELVO_SECRET_PASSWORD": sandbox.configuration.secretPassword,
            "BELVO_BENEFICIARY_BANK_ACCOUNT": sandbox.beneficiary, "BELVO_WEBHOOK_TOKEN": "webhook-token-of-the-tests",
            "AUTH_HS256_SECRET": secret,
            "ENCRYPTION_KEYS": "first:\(Data(repeating: 1, count: 32).base64EncodedString())",
            "LOOKUP_KEY": Data(repeating: 2, count: 32).base64EncodedString(), "ORDERS": "optional",
            // A test makes in a moment what a user makes in an hour, and nothing on a harness waits for time.
            "USER_RATE": "0", "ADDRESS_RATE": "0", "HTTP_REQUESTS_IN_FLIGHT_PER_USER_MAX": "0", "BELVO_RATE": "0",
            "BELVO_USER_RATE": "0", "BELVO_STRANGER_RATE": "0",
        ]
        if changes.keys.contains(where: { $0.hasPrefix("AUTH_JWKS") }) { environment["AUTH_HS256_SECRET"] = nil }
        environment.merge(changes) { $1 }
        let observer = try Database(databaseURL, configuration: .patient)
        try await installClock(in: observer)
        let settings = try Settings.read(environment: environment)
        let log = LogRecorder()
        let clock = MovableClock(over: clock)
        let merchant = try MerchantServer(settings: settings, loops: [loop], log: log.logger, clock: clock.intervals)
        let addresses = try await merchant.start(work: work)
        let harness = TestHarness(
            loop: loop, sandbox: sandbox, merchant: merchant, database: observer, client: client(to: addresses.api),
            admin: client(to: addresses.admin), bank: client(to: belvoListener.address), addresses: addresses, log: log,
            settings: settings, environment: environment, clock: clock)
        let result: Result<Void, any Error>
        do { result = .success(try await body(harness)) } catch { result = .failure(error) }
        await harness.client.closeIdle(on: loop)
        await harness.admin.closeIdle(on: loop)
        await harness.bank.closeIdle(on: loop)
        await merchant.stop()
        await belvo.drain(loops: [loop], within: .seconds(1))
        await observer.close()
        try result.get()
    }

    /// Another instance of the same server, on the same database and with the same Belvo, while the body runs.
    func withAnotherInstance(
        environment changes: [String: String] = [:], work: MerchantServer.WorkMode = .whenTold,
        _ body: (TestHarness) async throws -> Void
    ) async throws {
        let environment = environment.merging(changes) { $1 }
        let settings = try Settings.read(environment: environment)
        let other = try MerchantServer(settings: settings, loops: [loop], log: log.logger, clock: clock.intervals)
        let addresses = try await other.start(work: work)
        let harness = with(other, at: addresses, settings, environment)
        let result: Result<Void, any Error>
        do { result = .success(try await body(harness)) } catch { result = .failure(error) }
        await harness.client.closeIdle(on: loop)
        await other.stop()
        try result.get()
    }

    /// The same with another server in the place of this one's.
    func with(
        _ other: MerchantServer, at addresses: MerchantServer.Addresses, _ settings: Settings? = nil,
        _ environment: [String: String]? = nil
    ) -> TestHarness {
        TestHarness(
            loop: loop, sandbox: sandbox, merchant: other, database: database, client: Self.client(to: addresses.api),
            admin: Self.client(to: addresses.admin), bank: bank, addresses: addresses, log: log,
            settings: settings ?? self.settings, environment: environment ?? self.environment, clock: clock)
    }

    private static let loopback = SocketAddress(numericHost: "127.0.0.1", port: 0)!

    private static func client(to address: SocketAddress) -> HTTP.Client {
        HTTP.Client(origin: HTTP.URL("http://\(address)/")!.origin)
    }

    /// Moves the database's clock on, and with it every deadline and every look that is due; and the server's.
    func advance(by duration: Duration) async throws {
        clock.advance(by: duration)
        try await database.execute(
            "UPDATE test_clock SET ahead = ahead + \(duration.wholeNanoseconds / 1_000) * interval '1 microsecond'")
    }

    /// Stops the database's clock: from now on it moves by `advance(by:)` alone, however slow the machine is. Only what
    /// the server measures itself since it has read that clock goes on.
    func stopClock() async throws {
        try await database.execute("UPDATE test_clock SET stopped_at = clock_timestamp()")
    }

    /// Puts a clock that can be moved behind the one function that tells the time.
    private static func installClock(in database: Database) async throws {
        try await database.execute(all: [
            "CREATE TABLE test_clock (ahead interval NOT NULL, stopped_at timestamptz)",
            "INSERT INTO test_clock VALUES ('0')",
            """
            CREATE OR REPLACE FUNCTION app_now() RETURNS timestamptz LANGUAGE sql STABLE
            AS 'SELECT coalesce(stopped_at, clock_timestamp()) + ahead FROM test_clock'
            """,
        ])
    }

    /// Has every worker make one pass.
    func work() async throws {
        try await merchant.workOnce()
    }

    /// Moves the clock to the next poll and has it taken.
    func poll() async throws {
        try await advance(by: settings.timeouts.pollInterval + .milliseconds(1))
        try await work()
    }

    /// An app of this user.
    func app(of subject: String) async throws -> App {
        let credentials = Credentials(of: settings.auth)
        return App(client: client, token: try credentials.forge().token(credentials.good(subject)))
    }
}
