import Belvo
import FoundationEssentials
import MerchantModel
import MerchantStore
import Payments

/// A request that an app may repeat under an idempotency key: how it is known again, and what it is answered.
///
/// Without a claim nothing is stored, and every request is a new one.
package struct KeyedRequest<Record: Sendable>: Sendable {
    package let claim: IdempotencyClaim?
    /// The answer for the record that was made.
    let made: @Sendable (Stored<Record>) -> StoredAnswer
    /// The answer for Belvo's refusal.
    let refused: @Sendable (BelvoError) -> StoredAnswer

    package init(
        claim: IdempotencyClaim?, made: @escaping @Sendable (Stored<Record>) -> StoredAnswer,
        refused: @escaping @Sendable (BelvoError) -> StoredAnswer
    ) {
        self.claim = claim
        self.made = made
        self.refused = refused
    }

    func answered(_ record: Stored<Record>) -> IdempotencySettlement {
        claim.map { .answer($0, made(record)) } ?? .unchanged
    }

    func answered(_ error: BelvoError) -> IdempotencySettlement {
        claim.map { .answer($0, refused(error)) } ?? .unchanged
    }

    var outcomeUnknown: IdempotencySettlement { claim.map { .outcomeUnknown($0) } ?? .unchanged }

    var released: IdempotencySettlement { claim.map { .release($0) } ?? .unchanged }
}

/// The answer to an app about a request that reached Belvo.
package enum Progress<Resource: Sendable>: Sendable {
    /// It is done, and Belvo has said so.
    case done(Resource)
    /// It was sent, and what became of it is not known yet.
    case pending(Resource)

    package var resource: Resource {
        switch self {
        case .done(let resource), .pending(let resource): resource
        }
    }
}

/// The outcome of a request with an idempotency key.
package enum Creation<Record: Sendable>: Sendable {
    case made(Progress<Stored<Record>>)
    /// The same key and body came before: the answer is the one that was given then.
    case replayed(StoredAnswer)
    /// The same key and body came before and its outcome was not known then: the record as it is now.
    case known(Progress<Stored<Record>>)
}

extension Dependencies {
    /// The answer that the key has by now, where another request has continued what this one had begun.
    func replay<Record>(
        _ request: KeyedRequest<Record>, after outcome: CreationOutcome<Record>
    ) async throws -> Creation<Record>? {
        guard outcome.isOvertaken, let claim = request.claim else { return nil }
        return try await store.usedKey(claim)?.answer.map { .replayed($0) }
    }

    /// The outcome of a request whose key was used before; nil when it was not, or when there is no key.
    ///
    /// `record` reads what the first request made, and `isUnknown` says whether its outcome is still not known.
    func replay<Record>(
        _ request: KeyedRequest<Record>, record: (UUID) async throws -> Stored<Record>?, isUnknown: (Record) -> Bool
    ) async throws -> Creation<Record>? {
        guard let claim = request.claim, let used = try await store.usedKey(claim) else { return nil }
        guard used.requestDigest == claim.requestDigest else { throw WorkflowRefusal.idempotencyKeyReused }
        if let answer = used.answer { return .replayed(answer) }
        guard let stored = try await record(used.recordID) else { throw WorkflowRefusal.inProgress }
        guard isUnknown(stored.record) else {
            // The first request may have settled the key after it was read here: with an answer, or by freeing it.
            guard let settled = try await store.usedKey(claim) else { return nil }
            guard settled.recordID == used.recordID else { throw WorkflowRefusal.inProgress }
            return settled.answer.map { .replayed($0) } ?? .known(.done(stored))
        }
        // Within the time of one call the first request is still being worked on, unless it has said that the outcome
        // is unknown.
        let isOver = used.isOutcomeUnknown || used.age > timeouts.askingDeadline + .seconds(1)
        guard isOver else { throw WorkflowRefusal.inProgress }
        // The first request may be held up for so long: from now on it cannot free the key, since the app knows of the
        // record.
        if !used.isOutcomeUnknown, try await !store.noteOutcomeUnknown(claim, of: used.recordID) { return nil }
        return .known(.pending(stored))
    }
}
