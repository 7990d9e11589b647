import HTTP
import JSON
import Postgres
import Transport

/// The merchant's shop: sets prices, and changes its mind.
///
/// `@unchecked Sendable`, because it is touched on the scheduler's loop only.
final class Shop: @unchecked Sendable {
    private let fleet: Fleet
    private let scheduler: Scheduler
    private var users: [String: String] = [:]
    /// The prices that a reference may have: the last one that was confirmed, and those since of which nobody knows.
    private(set) var prices: [String: Set<String>] = [:]
    /// Of each order, the prices that were asked for and never answered.
    private var unanswered: [String: Set<String>] = [:]
    /// Of each order, the prices that were confirmed, one after the other.
    private var confirmed: [String: [String]] = [:]
    /// The payments of which it has heard that they were paid, as often as it has.
    private(set) var heard: [String] = []

    init(fleet: Fleet, scheduler: Scheduler) {
        self.fleet = fleet
        self.scheduler = scheduler
    }

    func place(_ reference: String, for user: String) async {
        users[reference] = user
        await put(reference, amount: "19.90")
    }

    /// Takes the events that wait for it.
    func hear(_ database: SimulatedDatabase) async throws {
        let told = try await database.rows(
            """
            UPDATE events SET delivered_at = app_now(), next_attempt_at = NULL WHERE next_attempt_at IS NOT NULL
            RETURNING record_id::text AS id, type
            """)
        for row in told where try row.decode("type", as: String.self) == "payment.succeeded" {
            heard.append(try row.decode("id"))
        }
    }

    /// Asks for another price for one of its orders, which is granted only while nobody pays.
    func changePrice() async {
        guard let reference = scheduler.pick(users.keys.sorted()) else { return }
        await put(reference, amount: "\(scheduler.number(1...99)).50")
    }

    private func put(_ reference: String, amount: String) async {
        let body = """
            {"subject": "\(users[reference] ?? "")", "amount": "\(amount)", "description": "Two coffees"}
            """
        let request = Request(
            .put, Target(stringLiteral: "/orders/\(reference)"),
            headers: ["authorization": "Bearer \(Simulation.shopToken)", "content-type": "application/json"],
            body: Array(body.utf8))
        prices[reference, default: []].insert(amount)
        // What was never answered may be carried out at any time, also after what was answered since.
        unanswered[reference, default: []].insert(amount)
        let confirmedBefore = confirmed[reference, default: []].count
        let answer = await fleet.send(request, of: "shop", by: .fate("shop"))
        guard let answer, answer.status.code < 500 else { return }
        unanswered[reference]?.remove(amount)
        if answer.status.isSuccess {
            confirmed[reference, default: []].append(amount)
            // Of several at once the last one to be answered need not be the last one to be carried out.
            let sinceItWasSent = confirmed[reference, default: []].dropFirst(confirmedBefore)
            prices[reference] = unanswered[reference, default: []].union(sinceItWasSent)
        }
        if answer.status == .conflict, prices[reference]?.count ?? 0 > 1 {
            prices[reference]?.remove(amount)
        }
    }
}
