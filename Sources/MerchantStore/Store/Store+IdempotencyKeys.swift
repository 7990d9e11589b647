import FoundationEssentials
import Payments
import Postgres

/// An app's key, with what identifies the request that it stands for.
package struct IdempotencyClaim: Sendable {
    /// The routes on which keys are kept, each a scope of its own.
    package enum Route: String, Sendable {
        case enrollments = "POST /v1/enrollments"
        case paymentIntents = "POST /v1/payment-intents"
    }

    let subject: UserSubject
    let route: Route
    let key: String
    /// A keyed digest of the request after parsing.
    package let requestDigest: [UInt8]

    package init(subject: UserSubject, route: Route, key: String, requestDigest: [UInt8]) {
        self.subject = subject
        self.route = route
        self.key = key
        self.requestDigest = requestDigest
    }
}

/// The effect of a record's change on the key under which it was asked for.
package enum IdempotencySettlement: Sendable {
    case unchanged
    /// From now on the key gives this answer.
    case answer(IdempotencyClaim, StoredAnswer)
    /// The app gets 202: from now on the key answers with the record as it is.
    case outcomeUnknown(IdempotencyClaim)
    /// Nothing happened: the key can be used as if it were new, unless another request has told the app of the record.
    case release(IdempotencyClaim)
}

/// An answer kept byte for byte.
package struct StoredAnswer: Sendable, Equatable {
    package let status: Int
    package let body: [UInt8]

    package init(status: Int, body: [UInt8]) {
        self.status = status
        self.body = body
    }
}

/// A key that was used before.
package struct UsedKey: Sendable {
    package let requestDigest: [UInt8]
    package let recordID: UUID
    /// Nothing while the outcome is not known.
    package let answer: StoredAnswer?
    /// Whether the answer was that the outcome is unknown.
    package let isOutcomeUnknown: Bool
    /// How long ago the key was claimed.
    package let age: Duration
}

extension Store {
    /// How long a key is kept: long enough for a phone that was off over a long weekend.
    static let idempotencyLifetime = Duration.seconds(72 * 3_600)

    /// The condition that the record of a key is at its end, for as long as a key is kept: until then the key is kept,
    /// however old it is, so that an app that asks again after a long doubt opens no second payment.
    static let isNotOpen: SQL = """
        NOT EXISTS (
            SELECT FROM payments
            WHERE payments.id = record_id AND (payments.next_poll_at IS NOT NULL
                OR payments.updated_at
                    > app_now() - \(idempotencyLifetime.wholeMicroseconds) * interval '1 microsecond'))
        """

    /// The request that the key was used for before, if any. A key past its time is deleted here.
    package func usedKey(_ claim: IdempotencyClaim) async throws -> UsedKey? {
        let rows = try await database.rows(
            """
            SELECT request_digest, record_id, response_status, response_body, response_body_ciphertext, outcome_unknown,
                claimed_at, app_now() AS read_at
            FROM idempotency_keys
            WHERE subject = \(claim.subject) AND route = \(claim.route.rawValue) AND key = \(claim.key)
            """)
        guard let row = rows.first else { return nil }
        let claimedAt: Timestamp = try row.decode("claimed_at")
        let age = try row.decode("read_at", as: Timestamp.self) - claimedAt
        if age >= Self.idempotencyLifetime, try await forget(claim, claimedAt: claimedAt) { return nil }
        let status: Int32? = try row.decode("response_status")
        let (record, plain): (UUID, [UInt8]?) = (try row.decode("record_id"), try row.decode("response_body"))
        let body = try plain ?? open(row.decode("response_body_ciphertext"), in: .idempotencyKeysAnswer, of: record)
        return UsedKey(
            requestDigest: try row.decode("request_digest"), recordID: record,
            answer: status.flatMap { status in body.map { StoredAnswer(status: Int(status), body: $0) } },
            isOutcomeUnknown: try row.decode("outcome_unknown"),
            age: age)
    }

    /// Has the key answer with the record as it is from now on; false where the key was freed meanwhile.
    package func noteOutcomeUnknown(_ claim: IdempotencyClaim, of record: UUID) async throws -> Bool {
        try await !database.execute(
            """
            UPDATE idempotency_keys SET outcome_unknown = true
            WHERE subject = \(claim.subject) AND route = \(claim.route.rawValue) AND key = \(claim.key)
                AND record_id = \(record)
            RETURNING record_id
            """
        ).isEmpty
    }

    /// False where it has to be kept.
    private func forget(_ claim: IdempotencyClaim, claimedAt: Timestamp) async throws -> Bool {
        try await !database.execute(
            """
            DELETE FROM idempotency_keys
            WHERE subject = \(claim.subject) AND route = \(claim.route.rawValue) AND key = \(claim.key)
                AND claimed_at = \(claimedAt) AND \(fragment: Self.isNotOpen)
            RETURNING record_id
            """
        ).isEmpty
    }

    /// The part of a record's insertion that claims its key, and gives the record's id, as `record_id`, if the key was
    /// free, or if there is none; and only under a condition, where there is one.
    func claiming(_ claim: IdempotencyClaim?, for id: UUID, where condition: SQL = "true") -> SQL {
        guard let claim else {
            return "claimed AS (SELECT CAST(\(id) AS uuid) AS record_id WHERE \(fragment: condition))"
        }
        return """
            claimed AS (
                INSERT INTO idempotency_keys (subject, route, key, request_digest, record_id)
                SELECT \(claim.subject), \(claim.route.rawValue), \(claim.key), \(claim.requestDigest), \(id)
                WHERE \(fragment: condition)
                ON CONFLICT ON CONSTRAINT idempotency_keys_are_scoped DO NOTHING
                RETURNING record_id
            )
            """
    }

    /// The part of a record's update that settles its key; it applies only if the record was changed.
    func settling(_ settlement: IdempotencySettlement, of record: UUID) -> SQL {
        switch settlement {
        case .unchanged: ""
        case .answer(let claim, let answer):
            """
            , settled AS (
                UPDATE idempotency_keys SET
                    response_status = \(Int32(answer.status)), response_body = NULL,
                    response_body_ciphertext = \(vault.seal(answer.body, in: .idempotencyKeysAnswer, of: record))
                WHERE subject = \(claim.subject) AND route = \(claim.route.rawValue) AND key = \(claim.key)
                    AND EXISTS (SELECT FROM changed)
            )
            """
        case .outcomeUnknown(let claim):
            """
            , settled AS (
                UPDATE idempotency_keys SET outcome_unknown = true
                WHERE subject = \(claim.subject) AND route = \(claim.route.rawValue) AND key = \(claim.key)
                    AND EXISTS (SELECT FROM changed)
            )
            """
        case .release(let claim):
            """
            , settled AS (
                DELETE FROM idempotency_keys
                WHERE subject = \(claim.subject) AND route = \(claim.route.rawValue) AND key = \(claim.key)
                    AND NOT outcome_unknown AND EXISTS (SELECT FROM changed)
            )
            """
        }
    }
}
