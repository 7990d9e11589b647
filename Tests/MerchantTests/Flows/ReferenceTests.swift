import BelvoSandbox
import HTTP
import Testing

/// One reference, one payment.
@Suite struct ReferenceTests {
    @Test func `a reference with a live payment opens no other, and names it`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            for step in ["waiting for the signature", "authorized"] {
                let second = try await client.requestPayment(enrollment, key: "tap-2")
                #expect(second.status == 409, "\(step)")
                #expect(try second.string("code") == "payment_in_doubt", "\(step)")
                #expect(try second.string("payment_intent") == payment.id, "\(step)")
                if step != "authorized" { try await client.authorize(payment) }
            }
            #expect(harness.countCalls(.createPaymentIntent) == 1)
        }
    }

    @Test func `a payment in doubt keeps its reference until Belvo says that it failed`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            harness.sandbox.next(.dropAnswer, on: .authorizePaymentIntent)
            #expect(try await client.authorize(payment).status == 202)
            try await harness.pass(.seconds(121))
            for wait in [Duration.seconds(10), .seconds(86_400)] {
                #expect(try await client.payment(payment).raw("in_doubt") == "true")
                let second = try await client.requestPayment(enrollment, key: "tap-2")
                #expect(second.status == 409)
                #expect(try second.string("code") == "payment_in_doubt")
                #expect(try second.string("payment_intent") == payment.id)
                try await harness.pass(wait)
            }
            try harness.sandbox.fail(intent: payment.belvoID)
            try await harness.pass(.seconds(901))
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 201)
        }
    }

    @Test func `a paid reference is never paid again`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.poll()
            let second = try await client.requestPayment(enrollment, key: "tap-2")
            #expect(second.status == 409)
            #expect(try second.string("code") == "already_paid")
            #expect(try second.string("payment_intent") == payment.id)
            #expect(harness.countCalls(.createPaymentIntent) == 1)
        }
    }

    @Test func `a failed payment frees its reference`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.fail(intent: payment.belvoID)
            try await harness.poll()
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 201)
        }
    }

    @Test func `two users may use the same reference, and payments without one do not meet`() async throws {
        try await TestHarness.open { harness in
            var ana = try await AppClient.arrive(on: harness)
            var bia = try await AppClient.arrive(on: harness, as: "bia", taxID: "111.444.777-35")
            let (hers, others) = (try await ana.enroll(), try await bia.enroll())
            #expect(try await ana.requestPayment(hers).status == 201)
            #expect(try await bia.requestPayment(others).status == 201)
            #expect(try await ana.requestPayment(hers, reference: nil, key: "tap-2").status == 201)
            #expect(try await ana.requestPayment(hers, reference: nil, key: "tap-3").status == 201)
        }
    }

    @Test func `twenty keys at once for one reference are one payment`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let (app, body) = (client.app, client.paymentBody(enrollment))
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
            #expect(harness.countCalls(.createPaymentIntent) == 1)
        }
    }

    @Test func `a payment that lapsed unsigned but was paid elsewhere keeps its reference`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            try await harness.pass(.seconds(361))
            #expect(try await client.payment(payment).string("failure_code") == "timed_out")
            // A widget token can authorize at Belvo without us.
            #expect(try await client.app.send(.post, "/v1/widget-token").status == 201)
            try harness.sandbox.settle(intent: payment.belvoID)
            let second = try await client.requestPayment(enrollment, key: "tap-2")
            #expect(second.status == 409)
            #expect(try second.string("code") == "already_paid")
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
        }
    }
}
