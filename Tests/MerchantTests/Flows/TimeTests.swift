import BelvoSandbox
import HTTP
import Postgres
import Testing

/// Both clocks: Belvo's begins with the step that waits for Belvo, and a person's goes on through a failed attempt.
@Suite struct TimeTests {
    @Test func `the time for the options begins when the user comes back, however long that took`() async throws {
        try await Stage.open { stage in
            stage.sandbox.variants.fidoReadiness = .whenTold
            let shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.startEnrollment()
            try await stage.pass(.seconds(800))
            try await shopper.complete(shopper.decide(bond))
            try await stage.pass(.seconds(100))
            #expect(try await shopper.enrollment(bond).string("next_action", "type") == "poll")
            try await stage.pass(.seconds(20))
            #expect(try await shopper.enrollment(bond).string("status_reason_code") == "timed_out")
        }
    }

    @Test func `the time for the bank's word begins with the fingerprint, however long that took`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.reachFingerprint()
            try await stage.pass(.seconds(800))
            try await shopper.confirm(bond)
            try await stage.pass(.seconds(100))
            #expect(try await shopper.enrollment(bond).string("next_action", "type") == "poll")
            try await stage.pass(.seconds(20))
            #expect(try await shopper.enrollment(bond).string("status_reason_code") == "timed_out")
        }
    }

    @Test func `the time for the money begins with the signature, however long that took`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bill = try await shopper.bill(try await shopper.enroll())
            try await stage.pass(.seconds(300))
            try await shopper.authorize(bill)
            try await stage.pass(.seconds(100))
            #expect(try await shopper.payment(bill).raw("in_doubt") == "false")
            try await stage.pass(.seconds(20))
            #expect(try await shopper.payment(bill).raw("in_doubt") == "true")
        }
    }

    @Test func `a signature has no more time than a person has`() async throws {
        try await Stage.open(environment: ["USER_DEADLINE_MS": "120000"]) { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bill = try await shopper.bill(try await shopper.enroll())
            try await stage.pass(.seconds(100))
            #expect(try await shopper.payment(bill).string("next_action", "type") == "sign")
            try await stage.pass(.seconds(20))
            #expect(try await shopper.payment(bill).string("failure_code") == "timed_out")
        }
    }

    @Test func `a registration that was turned away leaves the user the rest of the time, and no more`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.reachFingerprint()
            try await stage.pass(.seconds(500))
            stage.sandbox.next(.tooManyRequests(retryAfter: 1), on: .confirmEnrollment)
            #expect(try await shopper.confirm(bond).status == 503)
            try await stage.pass(.seconds(380))
            #expect(try await shopper.enrollment(bond).string("next_action", "type") == "register")
            try await stage.pass(.seconds(20))
            #expect(try await shopper.enrollment(bond).string("status_reason_code") == "timed_out")
        }
    }

    @Test func `a signature that was turned away leaves the user the rest of the time, and then is in doubt`()
        async throws
    {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bill = try await shopper.bill(try await shopper.enroll())
            try await stage.pass(.seconds(200))
            stage.sandbox.next(.tooManyRequests(retryAfter: 1), on: .authorizePaymentIntent)
            #expect(try await shopper.authorize(bill).status == 503)
            try await stage.pass(.seconds(140))
            #expect(try await shopper.payment(bill).string("next_action", "type") == "sign")
            try await stage.pass(.seconds(20))
            // It may have arrived: whether it is paid only Belvo can say.
            let overdue = try await shopper.payment(bill)
            #expect(try overdue.raw("in_doubt") == "true")
            #expect(try overdue.string("next_action", "type") == "poll")
            #expect(try await shopper.authorize(bill).status == 409)
        }
    }

    @Test func `what is in doubt is read with growing pauses, and after a week with an alarm`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bill = try await shopper.bill(try await shopper.enroll())
            try await shopper.authorize(bill)
            try await stage.pass(.seconds(120))
            // So much later the next look follows after so many seconds.
            for (later, pause) in [
                (10, 10), (590, 60), (1_200, 120), (1_790, 120), (120, 900), (6 * 86_400, 900), (86_400, 3_600),
            ] {
                #expect(!stage.log.holds("payment.in_doubt_for_long"), "\(pause)")
                try await stage.pass(.seconds(later))
                let seconds = try #require(try await stage.secondsToNextLook(at: bill))
                // The clock of the database goes on by itself meanwhile.
                #expect((pause - 6...pause + 1).contains(seconds), "after \(later): \(seconds)")
            }
            #expect(stage.log.holds("payment.in_doubt_for_long"))
            let answer = try await shopper.payment(bill)
            #expect(try answer.string("status") == "PENDING")
            #expect(try answer.raw("in_doubt") == "true")
        }
    }
}

extension Stage {
    /// How long it is until a payment is looked at next.
    fileprivate func secondsToNextLook(at bill: Shopper.Bill) async throws -> Int? {
        try await database.rows(
            """
            SELECT ceil(extract(epoch FROM next_poll_at - app_now()))::bigint AS seconds
            FROM payments WHERE id::text = \(bill.id)
            """
        ).first.map { Int(try $0.decode("seconds", as: Int64.self)) }
    }
}
