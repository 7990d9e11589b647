import Belvo
import Postgres
import Transport

@testable import MerchantModel

/// What happens beside the apps and the servers: time passes, banks decide, servers die, webhooks travel.
struct BackgroundEvents: Sendable {
    let scheduler: Scheduler
    let fleet: Fleet
    let belvo: SimulatedBelvo
    let webhookDelivery: WebhookDelivery
    let shop: Shop
    let clients: [AppClient]
    let database: SimulatedDatabase

    /// The storm: everything at once, until the apps have done what they wanted, or for so many steps.
    func play() async throws {
        // Most days the users have been customers for long.
        let areKnown = scheduler.chance(70)
        var orders: [(client: AppClient, reference: String)] = []
        for client in clients {
            for number in 1...scheduler.number(1...3) {
                let reference = "order-\(client.user)-\(number)"
                await shop.place(reference, for: client.user)
                await shop.place(reference + "-other", for: client.user)
                orders.append((client, reference))
            }
        }
        setGoing("bank", every: .seconds(3), weight: 3) { belvo.decideSomething() }
        setGoing("mailman", every: .seconds(2), weight: 3) { webhookDelivery.collect(from: belvo.sandbox) }
        if !areKnown { scheduler.storm() }
        await together(clients.map { ($0, "") }) { client, _, _ in await client.enroll(by: .app(client.user)) }
        scheduler.storm()
        setGoing("killer", every: .seconds(4), weight: 2) {
            if scheduler.fault(among: [.crash]) != nil {
                await fleet.killOne()
                try? await fleet.add()
            }
            if scheduler.fault(among: [.freeze]) != nil { fleet.freezeOne() }
        }
        setGoing("weather", every: .seconds(15), weight: 1) {
            if scheduler.fault(among: [.belvoAway]) != nil { belvo.goAway() }
        }
        setGoing("clock", every: .seconds(2), weight: 2) {
            if scheduler.fault(among: [.leap]) != nil {
                scheduler.advance(by: scheduler.chance(90) ? scheduler.span(.seconds(1), .seconds(30)) : .seconds(600))
            }
        }
        setGoing("shop", every: .seconds(1), weight: 3) {
            if scheduler.chance(20) { await shop.changePrice() }
        }
        setGoing("postman", every: .seconds(5), weight: 1) { try? await shop.hear(database) }
        setGoing("operator", every: .seconds(10), weight: 1) {
            guard scheduler.chance(10), let client = scheduler.pick(clients),
                scheduler.fault(among: [.erasure]) != nil
            else { return }
            await fleet.erase(client.user)
        }
        let isTwofold = scheduler.chance(40)
        await together(isTwofold ? orders + orders : orders) { client, reference, place in
            await client.pay(reference, by: .app("\(client.user)/\(place)"))
        }
    }

    /// Nothing goes wrong any more; whether everything has reached its end within the bound, and what Belvo still has
    /// otherwise.
    func heal() async throws -> (isQuiet: Bool, differences: [Difference]) {
        if scheduler.chance(50) {
            await fleet.killOne()
            try await fleet.add()
        }
        for name in Self.storms { scheduler.kill(.fate(name)) }
        scheduler.calm()
        scheduler.note("From here on nothing goes wrong.")
        belvo.correct()
        guard try await becomeQuiet() else { return (false, []) }
        // What nobody has told us of shows when the day is compared, and is looked at then.
        _ = try await reconcile()
        let isQuiet = try await becomeQuiet()
        return (isQuiet, try await reconcile())
    }

    /// Compares the day, and again later while the server still keeps calls to Belvo back.
    private func reconcile() async throws -> [Difference] {
        for _ in 0..<Self.passesMax {
            do {
                return try await fleet.reconcile()
            } catch BelvoError.unreachable {
                await scheduler.pause(.fate("healing"), "waits for the circuit to close", for: .seconds(10))
            }
        }
        return try await fleet.reconcile()
    }

    private func becomeQuiet() async throws -> Bool {
        var pause = Duration.seconds(2)
        for pass in 0..<Self.passesMax {
            belvo.decideEverything()
            // By then everything that ends by time has ended.
            if pass > 15 { belvo.letLapse() }
            webhookDelivery.collect(from: belvo.sandbox)
            // The servers look by themselves meanwhile.
            scheduler.leastSleep = pause / 2
            await scheduler.pause(.fate("healing"), "lets time pass", for: pause)
            pause = min(pause * 3 / 2, .seconds(300))
            if try await database.rows(Self.open).isEmpty { return true }
        }
        return false
    }

    static let passesMax = 40
    private static let storms = ["bank", "mailman", "killer", "clock", "shop", "weather", "postman", "operator"]

    /// Everything that has yet to reach its end.
    static let open: SQL = """
        SELECT 'payment' AS kind, id::text, state FROM payments
        WHERE status = 'PENDING' OR next_poll_at IS NOT NULL AND contradicted_at IS NULL
        UNION ALL SELECT 'enrollment', id::text, state FROM enrollments WHERE status = 'PENDING'
        UNION ALL SELECT 'customer', id::text, state FROM customers WHERE state = 'creating'
        UNION ALL SELECT 'redirect', id::text, outcome FROM redirect_receipts WHERE outcome IN ('received', 'sent')
        UNION ALL SELECT 'webhook', id::text, outcome FROM webhook_receipts WHERE outcome = 'received'
        """

    private func setGoing(
        _ name: String, every pause: Duration, weight: Int, _ body: @escaping @Sendable () async -> Void
    ) {
        _ = scheduler.loop.task {
            while true {
                await scheduler.pause(.fate(name), "has a turn", weight: weight, for: pause)
                await body()
            }
        }
    }

    private func together(
        _ work: [(client: AppClient, reference: String)],
        _ body: @escaping @Sendable (AppClient, String, Int) async -> Void
    ) async {
        await withDiscardingTaskGroup { group in
            for (place, item) in work.enumerated() {
                group.addTask { await body(item.client, item.reference, place) }
            }
        }
    }
}
