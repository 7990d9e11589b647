import BelvoSandbox
import HTTP
import Postgres
import Testing

@testable import MerchantServer
@testable import MerchantWorkflows

/// Data that has served its purpose is deleted (LGPD, article 15), and nothing else is.
@Suite struct RetentionTests {
    private func discard(_ harness: TestHarness, after days: Int64, limit: Int = 500) async throws -> Pass {
        try await harness.database.execute(
            "UPDATE test_clock SET ahead = ahead + \(days) * interval '1 day'")
        var retention = Retention(store: harness.merchant.dependencies.store, log: harness.log.logger)
        retention.limit = limit
        return try await retention.runOnce()
    }

    private func counts(_ harness: TestHarness) async throws -> [String] {
        try await harness.lines(
            """
            SELECT concat_ws(' ', 'keys', count(*)) AS line FROM idempotency_keys
            UNION ALL SELECT concat_ws(' ', 'redirects', count(*)) FROM redirect_receipts
            UNION ALL SELECT concat_ws(' ', 'webhooks', count(*)) FROM webhook_receipts
            UNION ALL SELECT concat_ws(' ', 'events', count(*)) FROM events
            UNION ALL SELECT concat_ws(' ', 'tokens', count(*)) FROM widget_tokens
            UNION ALL SELECT concat_ws(' ', 'hollow', count(*)) FROM enrollments WHERE hollowed_at IS NOT NULL
            UNION ALL SELECT concat_ws(' ', 'hollow payments', count(*)) FROM payments WHERE hollowed_at IS NOT NULL
            """)
    }

    private func expect(
        _ harness: TestHarness, sourceLocation: SourceLocation = #_sourceLocation, _ holds: ([String]) -> Bool
    ) async throws {
        let counts = try await counts(harness)
        #expect(holds(counts), "\(counts)", sourceLocation: sourceLocation)
    }

    @Test func `each kind goes after its time, and not a day before`() async throws {
        try await ShopDouble.serving { shop in
            try await TestHarness.open(environment: shop.environment) { harness in
                var client = try await AppClient.arrive(on: harness)
                let enrollment = try await client.enroll()
                let payment = try await client.openPayment(enrollment)
                try await client.authorize(payment)
                try harness.sandbox.settle(intent: payment.belvoID)
                try await harness.tell("PAYMENT_INTENTS", of: payment.belvoID)
                _ = try await client.app.send(.post, "/v1/widget-token")
                // One that the bank refuses, and one that is under way for ever.
                let refused = try await client.startEnrollment()
                try harness.sandbox.fail(enrollment: refused.belvoID)
                try await harness.tell("ENROLLMENTS", of: refused.belvoID)
                try await harness.pass(.seconds(1))
                let full = [
                    "keys 1", "redirects 1", "webhooks 2", "events 3", "tokens 1", "hollow 0", "hollow payments 0",
                ]
                try await expect(harness) { $0 == full }
                #expect(try await discard(harness, after: 0) == Pass())
                try await expect(harness) { $0 == full }
                _ = try await discard(harness, after: 6)
                try await expect(harness) { $0[1] == "redirects 1" }
                _ = try await discard(harness, after: 2)
                try await expect(harness) {
                    $0[..<5] == ["keys 0", "redirects 0", "webhooks 2", "events 3", "tokens 0"]
                }
                _ = try await discard(harness, after: 21)
                try await expect(harness) { $0[5...] == ["hollow 0", "hollow payments 0"] }
                _ = try await discard(harness, after: 2)
                try await expect(harness) { $0[5...] == ["hollow 2", "hollow payments 1"] }
                // Their partition goes 60 days after its end, at the earliest.
                _ = try await discard(harness, after: 28)
                try await expect(harness) { $0[2..<4] == ["webhooks 2", "events 3"] }
                let before = try await harness.lines("SELECT id::text AS line FROM state_history ORDER BY id")
                _ = try await discard(harness, after: 34)
                try await expect(harness) { $0[2..<4] == ["webhooks 0", "events 0"] }
                #expect(try await discard(harness, after: 365) == Pass())
                #expect(harness.log.holds("retention.discarded"))

                // The books, the usable enrollment and what happened stay.
                #expect(try await harness.lines("SELECT id::text AS line FROM state_history ORDER BY id") == before)
                let kept = try await harness.lines(
                    """
                    SELECT concat_ws(' ', state, device_ciphertext IS NULL, payer_information_ciphertext IS NULL,
                        registration_options_ciphertext IS NULL, redirect_url IS NULL) AS line
                    FROM enrollments ORDER BY id
                    """)
                #expect(kept == ["succeeded f f t t", "failed t t t t"])
                #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
                #expect(try await client.payment(payment).raw("amount") == #""19.90""#)
                #expect(try await client.enrollment(enrollment).string("status") == "SUCCEEDED")
                #expect(try await client.enrollment(refused).string("status") == "FAILED")
                #expect(try await client.requestPayment(enrollment, reference: "order-2", key: "tap-2").status == 201)
            }
        }
    }

