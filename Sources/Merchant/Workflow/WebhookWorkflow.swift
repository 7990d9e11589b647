import Belvo
import FoundationEssentials
import Logging
import Payments

/// How Belvo's webhooks are worked on: stored first, and then taken as a hint to read the object again.
///
/// A webhook may be forged, late, doubled or out of order. So nothing in it is believed but the name of the object.
struct WebhookJourney: Sendable {
    let world: World

    /// What was told.
    struct Telling: Sendable {
        let type: String
        let code: String
        let object: UUID?
        /// As it came.
        let body: [UInt8]
    }

    /// For how long a telling is worked on whose object cannot be read.
    static let patience = Duration.seconds(3 * 86_400)
    /// For how long Belvo may not know an object that it has told of: its lists may lag.
    static let absence = Duration.seconds(3_600)

    /// Stores what was told. Throws when that is not certain: Belvo then tells it again.
    func receive(_ telling: Telling, digest: [UInt8]) async throws {
        let isKnown = Kind(rawValue: telling.type) != nil && telling.object != nil
        if !isKnown {
            world.log.notice(
                "webhook.ignored", metadata: ["type": "\(telling.type)", "code": "\(telling.code)"])
        }
        try await world.store.insertWebhook(
            id: world.identities.next(), digest: digest, type: telling.type, code: telling.code,
            object: telling.object, outcome: isKnown ? .received : .ignored, body: telling.body)
    }

    /// Reads what a webhook is about, and records what Belvo says of it. What is new here and a customer's of ours is
    /// taken in: an app's SDK can make it without us (belvo-api.md §2.1).
    func look(at receipt: Stored<WebhookReceipt>) async throws {
        guard let kind = Kind(rawValue: receipt.record.type), let object = receipt.record.object else {
            return try await world.store.update(receipt, to: .ignored)
        }
        let age = receipt.clock.now - receipt.record.lastReceivedAt
        do {
            let isOurs = try await hear(of: object, kind)
            try await world.store.update(receipt, to: isOurs ? .done : .notOurs)
        } catch BelvoError.notFound where age >= Self.absence {
            try await world.store.update(receipt, to: .notOurs)
        } catch let error where error is BelvoError || error is NotTakenInYet {
            guard age < Self.patience else {
                world.log.error("webhook.expired", metadata: ["webhook_id": "\(receipt.record.id)"])
                return try await world.store.update(receipt, to: .expired)
            }
            world.log.warning(
                "webhook.unreadable", metadata: ["webhook_id": "\(receipt.record.id)", "reason": "\(error)"])
            // After 1 s, 2 s and 4 s, however rarely records are polled; then with growing pauses.
            let pause =
                age < .seconds(7)
                ? retryPause(after: age) : min(max(age / 4, world.patience.pollInterval), .seconds(900))
            try await world.store.update(receipt, to: .received, nextLook: pause)
        }
    }

    /// The types that say something about a record.
    private enum Kind: String {
        case enrollments = "ENROLLMENTS"
        case paymentIntents = "PAYMENT_INTENTS"
        case charges = "CHARGES"
        case transactions = "TRANSACTIONS"
    }

    /// Whether the object is a customer's of ours.
    private func hear(of object: UUID, _ kind: Kind) async throws -> Bool {
        switch kind {
        case .enrollments:
            return try await EnrollmentJourney(world: world).hear(of: Belvo.Enrollment.ID(object), on: .webhook)
        case .paymentIntents:
            return try await PaymentJourney(world: world).hear(of: Belvo.PaymentIntent.ID(object), on: .webhook)
        case .charges:
            guard let intent = try await world.belvo.readCharge(Charge.ID(object)).paymentIntent else { return false }
            return try await PaymentJourney(world: world).hear(of: intent, on: .webhook)
        case .transactions:
            guard let intent = try await world.belvo.readTransaction(Transaction.ID(object)).paymentIntent else {
                return false
            }
            return try await PaymentJourney(world: world).hear(of: intent, on: .webhook)
        }
    }
}
