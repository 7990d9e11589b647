import Belvo
import BelvoSandbox
import HTTP
import Postgres
import TestSupport
import Testing
import Transport

@testable import BelvoGate
@testable import MerchantServer
@testable import MerchantWorkflows

/// One user has so many enrollments and payments under way, and other users do not notice.
@Suite(.timeLimit(.minutes(2))) struct UserBoundsTests {
    @Test func `past the open enrollments a user has to end one first`() async throws {
        try await TestHarness.open(environment: ["USER_OPEN_ENROLLMENTS_MAX": "2"]) { harness in
            let ana = try await AppClient.arrive(on: harness)
            let bia = try await AppClient.arrive(on: harness, as: "bia", taxID: "111.444.777-35")
            let first = try await ana.startEnrollment()
            _ = try await ana.startEnrollment()
            let answer = try await ana.app.send(.post, "/v1/enrollments", ana.enrollmentBody)
            #expect(answer.status == 429)
            #expect(try answer.string("code") == "too_many_open_enrollments")
            #expect(answer.response.headers["retry-after"] == "60")
            _ = try await bia.startEnrollment()
            try await ana.complete(ana.decide(first, .refuse))
            _ = try await ana.startEnrollment()
            #expect(harness.countCalls(.createEnrollment) == 4)
        }
    }

    @Test func `while there are more polls than calls, users of whom two are polled begin none`() async throws {
        // Polls of four users may wait for a turn.
        try await TestHarness.open(environment: ["BELVO_RATE": "12", "BELVO_CALLS_MAX": "2"]) { harness in
            let ana = try await AppClient.arrive(on: harness)
            for _ in 1...2 { try await ana.complete(ana.decide(ana.startEnrollment())) }
            let (wire, gate) = (Wire(), harness.merchant.dependencies.gate)
            defer { wire.answerAll() }
            let carry = gate.carry(for: .background, by: wire.send)
            let calls = try (1...5).map { number in
                let origin = try user("worker-\(number)")
                return harness.loop.task {
                    _ = try await CallOrigin.$current.withValue(origin) {
                        try await carry(.readEnrollment, request("/read"), .seconds(60))
                    }
                }
            }
            await harness.loop.comeToRest()
            #expect(!gate.hasTurns(for: .readEnrollment) && gate.hasTurns(for: .readPaymentIntent))
            let answer = try await ana.app.send(.post, "/v1/enrollments", ana.enrollmentBody)
            #expect(answer.status == 429)
            #expect(try answer.string("code") == "too_many_open_enrollments")
            #expect(answer.response.headers["retry-after"] == "5")
            // Nothing is polled of what was left at the bank.
            let bia = try await AppClient.arrive(on: harness, as: "bia", taxID: "111.444.777-35")
            for _ in 1...3 { _ = try await bia.startEnrollment() }
            wire.answerAll()
            for call in calls { try await call.value }
            #expect(gate.hasTurns(for: .readEnrollment))
            harness.clock.advance(by: .seconds(6))
            _ = try await ana.startEnrollment()
        }
    }

    @Test func `past a day's enrollments the next one waits until the first is a day old, a repetition does not`()
        async throws
    {
        try await TestHarness.open(environment: ["USER_ENROLLMENTS_PER_DAY_MAX": "2"]) { harness in
            let ana = try await AppClient.arrive(on: harness)
            func start(_ key: String) async throws -> Answer {
                try await ana.app.send(
                    .post, "/v1/enrollments", ana.enrollmentBody, headers: ["idempotency-key": "\(key)"])
            }
            #expect(try await start("one").status == 201)
            try await harness.advance(by: .seconds(3_600))
            #expect(try await start("two").status == 201)
            let answer = try await start("three")
            #expect(answer.status == 429)
            #expect(try answer.string("code") == "too_many_enrollments")
            let wait = try #require(answer.response.headers["retry-after"].flatMap { Int($0) })
            #expect((82_790...82_801).contains(wait))
            #expect(try await start("two").status == 201)
            try await harness.advance(by: .seconds(wait))
            #expect(try await start("three").status == 201)
        }
    }

    @Test func `past a day's refusals of a user's data Belvo is not asked again until the first is a day old`()
        async throws
    {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            func put() async throws -> Answer { try await app.send(.put, "/v1/customer", AppClient.customerBody()) }
            // That Belvo is not reached, or does not let anything in, is not the user's doing.
            for fault in [Fault.refused(429, code: "slow_down"), .refused(403, code: "denied")] {
                harness.sandbox.next(fault, on: .createCustomer, count: nil)
                for _ in 1...12 {
                    #expect(try await put().status >= 500)
                    try await harness.advance(by: .seconds(70))
                }
            }
            harness.sandbox.clearFaults()
            // Longer than any silence or lock-out, whose ends are drawn at random.
            try await harness.advance(by: .seconds(3_600))
            let before = harness.countCalls(.createCustomer)
            harness.sandbox.next(.refused(400, code: "invalid"), on: .createCustomer, count: nil)
            for _ in 1...20 { #expect(try await put().status == 422) }
            let answer = try await put()
            #expect(answer.status == 429)
            #expect(try answer.string("code") == "rate_limited")
            let wait = try #require(answer.response.headers["retry-after"].flatMap { Int($0) })
            #expect((86_200...86_400).contains(wait))
            #expect(harness.countCalls(.createCustomer) == before + 20)
            try await harness.advance(by: .seconds(wait))
            harness.sandbox.clearFaults()
            #expect(try await put().status == 201)
        }
    }

    @Test func `past the open payments a user has to end one first, a repetition is answered`() async throws {
        try await TestHarness.open(environment: ["USER_OPEN_PAYMENTS_MAX": "2"]) { harness in
            var ana = try await AppClient.arrive(on: harness)
            let enrollment = try await ana.enroll()
            let payment = try await ana.openPayment(enrollment, reference: "order-1", key: "tap-1")
            _ = try await ana.openPayment(enrollment, reference: "order-2", key: "tap-2")
            let answer = try await ana.requestPayment(enrollment, reference: "order-3", key: "tap-3")
            #expect(answer.status == 429)
            #expect(try answer.string("code") == "too_many_open_payments")
            let again = try await ana.requestPayment(enrollment, reference: "order-2", key: "tap-2")
            #expect(again.status == 201 && again.response.headers["idempotent-replayed"] == "true")
            #expect(try await ana.cancel(payment).status == 200)
            #expect(try await ana.requestPayment(enrollment, reference: "order-3", key: "tap-3").status == 201)
        }
    }

    @Test func `past a day's payments, cancelled ones too, the next one waits, a repetition does not`() async throws {
        try await TestHarness.open(environment: ["USER_PAYMENTS_PER_DAY_MAX": "2"]) { harness in
            var ana = try await AppClient.arrive(on: harness)
            let enrollment = try await ana.enroll()
            let payment = try await ana.openPayment(enrollment, reference: "order-1", key: "tap-1")
            #expect(try await ana.cancel(payment).status == 200)
            try await harness.advance(by: .seconds(3_600))
            // What Belvo did not let in is no payment.
            harness.sandbox.next(.refused(429, code: "slow_down"), on: .createPaymentIntent)
            #expect(try await ana.requestPayment(enrollment, reference: "order-4", key: "tap-4").status == 503)
            try await harness.advance(by: .seconds(10))
            _ = try await ana.openPayment(enrollment, reference: "order-2", key: "tap-2")
            let answer = try await ana.requestPayment(enrollment, reference: "order-3", key: "tap-3")
            #expect(answer.status == 429)
            #expect(try answer.string("code") == "too_many_payments")
            let wait = try #require(answer.response.headers["retry-after"].flatMap { Int($0) })
            #expect((82_690...82_791).contains(wait))
            #expect(try await ana.requestPayment(enrollment, reference: "order-2", key: "tap-2").status == 201)
            try await harness.advance(by: .seconds(wait))
            #expect(try await ana.requestPayment(enrollment, reference: "order-3", key: "tap-3").status == 201)
        }
    }

    @Test func `a user whose payments do not get to Belvo leaves no more rows than a few dozen at once`() async throws {
        try await TestHarness.open(environment: ["USER_RATE": "0"]) { harness in
            var ana = try await AppClient.arrive(on: harness)
            let enrollment = try await ana.enroll()
            harness.sandbox.next(.refused(403, code: "forbidden"), on: .createPaymentIntent, count: 60)
            for number in 1...60 {
                let answer = try await ana.requestPayment(enrollment, reference: "order-2", key: "tap-\(number)")
                #expect(answer.status >= 500)
            }
            let refused = try await ana.requestPayment(enrollment, reference: "order-2", key: "tap-61")
            #expect(refused.status == 429)
            #expect(try refused.string("code") == "rate_limited")
            let wait = try #require(refused.response.headers["retry-after"].flatMap { Int($0) })
            #expect((1...20).contains(wait))
            #expect(try await harness.lines("SELECT id::text AS line FROM payments").count == 60)
            // Another user is none the wiser.
            var bia = try await AppClient.arrive(on: harness, as: "bia", taxID: "111.444.777-35")
            let theirs = try await bia.enroll()
            #expect(try await bia.requestPayment(theirs, reference: "order-3", key: "tap-1").status == 201)
        }
    }

    @Test func `past a day's payments that Belvo has refused the next one waits`() async throws {
        try await TestHarness.open(environment: ["USER_PAYMENTS_PER_DAY_MAX": "2"]) { harness in
            var ana = try await AppClient.arrive(on: harness)
            let enrollment = try await ana.enroll()
            harness.sandbox.next(.refused(422, code: "amount_over_limit"), on: .createPaymentIntent, count: nil)
            for number in 1...2 {
                #expect(
                    try await ana.requestPayment(enrollment, reference: "order-2", key: "tap-\(number)").status == 422)
            }
            let answer = try await ana.requestPayment(enrollment, reference: "order-2", key: "tap-3")
            #expect(answer.status == 429)
            #expect(try answer.string("code") == "too_many_payments")
        }
    }
}
