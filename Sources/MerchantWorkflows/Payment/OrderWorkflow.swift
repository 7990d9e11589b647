import MerchantStore
import Payments

/// How the shop's orders come to set the price of payments.
package struct OrderWorkflow: Sendable {
    let dependencies: Dependencies

    package init(dependencies: Dependencies) {
        self.dependencies = dependencies
    }

    /// Places an order, or changes one for whose reference no payment may still be paid. Says whether it is new.
    package func place(_ order: Order) async throws -> (order: StoredOrder, isNew: Bool) {
        switch try await dependencies.store.place(order) {
        case .new(let stored): return (stored, true)
        case .changed(let stored), .same(let stored): return (stored, false)
        case .inUse(let stored): throw WorkflowRefusal.orderInUse(stored?.payment)
        }
    }

    /// The order; `notFound` where there is none.
    package func order(_ reference: Reference) async throws -> StoredOrder {
        guard let order = try await dependencies.store.order(reference) else { throw WorkflowRefusal.notFound }
        return order
    }
}
