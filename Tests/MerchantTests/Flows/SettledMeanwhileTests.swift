import FoundationEssentials
import Payments
import Postgres
import TestSupport
import Testing

@testable import MerchantServer
@testable import MerchantStore
@testable import MerchantWorkflows

/// A repeated request reads its key, and then the record that the key stands for. The first request may settle both in
/// between.
@Suite struct SettledMeanwhileTests {
    @Test func `an answer that was stored meanwhile is the one that is given`() async throws {
        try await replay { key in
            "UPDATE idempotency_keys SET response_status = 201, response_body = 'first' WHERE key = \(key)"
        } then: { creation in
            var answer: StoredAnswer?
            if case .replayed(let stored)? = creation { answer = stored }
            #expect(answer == StoredAnswer(status: 201, body: Array("first".utf8)))
        }
    }

    @Test func `a key that was freed meanwhile is free`() async throws {
        try await replay { key in
            "DELETE FROM idempotency_keys WHERE key = \(key)"
        } then: { creation in
            #expect(creation == nil)
        }
    }

    @Test func `a key without an answer tells what became of its record`() async throws {
        try await replay { key in
            "UPDATE idempotency_keys SET outcome_unknown = true WHERE key = \(key)"
        } then: { creation in
            var isDone = false
            if case .known(.done)? = creation { isDone = true }
            #expect(isDone)
        }
    }

    /// Repeats a request whose first one is under way, and settles its key in the moment in which the record is read.
    private func replay(
        settling: @escaping @Sendable (_ key: String) -> SQL,
        then check: @escaping @Sendable (Creation<Enrollment>?) -> Void
    ) async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let id = try #require(UUID(uuidString: try await client.startEnrollment().id))
            let claim = IdempotencyClaim(
                subject: try UserSubject("ana"), route: .enrollments, key: "tap", requestDigest: [1])
            try await harness.database.execute(
                """
                INSERT INTO idempotency_keys (subject, route, key, request_digest, record_id)
                VALUES (\(claim.subject), \(claim.route.rawValue), \(claim.key), \(claim.requestDigest), \(id))
                """)
            let dependencies = harness.merchant.dependencies
            let request = KeyedRequest<Enrollment>(
                claim: claim, made: { _ in StoredAnswer(status: 500, body: []) },
                refused: { _ in StoredAnswer(status: 500, body: []) })
            let settlement = settling(claim.key)
            check(
                try await dependencies.replay(
                    request,
                    record: { id in
                        try await harness.database.execute(settlement)
                        return try await dependencies.store.enrollment(Enrollment.ID(id))
                    }, isUnknown: { $0.state == .creating }))
        }
    }
}
