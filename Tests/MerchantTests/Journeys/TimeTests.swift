import BelvoSandbox
import HTTP
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

    @Test func `a signature that was turned away leaves the user the rest of the time, and no more`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bill = try await shopper.bill(try await shopper.enroll())
            try await stage.pass(.seconds(200))
            stage.sandbox.next(.tooManyRequests(retryAfter: 1), on: .authorizePaymentIntent)
            #expect(try await shopper.authorize(bill).status == 503)
            try await stage.pass(.seconds(140))
            #expect(try await shopper.payment(bill).string("next_action", "type") == "sign")
            try await stage.pass(.seconds(20))
            #expect(try await shopper.payment(bill).string("failure_code") == "timed_out")
        }
    }
}
