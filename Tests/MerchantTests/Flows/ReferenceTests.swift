import BelvoSandbox
import HTTP
import Testing

/// One reference, one payment.
@Suite struct ReferenceTests {
    @Test func `a reference with a live payment opens no other, and names it`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.enroll()
            let bill = try await shopper.bill(bond)
            for step in ["waiting for the signature", "authorized"] {
                let second = try await shopper.openPayment(bond, key: "tap-2")
                #expect(second.status == 409, "\(step)")
                #expect(try second.string("code") == "payment_in_doubt", "\(step)")
                #expect(try second.string("payment_intent") == bill.id, "\(step)")
                if step != "authorized" { try await shopper.authorize(bill) }
            }
            #expect(stage.countCalls(.createPaymentIntent) == 1)
        }
    }

    @Test func `a payment in doubt keeps its reference until Belvo says that it failed`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.enroll()
            let bill = try await shopper.bill(bond)
            stage.sandbox.next(.dropAnswer, on: .authorizePaymentIntent)
            #expect(try await shopper.authorize(bill).status == 202)
            try await stage.pass(.seconds(121))
            for wait in [Duration.seconds(10), .seconds(86_400)] {
                #expect(try await shopper.payment(bill).raw("in_doubt") == "true")
                let second = try await shopper.openPayment(bond, key: "tap-2")
                #expect(second.status == 409)
                #expect(try second.string("code") == "payment_in_doubt")
                #expect(try second.string("payment_intent") == bill.id)
                try await stage.pass(wait)
            }
            try stage.sandbox.fail(intent: bill.belvoID)
            try await stage.pass(.seconds(901))
            #expect(try await shopper.openPayment(bond, key: "tap-2").status == 201)
        }
    }

    @Test func `a paid reference is never paid again`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.enroll()
            let bill = try await shopper.bill(bond)
            try await shopper.authorize(bill)
            try stage.sandbox.settle(intent: bill.belvoID)
            try await stage.poll()
            let second = try await shopper.openPayment(bond, key: "tap-2")
            #expect(second.status == 409)
            #expect(try second.string("code") == "already_paid")
            #expect(try second.string("payment_intent") == bill.id)
            #expect(stage.countCalls(.createPaymentIntent) == 1)
        }
    }

    @Test func `a failed payment frees its reference`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.enroll()
            let bill = try await shopper.bill(bond)
            try await shopper.authorize(bill)
            try stage.sandbox.fail(intent: bill.belvoID)
            try await stage.poll()
            #expect(try await shopper.openPayment(bond, key: "tap-2").status == 201)
        }
    }

    @Test func `two users may use the same reference, and payments without one do not meet`() async throws {
        try await Stage.open { stage in
            var ana = try await Shopper.arrive(on: stage)
            var bia = try await Shopper.arrive(on: stage, as: "bia", taxID: "111.444.777-35")
            let (hers, others) = (try await ana.enroll(), try await bia.enroll())
            #expect(try await ana.openPayment(hers).status == 201)
            #expect(try await bia.openPayment(others).status == 201)
            #expect(try await ana.openPayment(hers, reference: nil, key: "tap-2").status == 201)
            #expect(try await ana.openPayment(hers, reference: nil, key: "tap-3").status == 201)
        }
    }

    @Test func `twenty keys at once for one reference are one payment`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.enroll()
            let (app, body) = (shopper.app, shopper.paymentBody(bond))
            let answers = try await withThrowingTaskGroup(returning: [Answer].self) { group in
                for number in 0..<20 {
                    group.addTask {
                        try await app.send(
                            .post, "/v1/payment-intents", body, headers: ["idempotency-key": "tap-\(number)"])
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let made = answers.filter { $0.status == 201 }
            #expect(made.count == 1)
            // The others go on with the live one.
            for answer in answers where answer.status != 201 {
                #expect(answer.status == 409)
                #expect(try answer.string("code") == "payment_in_doubt")
                #expect(try answer.string("payment_intent") == made.first?.string("id"))
            }
            #expect(stage.countCalls(.createPaymentIntent) == 1)
        }
    }

    @Test func `a payment that lapsed unsigned but was paid elsewhere keeps its reference`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.enroll()
            let bill = try await shopper.bill(bond)
            try await stage.pass(.seconds(361))
            #expect(try await shopper.payment(bill).string("failure_code") == "timed_out")
            // A widget token can authorize at Belvo without us.
            #expect(try await shopper.app.send(.post, "/v1/widget-token").status == 201)
            try stage.sandbox.settle(intent: bill.belvoID)
            let second = try await shopper.openPayment(bond, key: "tap-2")
            #expect(second.status == 409)
            #expect(try second.string("code") == "already_paid")
            #expect(try await shopper.payment(bill).string("status") == "SUCCEEDED")
        }
    }
}
