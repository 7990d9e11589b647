import BelvoSandbox
import HTTP
import Postgres
import Testing

/// Both clocks: Belvo's begins with the step that waits for Belvo, and a person's goes on through a failed attempt.
@Suite struct TimeTests {
    @Test func `the time for the options begins when the user comes back, however long that took`() async throws {
        try await TestHarness.open { harness in
            harness.sandbox.variants.fidoReadiness = .whenTold
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            try await harness.pass(.seconds(800))
            try await client.complete(client.decide(enrollment))
            try await harness.pass(.seconds(100))
            #expect(try await client.enrollment(enrollment).string("next_action", "type") == "poll")
            try await harness.pass(.seconds(20))
            #expect(try await client.enrollment(enrollment).string("status_reason_code") == "timed_out")
        }
    }

    @Test func `the time for the bank's word begins with the fingerprint, however long that took`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.reachFingerprint()
            try await harness.pass(.seconds(800))
            try await client.confirm(enrollment)
            try await harness.pass(.seconds(100))
            #expect(try await client.enrollment(enrollment).string("next_action", "type") == "poll")
            try await harness.pass(.seconds(20))
            #expect(try await client.enrollment(enrollment).string("status_reason_code") == "timed_out")
        }
    }

    @Test func `the time for the money begins with the signature, however long that took`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(try await client.enroll())
            try await harness.pass(.seconds(300))
            try await client.authorize(payment)
            try await harness.pass(.seconds(100))
            #expect(try await client.payment(payment).raw("in_doubt") == "false")
            try await harness.pass(.seconds(20))
            #expect(try await client.payment(payment).raw("in_doubt") == "true")
        }
    }

    @Test func `a signature has no more time than a person has`() async throws {
        try await TestHarness.open(environment: ["USER_DEADLINE_MS": "120000"]) { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(try await client.enroll())
            try await harness.pass(.seconds(100))
            #expect(try await client.payment(payment).string("next_action", "type") == "sign")
            try await harness.pass(.seconds(20))
            #expect(try await client.payment(payment).string("failure_code") == "timed_out")
        }
    }

    @Test func `a registration that was turned away leaves the user the rest of the time, and no more`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.reachFingerprint()
            try await harness.pass(.seconds(500))
            harness.sandbox.next(.tooManyRequests(retryAfter: 1), on: .confirmEnrollment)
            #expect(try await client.confirm(enrollment).status == 503)
            try await harness.pass(.seconds(380))
            #expect(try await client.enrollment(enrollment).string("next_action", "type") == "register")
            try await harness.pass(.seconds(20))
            #expect(try await client.enrollment(enrollment).string("status_reason_code") == "timed_out")
        }
    }

    @Test func `a signature that was turned away leaves the user the rest of the time, and then is in doubt`()
        async throws
    {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(try await client.enroll())
            try await harness.pass(.seconds(200))
            harness.sandbox.next(.tooManyRequests(retryAfter: 1), on: .authorizePaymentIntent)
            #expect(try await client.authorize(payment).status == 503)
            try await harness.pass(.seconds(140))
            #expect(try await client.payment(payment).string("next_action", "type") == "sign")
            try await harness.pass(.seconds(20))
            // It may have arrived: whether it is paid only Belvo can say.
            let overdue = try await client.payment(payment)
            #expect(try overdue.raw("in_doubt") == "true")
            #expect(try overdue.string("next_action", "type") == "poll")
            #expect(try await client.authorize(payment).status == 409)
        }
    }

    @Test func `what is in doubt is read with growing pauses, and after a week with an alarm`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(try await client.enroll())
            try await client.authorize(payment)
            try await harness.pass(.seconds(120))
            // So much later the next poll follows after so many seconds.
            for (later, pause) in [
                (10, 10), (590, 60), (1_200, 120), (1_790, 120), (120, 900), (6 * 86_400, 900), (86_400, 3_600),
            ] {
                #expect(!harness.log.holds("payment.in_doubt_for_long"), "\(pause)")
                try await harness.pass(.seconds(later))
                let seconds = try #require(try await harness.secondsToNextLook(at: payment))
                // The clock of the database goes on by itself meanwhile.
                #expect((pause - 6...pause + 1).contains(seconds), "after \(later): \(seconds)")
            }
            #expect(harness.log.holds("payment.in_doubt_for_long"))
            let answer = try await client.payment(payment)
            #expect(try answer.string("status") == "PENDING")
            #expect(try answer.raw("in_doubt") == "true")
        }
    }
}

extension TestHarness {
    /// How long it is until a payment is polled next.
    fileprivate func secondsToNextLook(at payment: AppClient.OpenedPayment) async throws -> Int? {
        try await database.rows(
            """
            SELECT ceil(extract(epoch FROM next_poll_at - app_now()))::bigint AS seconds
            FROM payments WHERE id::text = \(payment.id)
            """
        ).first.map { Int(try $0.decode("seconds", as: Int64.self)) }
    }
}
