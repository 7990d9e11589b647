import BelvoSandbox
import HTTP
import Testing

/// Payments while only the workers act.
@Suite struct PaymentPollingTests {
    @Test func `a payment that was never signed has timed out at the end of its challenge, not before`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            // The challenge's 300 s and a minute.
            try await harness.pass(.seconds(340))
            #expect(try await client.payment(payment).string("next_action", "type") == "sign")
            try await harness.pass(.seconds(20))
            let answer = try await client.payment(payment)
            #expect(try answer.string("status") == "FAILED")
            #expect(try answer.string("failure_code") == "timed_out")
            #expect(try answer.raw("next_action") == #"{"type":"retry","reason":"now"}"#)
            // From then on the signature is refused.
            let late = try await client.authorize(payment)
            #expect(late.status == 409)
            #expect(harness.countCalls(.authorizePaymentIntent) == 0)
        }
    }

    @Test func `a signature after the deadline is refused also before a worker has noticed`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            try await harness.advance(by: .seconds(361))
            #expect(try await client.authorize(payment).status == 409)
            #expect(harness.countCalls(.authorizePaymentIntent) == 0)
        }
    }

    @Test func `an authorized payment past its deadline is in doubt, and Belvo's late word decides`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try await harness.pass(.seconds(100))
            #expect(try await client.payment(payment).raw("in_doubt") == "false")
            for wait in [Duration.seconds(20), .seconds(3_600), .seconds(86_400)] {
                try await harness.pass(wait)
                let answer = try await client.payment(payment)
                #expect(try answer.string("status") == "PENDING")
                #expect(try answer.raw("in_doubt") == "true")
                #expect(try answer.string("next_action", "type") == "poll")
            }
            #expect(harness.log.holds("payment.in_doubt"))
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.pass(.seconds(901))
            let answer = try await client.payment(payment)
            #expect(try answer.string("status") == "SUCCEEDED")
            #expect(try answer.raw("in_doubt") == "false")
            #expect(try answer.raw("next_action") == "null")
        }
    }

    @Test(arguments: LetterCase.allCases)
    func `a payment without funds says so, in either spelling`(spelling: LetterCase) async throws {
        try await TestHarness.open { harness in
            harness.sandbox.variants.failureCodes = spelling
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.fail(intent: payment.belvoID)
            try await harness.poll()
            let answer = try await client.payment(payment)
            #expect(try answer.string("status") == "FAILED")
            #expect(try answer.string("failure_code").lowercased() == "insufficient_funds")
            #expect(try answer.raw("next_action") == #"{"type":"retry","reason":"insufficient_funds"}"#)
        }
    }

    @Test func `a payment that is being made elsewhere does not lapse unsigned`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            try harness.sandbox.turn(intent: payment.belvoID, to: "PROCESSING")
            for _ in 0..<3 {
                try await harness.pass(.seconds(361))
                #expect(try await client.payment(payment).string("status") == "PENDING")
            }
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 409)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.pass(.seconds(121))
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
        }
    }

    @Test func `a challenge that is not there at once is waited for`() async throws {
        try await TestHarness.open { harness in
            harness.sandbox.variants.fidoOptions = .whenRead
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let answer = try await client.requestPayment(enrollment)
            #expect(answer.status == 201)
            #expect(try answer.string("next_action", "type") == "poll")
            try await harness.poll()
            let read = try await client.payment(try answer.string("id"))
            #expect(try read.string("next_action", "type") == "sign")
        }
    }

    @Test(arguments: [
        Fault.otherAmount, .otherCurrency, .otherCustomer, .otherBeneficiary, .otherEnrollment, .otherExternalID,
        .unknownStatus,
    ])
    func `a success that is not this payment is not believed, and raises an alarm`(fault: Fault) async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            harness.sandbox.next(fault, on: .getPaymentIntent)
            try await harness.poll()
            #expect(try await client.payment(payment).string("status") == "PENDING")
            #expect(harness.log.holds(fault == .unknownStatus ? "payment.unknown_status" : "payment.differs"))
            try await harness.poll()
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
        }
    }
}
