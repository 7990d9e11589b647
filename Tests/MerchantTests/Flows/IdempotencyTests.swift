import BelvoSandbox
import HTTP
import Payments
import Postgres
import TestSupport
import Testing

@testable import MerchantServer

/// The same key and the same body: the same answer, byte for byte, and one effect.
@Suite struct IdempotencyTests {
    @Test func `a repeated key answers byte for byte, however the body is spelled`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let first = try await client.requestPayment(enrollment)
            #expect(first.status == 201)
            #expect(first.response.headers["idempotent-replayed"] == nil)
            // The payment goes on meanwhile; the answer stays what it was.
            let payment = AppClient.OpenedPayment(
                id: try first.string("id"), belvoID: try first.string("belvo_id"), answer: first)
            try await client.authorize(payment)
            let spellings = [
                client.paymentBody(enrollment), client.paymentBody(enrollment, amount: "19.9"),
                client.paymentBody(enrollment, amount: #""19.9""#), client.paymentBody(enrollment, amount: "19.90"),
                """
                { "description":"Two \\u0063offees",
                  "amount" : 19.90, "reference": "order-1", "enrollment": "\(enrollment.id)" }
                """,
                // What is left out is what it defaults to.
                #"{"enrollment": "\#(enrollment.id)", "reference": "order-1", "amount": "19.90", "#
                    + #""description": "Two coffees", "statement_description": "Two coffees", "metadata": null}"#,
            ]
            for body in spellings {
                let again = try await client.app.send(
                    .post, "/v1/payment-intents", body, headers: ["idempotency-key": "tap-1"])
                #expect(again.status == 201, "\(body)")
                #expect(again.response.body == first.response.body, "\(body)")
                #expect(again.response.headers["idempotent-replayed"] == "true")
                #expect(again.response.headers["content-type"] == first.response.headers["content-type"])
            }
            #expect(harness.countCalls(.createPaymentIntent) == 1)
        }
    }

    @Test func `a refusal of Belvo's is replayed as well`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            harness.sandbox.next(.refused(400, code: "invalid"), on: .createPaymentIntent)
            let first = try await client.requestPayment(enrollment)
            #expect(first.status == 422)
            #expect(try first.string("code") == "refused_by_belvo")
            let again = try await client.requestPayment(enrollment)
            #expect(again.status == 422)
            #expect(again.response.body == first.response.body)
            #expect(again.response.headers["idempotent-replayed"] == "true")
            #expect(again.response.headers["content-type"] == "application/problem+json")
            #expect(harness.countCalls(.createPaymentIntent) == 1)
            // The payment has failed, so another request may try again.
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 201)
        }
    }

    @Test func `another body under a used key is refused`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            let other = try await client.app.send(
                .post, "/v1/payment-intents", client.paymentBody(enrollment, amount: "19.91"),
                headers: ["idempotency-key": "tap-1"])
            #expect(other.status == 422)
            #expect(try other.string("code") == "idempotency_key_reused")
            #expect(harness.countCalls(.createPaymentIntent) == 1)
            #expect(try await client.payment(payment).string("amount") == "19.90")
        }
    }

    @Test func `a payment without a sane key is refused before anything else`() async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            let missing = try await app.send(.post, "/v1/payment-intents", "{}")
            #expect(missing.status == 400)
            #expect(try missing.string("code") == "idempotency_key_required")
            for key in ["", "with space", "tab\tbed", "ünïcode", String(repeating: "k", count: 256)] {
                let answer = try await app.send(.post, "/v1/payment-intents", "{}", headers: ["idempotency-key": key])
                #expect(answer.status == 400, "\(key)")
                #expect(try answer.string("code") == "idempotency_key_malformed", "\(key)")
            }
            let twice = try await app.send(
                .post, "/v1/payment-intents", "{}", headers: ["idempotency-key": "a", "idempotency-key": "a"])
            #expect(try twice.string("code") == "idempotency_key_malformed")
        }
    }

    @Test func `a request with faults does not use up its key`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            for body in ["{}", "not json", client.paymentBody(enrollment, amount: "0")] {
                let answer = try await client.app.send(
                    .post, "/v1/payment-intents", body, headers: ["idempotency-key": "tap-1"])
                #expect(answer.status == 400, "\(body)")
            }
            #expect(try await client.requestPayment(enrollment).status == 201)
        }
    }

    @Test func `twenty requests at once with one key are one payment`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let (app, body) = (client.app, client.paymentBody(enrollment))
            let answers = try await withThrowingTaskGroup(returning: [Answer].self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        try await app.send(.post, "/v1/payment-intents", body, headers: ["idempotency-key": "tap-1"])
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let made = answers.filter { $0.status == 201 }
            #expect(!made.isEmpty)
            #expect(Set(made.map(\.text)).count == 1)
            // Who came while the first was being worked on is told so.
            for answer in answers where answer.status != 201 {
                #expect(answer.status == 409)
                #expect(try answer.string("code") == "in_progress")
                #expect(answer.response.headers["retry-after"] == "1")
            }
            #expect(harness.countCalls(.createPaymentIntent) == 1)
            let id = try #require(try made.first?.string("id"))
            #expect(harness.sandbox.countIntents(externalID: id).created == 1)
        }
    }

    @Test func `a key that an app was told a payment under stays that payment's, though its first request is refused`()
        async throws
    {
        let gate = Gate()
        try await TestHarness.open(sandbox: .test(pausingAt: gate)) { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            harness.sandbox.next(.delayRequest(.seconds(1)), on: .createPaymentIntent)
            let (app, body) = (client.app, client.paymentBody(enrollment))
            func ask() async throws -> Answer {
                try await app.send(.post, "/v1/payment-intents", body, headers: ["idempotency-key": "tap-1"])
            }
            async let first = app.send(.post, "/v1/payment-intents", body, headers: ["idempotency-key": "tap-1"])
            try await harness.awaitCondition { harness.countCalls(.createPaymentIntent) == 1 }
            try harness.sandbox.revoke(enrollment: enrollment.belvoID)
            try await harness.advance(by: harness.settings.timeouts.askingDeadline + .seconds(2))
            let told = try await ask()
            #expect(told.status == 202, "\(told.text)")
            gate.open()
            #expect(try await first.status >= 400)
            let repeated = try await ask()
            #expect(try repeated.string("id") == told.string("id"))
            #expect(try await harness.lines("SELECT id::text AS line FROM payments") == [told.string("id")])
        }
    }

    @Test func `a key belongs to its user, and lives for 72 hours, or as long after a doubt that lasted`() async throws
    {
        try await TestHarness.open { harness in
            var ana = try await AppClient.arrive(on: harness)
            var bia = try await AppClient.arrive(on: harness, as: "bia", taxID: "111.444.777-35")
            let (hers, others) = (try await ana.enroll(), try await bia.enroll())
            let first = try await ana.requestPayment(hers, reference: nil)
            #expect(try await bia.requestPayment(others, reference: nil).string("id") != first.string("id"))
            try await harness.advance(by: .seconds(72 * 3_600 - 60))
            #expect(try await ana.requestPayment(hers, reference: nil).string("id") == first.string("id"))
            try await harness.advance(by: .seconds(60))
            // While what it stands for is open, a key is kept, and for its time afterwards.
            #expect(try await ana.requestPayment(hers, reference: nil).string("id") == first.string("id"))
            try await harness.pass(.seconds(1))
            #expect(try await ana.payment(first.string("id")).string("failure_code") == "timed_out")
            #expect(try await ana.requestPayment(hers, reference: nil).string("id") == first.string("id"))
            try await harness.advance(by: .seconds(72 * 3_600))
            #expect(try await ana.requestPayment(hers, reference: nil).string("id") != first.string("id"))
        }
    }
}
