import BelvoSandbox
import FoundationEssentials
import HTTP
import Invariants
import Logging
import Payments
import Postgres
import Synchronization
import TestSupport
import Transport

@testable import MerchantAuth
@testable import MerchantServer
@testable import MerchantStore

/// One simulated day of a shop: servers, apps, Belvo and a database, and everything that may go wrong between them, in
/// an order that one number decides.
///
/// First everything goes wrong, then nothing does; in the end every record must have reached its end, and agree with
/// Belvo.
struct Simulation {
    let seed: UInt64
    var mutant: Mutant?

    /// What came of it.
    struct Outcome: Sendable {
        let seed: UInt64
        let violations: [Violation]
        let faults: [Fault: Int]
        let trace: [String]
        let paid: Int
        let payments: Int
        /// Calls that were sent again after Belvo had shown that they had not arrived.
        let resendings: Int
    }

    /// Plays it on a database and a loop of its own.
    func run() async throws -> Outcome {
        try await withLoop { loop in
            try await TestDatabase.with(.merchant) { try await play(on: loop, $0.connectionString) }
        }
    }

    private func play(on loop: EventLoop, _ connectionString: String) async throws -> Outcome {
        let scheduler = Scheduler(seed: seed, on: loop)
        let database = try SimulatedDatabase(connectionString, scheduler: scheduler, mutant: mutant)
        try await database.prepare()
        let settings = try Settings.read(environment: Self.environment(connectionString))
        let webhookDelivery = WebhookDelivery(scheduler: scheduler)
        let belvo = SimulatedBelvo(sandbox: Self.sandbox(scheduler, webhookDelivery), scheduler: scheduler)
        let log = Logger(label: "merchant") { _ in SwiftLogNoOpLogHandler() }
        let fleet = Fleet(scheduler: scheduler) { number in
            try SimulatedServer(
                number: number, settings: settings, database: database, belvo: belvo, scheduler: scheduler, log: log)
        }
        webhookDelivery.fleet = fleet
        let shop = Shop(fleet: fleet, scheduler: scheduler)
        belvo.meanwhile = { await shop.changePrice() }
        database.meanwhile = { await shop.changePrice() }
        var clients: [AppClient] = []
        for number in 0..<scheduler.number(1...2) {
            let user = "user-\(number)"
            let token = try await DemoTokens.issue(
                subject: try UserSubject(user), secret: SharedSecret(Self.secret)!, lifetime: .seconds(864_000),
                now: SimulatedTime.beginning)
            clients.append(
                AppClient(
                    user: user, token: token, taxID: ["529.982.247-25", "111.444.777-35"][number], fleet: fleet,
                    belvo: belvo, scheduler: scheduler))
        }

        scheduler.begin()
        let fate = BackgroundEvents(
            scheduler: scheduler, fleet: fleet, belvo: belvo, webhookDelivery: webhookDelivery, shop: shop,
            clients: clients,
            database: database)
        for _ in 0..<scheduler.number(1...3) { try await fleet.add() }
        var check = SimulationChecker(belvo: belvo, fleet: fleet, shop: shop)
        do {
            try await fate.play()
            try await check.checkStorm(database)
            let healed = try await fate.heal()
            try await check.checkEnd(database, isQuiet: healed.isQuiet, differences: healed.differences)
        } catch {
            // Nothing may throw when all is well again: the trace shows who did.
            check.blame(.wrong, "it ended with an error: \(error)")
        }
        scheduler.end()
        await fleet.closeAll()
        await database.observer.close()
        return Outcome(
            seed: seed, violations: check.violations, faults: scheduler.faults, trace: scheduler.trace,
            paid: check.paid, payments: check.payments, resendings: belvo.resendings)
    }

    private static func sandbox(_ scheduler: Scheduler, _ webhookDelivery: WebhookDelivery) -> Sandbox {
        var configuration = SandboxConfiguration.test()
        configuration.now = { SimulatedTime.atBelvo(scheduler.elapsed) }
        configuration.sleep = { await scheduler.pause(.fate("sandbox"), "sleeps", for: $0) }
        configuration.entropy = Entropy { count in (0..<count).map { _ in UInt8(truncatingIfNeeded: scheduler.bits()) }
        }
        configuration.webhookSubscriptions = [
            WebhookSubscription(url: URL("https://shop.example/webhooks/belvo")!, token: webhookToken) {
                await webhookDelivery.deliver($0)
            }
        ]
        // Lists lag behind, for less than the grace time.
        if scheduler.chance(30) { configuration.variants.listLagMilliseconds = scheduler.number(0...20_000) }
        // New objects answer 404 for a moment.
        if scheduler.chance(20) { configuration.variants.readLagMilliseconds = scheduler.number(0...4_000) }
        // Tokens end before a payment that was opened with them lapses, or after that.
        if scheduler.chance(80) { configuration.accessTokenLifetime = .seconds(60) }
        // What Belvo's documents leave open.
        if scheduler.chance(20) { configuration.variants.lists = .bare }
        if scheduler.chance(20) { configuration.variants.redirect = .pushedAuthorization }
        if scheduler.chance(20) { configuration.variants.fidoNotReady = scheduler.pick(NotReady.allCases) ?? .empty }
        if scheduler.chance(20) { configuration.variants.intentStates = .documented }
        if scheduler.chance(20) { configuration.variants.fidoOptions = .whenRead }
        // Lists of many: they lag, heed no filter, change their order between pages, end early.
        if scheduler.chance(30) { configuration.variants.listStateLagMilliseconds = scheduler.number(0...60_000) }
        if scheduler.chance(20) { configuration.variants.listFilters = .ignored }
        if scheduler.chance(30) { configuration.variants.listOrder = scheduler.pick(ListOrder.allCases) ?? .turning }
        if scheduler.chance(20) { configuration.variants.listEnd = .early }
        return Sandbox(configuration: configuration)
    }

    private static let secret = "a-secret-of-the-simulation-long-enough"
    private static let webhookToken = "webhook-token-of-the-simulation"
    static let shopToken = "shop-token-of-the-simulation"

    private static func environment(_ databaseURL: String) -> [String: String] {
        let belvo = SandboxConfiguration.test()
        return [
            "DATABASE_URL": databaseURL, "PUBLIC_BASE_URL": "https://shop.example",
            "BELVO_BASE_URL": "https://belvo.example", "BELVO_SECRET_ID": belvo.secretID,
            "BELVO_SECRET_PASSWORD": belvo.secretPassword, "BELVO_BENEFICIARY_BANK_ACCOUNT": belvo.beneficiary,
            "BELVO_WEBHOOK_TOKEN": webhookToken, "AUTH_HS256_SECRET": secret, "SHOP_TOKEN": shopToken,
            "SHOP_WEBHOOK_URL": "https://shop.example/hear",
            "SHOP_WEBHOOK_SECRET": "whsec_\(Data(repeating: 3, count: 32).base64EncodedString())",
            "ENCRYPTION_KEYS": "first:\(Data(repeating: 1, count: 32).base64EncodedString())",
            "LOOKUP_KEY": Data(repeating: 2, count: 32).base64EncodedString(), "USER_RATE": "0",
        ]
    }
}
