import HTTP
import JSON
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

    init(fleet: Fleet, scheduler: Scheduler) {
        self.fleet = fleet
        self.scheduler = scheduler
    }

    func place(_ reference: String, for user: String) async {
        users[reference] = user
        await put(reference, amount: "19.90")
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
        let answer = await fleet.send(request, of: "shop", by: .fate("shop"))
        if let answer, answer.status.isSuccess { prices[reference] = [amount] }
        if let answer, answer.status == .conflict, prices[reference]?.count ?? 0 > 1 {
            prices[reference]?.remove(amount)
        }
    }
}