    @Test func `what an enrollment needed goes once the user or the bank has taken it back, the payer's account too`()
        async throws
    {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            try harness.sandbox.revoke(enrollment: enrollment.belvoID)
            try await harness.tell("ENROLLMENTS", of: enrollment.belvoID)
            try await harness.poll()
            func lacks() async throws -> [String] {
                try await harness.lines(
                    """
                    SELECT concat_ws(' ', state, device_ciphertext IS NULL, device_lookup IS NULL,
                        payer_information_ciphertext IS NULL) AS line FROM enrollments
                    """)
            }
            #expect(try await lacks() == ["failed f f f"])
            _ = try await discard(harness, after: 31)
            #expect(try await lacks() == ["failed t t t"])
        }
    }

    @Test func `what is not at its end stays, however old it is`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            try await client.authorize(payment)
            try await harness.pass(.seconds(121))
            let enrollments = [try await client.startEnrollment(), try await client.startEnrollment()]
            harness.sandbox.next(.tooManyRequests(retryAfter: 600), on: .completeRedirection)
            for enrollment in enrollments { try await client.complete(client.decide(enrollment)) }
            // One was on its way to Belvo when the server was killed.
            let sent = try await harness.database.execute(
                """
                UPDATE redirect_receipts SET outcome = 'sent', sent_at = app_now()
                WHERE outcome = 'received' AND enrollment_id::text = \(enrollments[1].id)
                """)
            #expect(sent.affectedCount == 1)
            try await harness.tell("CHARGES", of: Walk.absentID)
            _ = try await discard(harness, after: 400)
            #expect(
                try await harness.lines(
                    """
                    SELECT 'redirect ' || outcome AS line FROM redirect_receipts
                    WHERE body_ciphertext IS NOT NULL AND outcome = 'received'
                    UNION ALL SELECT 'redirect ' || outcome FROM redirect_receipts
                    WHERE body_ciphertext IS NOT NULL AND outcome = 'sent'
                    UNION ALL SELECT 'webhook' FROM webhook_receipts WHERE outcome = 'received'
                    UNION ALL SELECT 'payment' FROM payments WHERE in_doubt AND hollowed_at IS NULL
                    UNION ALL SELECT 'enrollment' FROM enrollments WHERE status = 'PENDING' AND hollowed_at IS NULL
                        AND device_ciphertext IS NOT NULL
                    """)
                    == ["redirect received", "redirect sent", "webhook", "payment", "enrollment", "enrollment"])
        }
    }

    @Test func `what the shop has not been told is kept until it is, however old it is`() async throws {
        try await ShopDouble.serving { shop in
            try await TestHarness.open(environment: shop.environment) { harness in
                shop.isAway = true
                var client = try await AppClient.arrive(on: harness)
                _ = try await client.enroll()
                _ = try await discard(harness, after: 400)
                let waiting = "SELECT type AS line FROM events WHERE next_attempt_at IS NOT NULL" as SQL
                #expect(try await harness.lines(waiting) == ["enrollment.succeeded"])
            }
        }
    }

    @Test func `a pass takes no more than it may, and says that there is more`() async throws {
        try await TestHarness.open { harness in
            for number in 0..<5 {
                try await harness.tell("BANK_ACCOUNTS", of: "0b3a1c7e-90d4-4f26-8a51-0d6c2e9b7f1\(number)")
            }
            var passes = [try await discard(harness, after: 93, limit: 2)]
            for _ in 0..<2 { passes.append(try await discard(harness, after: 0, limit: 2)) }
            #expect(passes.map(\.examined) == [2, 2, 1])
            #expect(passes.map(\.wasFull) == [true, true, false])
        }
    }
}
