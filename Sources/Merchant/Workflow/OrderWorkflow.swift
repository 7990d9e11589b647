import Payments

/// How the shop's orders come to set the price of payments.
struct OrderJourney: Sendable {
    let world: World

    /// Places an order, or changes one for whose reference no payment may still be paid. Says whether it is new.
    func place(_ order: Order) async throws -> (order: StoredOrder, isNew: Bool) {
        switch try await world.store.place(order) {
        case .new(let stored): return (stored, true)
        case .changed(let stored), .same(let stored): return (stored, false)
        case .inUse(let stored): throw JourneyRefusal.orderInUse(stored?.payment)
        }
    }

    func order(_ reference: Reference) async throws -> StoredOrder {
        guard let order = try await world.store.order(reference) else { throw JourneyRefusal.notFound }
        return order
    }
}
