import Belvo
import BelvoGate
import FoundationEssentials
import Logging
import MerchantModel
import MerchantStore
import Payments

/// How Belvo's webhooks are worked on: stored first, and then taken as a hint to read the object again.
///
/// A webhook may be forged, late, doubled or out of order. So nothing that it says enters a record: the object that it
/// names is read. What it says decides about the webhook alone: one that only repeats what a closed payment shows is
/// done without a reading (`onlyRepeats`), and one that is ahead of Belvo's readings is kept for a while (`isAhead`).
package struct WebhookWorkflow: Sendable {
    let dependencies: Dependencies
    /// On whose behalf objects are read that are not known here.
    let origin: CallOrigin

    package init(dependencies: Dependencies, origin: CallOrigin = .webhooks) {
        self.dependencies = dependencies
        self.origin = origin
    }

    /// The content of a webhook.
    package struct WebhookHint: Sendable {
        let type: String
        let code: String
        let object: UUID?
        let externalID: UUID?
        /// The body as it came.
        let body: [UInt8]

        package init(type: String, code: String, object: UUID?, externalID: UUID?, body: [UInt8]) {
            self.type = type
            self.code = code
            self.object = object
            self.externalID = externalID
            self.body = body
        }
    }

    /// How long a charge's webhook that names no payment rests: that of its intent comes beside it and is worked on
    /// before, and then nothing has to be read.
    static let movementRest = Duration.seconds(2)

    /// For how long a movement that brought money is read again for the intent that it does not name yet.
    static let unnamedMax = Duration.seconds(60)

    /// For how long a webhook is processed whose object cannot be read.
    static let retryMax = Duration.seconds(3 * 86_400)

    /// Stores the webhook. Throws when that is not certain: Belvo then sends it again.
    package func receive(_ hint: WebhookHint, digest: [UInt8]) async throws {
        let kind = WebhookKind(rawValue: hint.type)
        let isKnown = kind != nil && kind != .names && hint.object != nil
        if !isKnown {
            dependencies.log.notice(
                "webhook.ignored", metadata: ["type": "\(hint.type)", "code": "\(hint.code)"])
        }
        let isOfMovement = kind?.isOfMovement ?? false
        let receipt = NewWebhook(
            id: dependencies.identities.next(), digest: digest, type: hint.type, code: hint.code, object: hint.object,
            externalID: hint.externalID,
            takesEarlierName: kind.map { WebhookStatement(body: hint.body).mayTellOfPayment(as: $0) } ?? false,
            outcome: isKnown ? .received : .ignored, body: hint.body, rest: isOfMovement ? Self.movementRest : .zero)
        try await dependencies.webhookIntake.insert(
            receipt, into: dependencies.store, lease: dependencies.workLease + dependencies.workWindow)
    }

    /// The result of reading an object.
    enum Reading: Sendable {
        /// Whether it is a customer's of ours, and the status that Belvo shows of it.
        case read(isOurs: Bool, shows: ProviderStatus? = nil)
        /// Belvo does not know it.
        case absent(BelvoError)
        case failed(any Error)
        /// The database failed in between, which is logged: the webhook is due again after its lease.
        case interrupted
    }

    /// Reads what a webhook is about that has waited for so long, and records what Belvo says of it. What is new here
    /// and a customer's of ours is imported: an app's SDK can make it without us (belvo-api.md §2.1).
    ///
    /// `owner` is whose it is known to be here; nil while it is not. `isAgain` says whether it was tried before.
    func read(
        _ target: Target, of owner: Store.ObjectOwner?, after age: Duration, lag: Duration, isAgain: Bool = false
    ) async -> Reading {
        await reading(target.id, of: owner, isAgain: isAgain) {
            let status: ProviderStatus?
            switch target.kind {
            case .enrollment:
                status = try await EnrollmentWorkflow(dependencies: dependencies).syncFromBelvo(
                    Belvo.Enrollment.ID(target.id), on: .webhook)
            case .intent:
                status = try await PaymentWorkflow(dependencies: dependencies).syncFromBelvo(
                    Belvo.PaymentIntent.ID(target.id), after: age, lag: lag, on: .webhook)
            case .name:
                try await PaymentWorkflow(dependencies: dependencies).importOthers(
                    beside: Payment.ID(target.id), after: age)
                return .read(isOurs: true)
            }
            return .read(isOurs: status != nil, shows: status)
        }
    }

    /// An object whose reading settles webhooks.
    struct Target: Hashable, Sendable {
        enum Kind { case enrollment, intent, name }
        let kind: Kind
        let id: UUID
    }

    /// The change of a webhook's row after a reading; nil where nothing is to be written.
    ///
    /// Where a webhook says more than Belvo shows, the reading may lag: it is read again before the webhook
    /// is closed, because that payment may not be polled any more.
    ///
    /// `intent` is the one that a movement was read to belong to.
    func settlement(
        of receipt: Stored<WebhookReceipt>, after reading: Reading, intent: UUID? = nil
    ) -> WebhookSettlement? {
        let age = receipt.age
        let failure: any Error
        var isAbsent = false
        switch reading {
        case .interrupted: return nil
        case .read(isOurs: true, let status?) where receipt.record.isAhead(of: status):
            guard age < WebhookKind.lagMax else {
                logNeverShown(receipt.record)
                return WebhookSettlement(of: receipt, outcome: .done)
            }
            failure = BelvoError.malformedAnswer(reason: "it shows less than the webhook says")
        case .read(let isOurs, _): return WebhookSettlement(of: receipt, outcome: isOurs ? .done : .notOurs)
        case .absent where age >= WebhookKind.lagMax:
            if receipt.record.mayTellOfPayment { logNeverShown(receipt.record) }
            return WebhookSettlement(of: receipt, outcome: .notOurs)
        case .absent(let error):
            // An intent that Belvo has shown with money is there. Another one beside a payment may not be.
            isAbsent = receipt.record.isOfBelvo || !receipt.record.code.hasSuffix("_PAID")
            failure = error
        case .failed(let error): failure = error
        }
        guard age < Self.retryMax else {
            dependencies.log.error("webhook.expired", metadata: ["webhook_id": "\(receipt.record.id)"])
            return WebhookSettlement(of: receipt, outcome: .expired)
        }
        dependencies.log.warning(
            "webhook.unreadable", metadata: ["webhook_id": "\(receipt.record.id)", "reason": "\(failure)"])
        return WebhookSettlement(
            of: receipt, outcome: .received, nextPoll: pause(after: age, failure), isAbsent: isAbsent, intent: intent)
    }

    private func logNeverShown(_ receipt: WebhookReceipt) {
        dependencies.log.error(
            "webhook.never_shown",
            metadata: [
                "webhook_id": "\(receipt.id)",
                "object_id": "\(receipt.object.map { $0.uuidString.lowercased() } ?? "")",
            ])
    }

    /// How long a webhook rests whose reading has failed: 1 s, 2 s and 4 s, however rarely records are polled; then
    /// longer and longer. While Belvo is away it does not grow by as much: none shall wait long when Belvo is back.
    private func pause(after age: Duration, _ failure: any Error) -> Duration {
        if age < .seconds(7) { return retryPause(after: age) }
        let pauseMax: Duration =
            if dependencies.gate.isShut {
                .seconds(5)  // Calls are few then.
            } else if let failure = failure as? BelvoError, failure.speaksOfOutage {
                age < .seconds(600) ? .seconds(10) : .seconds(60)
            } else if failure is SyncDeferred {
                .seconds(120)  // Until then it keeps a reference.
            } else {
                .seconds(900)
            }
        return max(min(age / 4, pauseMax), dependencies.timeouts.pollInterval)
    }

    func origin(of owner: Store.ObjectOwner?, isAgain: Bool = false) -> CallOrigin {
        guard let owner else { return isAgain ? origin.again : origin }
        let known = origin.reading(of: owner.subject)
        return owner.institution.map { known.about($0) } ?? known
    }

    func reading(
        _ object: UUID, of owner: Store.ObjectOwner?, isAgain: Bool = false, _ body: () async throws -> Reading
    ) async -> Reading {
        do {
            return try await CallOrigin.$current.withValue(origin(of: owner, isAgain: isAgain)) { try await body() }
        } catch let error as BelvoError {
            if case .notFound = error { return .absent(error) }
            return .failed(error)
        } catch let error as SyncDeferred {
            return .failed(error)
        } catch {
            dependencies.log.warning(
                "poll.failed",
                metadata: [
                    "worker": "webhooks", "record_id": "\(object.uuidString.lowercased())", "reason": "\(error)",
                ])
            return .interrupted
        }
    }
}

/// How long to wait before the next attempt to read or to send, after so long a time: 1 s, 2 s, 4 s and so on, a minute
/// at most.
private func retryPause(after age: Duration) -> Duration {
    var pause = Duration.seconds(1)
    while pause < .seconds(60), age >= pause * 2 - .seconds(1) { pause *= 2 }
    return min(pause, .seconds(60))
}
