import HTTP
import JSON
import Postgres
import Testing

@testable import MerchantServer

/// A repetition that finds everything done writes nothing by itself, and is answered only when what it found is
/// committed where commits have to be.
@Suite struct RepeatedAnswerTests {
    /// How many transactions have written so far.
    private static func written(_ harness: TestHarness) async throws -> Int64 {
        let rows = try await harness.database.rows(
            "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS count")
        return try #require(try rows.first?.decode("count", as: Int64.self))
    }

    @Test func `what is answered again without a change follows a commit of its own, and a reading does not`()
        async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            let signature = try client.authorization(of: payment)
            let authorize = "/v1/payment-intents/\(payment.id)/authorize"
            _ = try await client.app.send(.post, authorize, signature)
            let app = client
            let repetitions: [@Sendable () async throws -> Answer] = [
                { try await app.requestPayment(enrollment, key: "tap-1") },
                { try await app.app.send(.post, authorize, signature) },
            ]
            for (place, repeated) in repetitions.enumerated() {
                let before = try await Self.written(harness)
                #expect(try await [201, 204].contains(repeated().status), "\(place)")
                #expect(try await Self.written(harness) > before, "\(place)")
            }
            let before = try await Self.written(harness)
            #expect(try await client.payment(payment).status == 200)
            #expect(try await Self.written(harness) == before)
        }
    }
}
