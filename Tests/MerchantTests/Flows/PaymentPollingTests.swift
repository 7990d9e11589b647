import BelvoSandbox
import HTTP
import Testing

/// What becomes of a payment while nobody but the workers does anything.
@Suite struct PaymentPollingTests {
    @Test func `a payment that was never signed has timed out at the end of its challenge, not before`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.enroll()
            let bill = try await shopper.bill(bond)
            // The challenge's 300 s and a minute.
            try await stage.pass(.seconds(340))
            #expect(try await shopper.payment(bill).string("next_action", "type") == "sign")
            try await stage.pass(.seconds(20))
            let answer = try await shopper.payment(bill)
            #expect(try answer.string("status") == "FAILED")
            #expect(try answer.string("failure_code") == "timed_out")
            #expect(try answer.raw("next_action") == #"{"type":"retry","reason":"now"}"#)
            // From then on the signature is refused.
            let late = try await shopper.authorize(bill)
            #expect(late.status == 409)
            #expect(stage.countCalls(.authorizePaymentIntent) == 0)
        }
    }

    @Test func `a signature after the deadline is refused also before a worker has noticed`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.enroll()
            let bill = try await shopper.bill(bond)
            try await stage.advance(by: .seconds(361))
            #expect(try await shopper.authorize(bill).status == 409)
            #expect(stage.countCalls(.authorizePaymentIntent) == 0)
        }
    }

    @Test func `an authorized payment past its deadline is in doubt, and Belvo's late word decides`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.enroll()
            let bill = try await shopper.bill(bond)
            try await shopper.authorize(bill)
            try await stage.pass(.seconds(100))
            #expect(try await shopper.payment(bill).raw("in_doubt") == "false")
            for wait in [Duration.seconds(20), .seconds(3_600), .seconds(86_400)] {
                try await stage.pass(wait)
                let answer = try await shopper.payment(bill)
                #expect(try answer.string("status") == "PENDING")
                #expect(try answer.raw("in_doubt") == "true")
                #expect(try answer.string("next_action", "type") == "poll")
            }
            #expect(stage.log.holds("payment.in_doubt"))
            try stage.sandbox.settle(intent: bill.belvoID)
            try await stage.pass(.seconds(901))
            let answer = try await shopper.payment(bill)
            #expect(try answer.string("status") == "SUCCEEDED")
            #expect(try answer.raw("in_doubt") == "false")
            #expect(try answer.raw("next_action") == "null")
        }
    }

    @Test(arguments: LetterCase.allCases)
    func `a payment without funds says so, in either spelling`(spelling: LetterCase) async throws {
        try await Stage.open { stage in
            stage.sandbox.variants.failureCodes = spelling
            var shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.enroll()
            let bill = try await shopper.bill(bond)
            try await shopper.authorize(bill)
            try stage.sandbox.fail(intent: bill.belvoID)
            try await stage.poll()
            let answer = try await shopper.payment(bill)
            #expect(try answer.string("status") == "FAILED")
            #expect(try answer.string("failure_code").lowercased() == "insufficient_funds")
            #expect(try answer.raw("next_action") == #"{"type":"retry","reason":"insufficient_funds"}"#)
        }
    }

    @Test func `a payment that is being made elsewhere does not lapse unsigned`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.enroll()
            let bill = try await shopper.bill(bond)
            try stage.sandbox.turn(intent: bill.belvoID, to: "PROCESSING")
            for _ in 0..<3 {
                try await stage.pass(.seconds(361))
                #expect(try await shopper.payment(bill).string("status") == "PENDING")
            }
            #expect(try await shopper.openPayment(bond, key: "tap-2").status == 409)
            try stage.sandbox.settle(intent: bill.belvoID)
            try await stage.pass(.seconds(121))
            #expect(try await shopper.payment(bill).string("status") == "SUCCEEDED")
        }
    }

    @Test func `a challenge that is not there at once is waited for`() async throws {
        try await Stage.open { stage in
            stage.sandbox.variants.fidoOptions = .whenRead
            var shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.enroll()
            let answer = try await shopper.openPayment(bond)
            #expect(answer.status == 201)
            #expect(try answer.string("next_action", "type") == "poll")
            try await stage.poll()
            let read = try await shopper.payment(try answer.string("id"))
            #expect(try read.string("next_action", "type") == "sign")
        }
    }

    @Test(arguments: [
        Fault.otherAmount, .otherCurrency, .otherCustomer, .otherBeneficiary, .otherEnrollment, .otherExternalID,
        .unknownStatus,
    ])
    func `a success that is not this payment is not believed, and raises an alarm`(fault: Fault) async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.enroll()
            let bill = try await shopper.bill(bond)
            try await shopper.authorize(bill)
            try stage.sandbox.settle(intent: bill.belvoID)
            stage.sandbox.next(fault, on: .getPaymentIntent)
            try await stage.poll()
            #expect(try await shopper.payment(bill).string("status") == "PENDING")
            #expect(stage.log.holds(fault == .unknownStatus ? "payment.unknown_status" : "payment.differs"))
            try await stage.poll()
            #expect(try await shopper.payment(bill).string("status") == "SUCCEEDED")
        }
    }
}
