import Belvo
import FoundationEssentials
import Logging
import MerchantModel
import MerchantStore
import Payments

/// How Belvo's webhooks are worked on: stored first, and then taken as a hint to read the object again.
///
/// A webhook may be forged, late, doubled or out of order. So nothing in it is believed but the name of the object.
package struct WebhookWorkflow: Sendable {
    let dependencies: Dependencies

    package init(dependencies: Dependencies) {
        self.dependencies = dependencies
    }

    /// What was told.
    package struct WebhookHint: Sendable {
        let type: String
        let code: String
        let object: UUID?
        /// As it came.
        let body: [UInt8]

        package init(type: String, code: String, object: UUID?, body: [UInt8]) {
            self.type = type
            self.code = code
            self.object = object
            self.body = body
        }
    }

    /// For how long a telling is worked on whose object cannot be read.
    static let retryMax = Duration.seconds(3 * 86_400)
    /// For how long Belvo may not know an object that it has told of: its lists may lag.
    static let absenceMax = Duration.seconds(3_600)

    /// Stores what was told. Throws when that is not certain: Belvo then tells it again.
    package func receive(_ hint: WebhookHint, digest: [UInt8]) async throws {
        let isKnown = Kind(rawValue: hint.type) != nil && hint.object != nil
        if !isKnown {
            dependencies.log.notice(
                "webhook.ignored", metadata: ["type": "\(hint.type)", "code": "\(hint.code)"])
        }
        try await dependencies.store.insertWebhook(
            id: dependencies.identities.next(), digest: digest, type: hint.type, code: hint.code,
            object: hint.object, outcome: isKnown ? .received : .ignored, body: hint.body)
    }

    /// Reads what a webhook is about, and records what Belvo says of it. What is new here and a customer's of ours is
    /// imported: an app's SDK can make it without us (belvo-api.md §2.1).
    func process(_ receipt: Stored<WebhookReceipt>) async throws {
        guard let kind = Kind(rawValue: receipt.record.type), let object = receipt.record.object else {
            return try await dependencies.store.update(receipt, to: .ignored)
        }
        let age = receipt.clock.now - receipt.record.lastReceivedAt
        do {
            let isOurs = try await syncFromBelvo(object, kind)
            try await dependencies.store.update(receipt, to: isOurs ? .done : .notOurs)
        } catch BelvoError.notFound where age >= Self.absenceMax {
            try await dependencies.store.update(receipt, to: .notOurs)
        } catch let error where error is BelvoError || error is ImportDeferred {
            guard age < Self.retryMax else {
                dependencies.log.error("webhook.expired", metadata: ["webhook_id": "\(receipt.record.id)"])
                return try await dependencies.store.update(receipt, to: .expired)
            }
            dependencies.log.warning(
                "webhook.unreadable", metadata: ["webhook_id": "\(receipt.record.id)", "reason": "\(error)"])
            // After 1 s, 2 s and 4 s, however rarely records are polled; then with growing pauses.
            let pause =
                age < .seconds(7)
                ? retryPause(after: age) : min(max(age / 4, dependencies.timeouts.pollInterval), .seconds(900))
            try await dependencies.store.update(receipt, to: .received, nextPoll: pause)
        }
    }

    /// The types that say something about a record.
    enum Kind: String {
        case enrollments = "ENROLLMENTS"
        case paymentIntents = "PAYMENT_INTENTS"
        case charges = "CHARGES"
        case transactions = "TRANSACTIONS"
    }

    /// Whether the object is a customer's of ours.
    private func syncFromBelvo(_ object: UUID, _ kind: Kind) async throws -> Bool {
        switch kind {
        case .enrollments:
            return try await EnrollmentWorkflow(dependencies: dependencies).syncFromBelvo(
                Belvo.Enrollment.ID(object), on: .webhook)
        case .paymentIntents:
            return try await PaymentWorkflow(dependencies: dependencies).syncFromBelvo(
                Belvo.PaymentIntent.ID(object), on: .webhook)
        case .charges:
            guard let intent = try await dependencies.belvo.readCharge(Charge.ID(object)).paymentIntent else {
                return false
            }
            return try await PaymentWorkflow(dependencies: dependencies).syncFromBelvo(intent, on: .webhook)
        case .transactions:
            guard let intent = try await dependencies.belvo.readTransaction(Transaction.ID(object)).paymentIntent else {
                return false
            }
            return try await PaymentWorkflow(dependencies: dependencies).syncFromBelvo(intent, on: .webhook)
        }
    }
}
