import Belvo
import FoundationEssentials
import Payments

// What is told of an intent from outside: by a webhook.
extension PaymentJourney {
    /// Reads an intent that somebody told of, and records what Belvo says. False when it is nobody's of ours.
    func hear(of id: Belvo.PaymentIntent.ID, on occasion: Occasion) async throws -> Bool {
        let told = try await world.belvo.readPaymentIntent(id, trace: occasion.trace)
        guard let stored = try await stored(told) else { return false }
        let event = Payment.Event.reported(checked(report(told), against: stored.record))
        try await record(event, on: stored, cause: occasion.cause)
        return true
    }

    /// Our row for what Belvo shows: known by Belvo's id, or by ours while the answer to its creation is on its way.
    private func stored(_ told: Belvo.PaymentIntent) async throws -> Stored<Payment>? {
        if let known = try await world.store.payment(belvoID: told.id.uuid) { return known }
        guard let own = told.externalID.flatMap({ Payment.ID($0) }), let stored = try await world.store.payment(own),
            stored.record.belvoID == nil
        else { return nil }
        return stored
    }
}
