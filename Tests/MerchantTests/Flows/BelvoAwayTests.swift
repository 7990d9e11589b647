import BelvoSandbox
import HTTP
import MerchantModel
import Postgres
import Testing
import Transport

@testable import BelvoGate
@testable import MerchantServer

/// All requests while Belvo as a whole is away, or denies the server's credentials.
@Suite struct BelvoAwayTests {
    /// Asks for something that Belvo is needed for and that changes nothing, as often as it takes to notice that it is
    /// away.
    private func knock(_ client: AppClient, times: Int = CircuitBreaker.callsMin) async throws -> [Answer] {
        // Of many users: what one person's calls meet alone is no judgement about Belvo.
        var answers: [Answer] = []
        for number in 0..<times {
            answers.append(try await client.harness.app(of: "user-\(number)").send(.post, "/v1/widget-token"))
        }
        return answers
    }

    private func count(_ event: String, _ harness: TestHarness) -> Int {
        harness.log.all.filter { $0.hasPrefix("\(event) ") }.count
    }

    @Test(arguments: [Fault.dropRequest, .refused(503, code: "unavailable"), .garbage, .garbageBody])
    func `the circuit opens, apps are told when to come again, and all goes on when Belvo is back`(
        fault: Fault
    ) async throws {
        // The circuit's pause ends when the test says so, not on a machine that is slow meanwhile.
        let start = Monotonic.now()
        let clock = IntervalClock(now: { start }, sleep: IntervalClock.machine.sleep)
        try await TestHarness.open(clock: clock) { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            harness.sandbox.next(fault, on: nil, count: nil)
            _ = try await knock(client)
            #expect(count("belvo.circuit_opened", harness) == 1)
            #expect(harness.merchant.belvoSnapshot.circuit == .open)

            let calls = harness.sandbox.calls.count
            let refused = try await client.requestPayment(enrollment, reference: "order-2", key: "tap-2")
            #expect(refused.status == 503)
            #expect(try refused.string("code") == "belvo_unavailable")
            let wait = try #require(refused.response.headers["retry-after"].flatMap { Int($0) })
            #expect((1...7).contains(wait))
            // The circuit is open for hardly longer than a poll rests: the time does not go on here.
            try await harness.database.execute("UPDATE payments SET next_poll_at = app_now() WHERE state <> 'failed'")
            try await harness.work()
            #expect(harness.sandbox.calls.count == calls)
            #expect(try await client.payment(payment).string("status") == "PENDING")

            harness.sandbox.clearFaults()
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.pass(.seconds(9))
            #expect(count("belvo.circuit_closed", harness) == 1)
            try await harness.poll()
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
            // The key was not used up by what never left.
            #expect(try await client.requestPayment(enrollment, reference: "order-2", key: "tap-2").status == 201)
        }
    }

    @Test func `what Belvo cannot say of one user's records, or of what webhooks name, opens no circuit`() async throws
    {
        try await TestHarness.open { harness in
            let ana = try await AppClient.arrive(on: harness)
            for endpoint in [Endpoint.getFIDORegistrationOptions, .getPaymentIntent] {
                harness.sandbox.next(.refused(500, code: "unexpected_error"), on: endpoint, count: nil)
            }
            for _ in 0..<12 { try await ana.complete(ana.decide(ana.startEnrollment())) }
            let calls = harness.countCalls(.getFIDORegistrationOptions)
            try await harness.poll(times: 3)
            #expect(harness.countCalls(.getFIDORegistrationOptions) - calls >= 24)
            for number in 10..<30 {
                try await harness.tell("PAYMENT_INTENTS", of: "6b1d9e4e-0000-4000-8000-0000000000\(number)")
            }
            try await harness.work()
            #expect(harness.countCalls(.getPaymentIntent) == 20)
            #expect(harness.merchant.belvoSnapshot.circuit == .closed)
            #expect(count("belvo.circuit_opened", harness) == 0)
        }
    }

    @Test func `a signature that comes as Belvo may be back is not what finds out`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            harness.sandbox.next(.dropRequest, on: nil, count: nil)
            _ = try await knock(client)
            harness.clock.advance(by: .seconds(2.6))
            let signed = try await client.authorize(payment)
            #expect(signed.status == 503)
            #expect(harness.countCalls(.authorizePaymentIntent) == 0)
            #expect(try await client.payment(payment).string("next_action", "type") == "sign")
            // A user's read finds out, and the same signature is taken.
            harness.sandbox.clearFaults()
            #expect(try await knock(client, times: 1).map(\.status) == [201])
            #expect(try await client.authorize(payment).status == 204)
        }
    }

    @Test func `a minute of 401 is one alarm and no storm, and nothing is lost by it`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            let calls = harness.sandbox.calls.count
            harness.sandbox.next(.refused(401, code: "authentication_failed"), on: nil, count: nil)
            try await harness.poll(times: 30)
            // Three to be sure, and one every five seconds.
            #expect(harness.sandbox.calls.count - calls <= 15)
            #expect(count("belvo.denied", harness) == 1)
            let told = try await knock(client)
            // Belvo is not quoted for what it was not asked: what is kept here says so itself.
            #expect(try told[9].string("code") == "belvo_unavailable")
            #expect(told[9].response.headers["retry-after"] != nil)
            #expect(harness.sandbox.calls.count - calls <= 18)
            #expect(count("belvo.denied", harness) == 1)
            #expect(harness.merchant.belvoSnapshot.isLockedOut)
            #expect(try await client.payment(payment).string("status") == "PENDING")

            harness.sandbox.clearFaults()
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.pass(.seconds(7))
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
            #expect(count("belvo.admitted", harness) == 1)
            #expect(!harness.merchant.belvoSnapshot.isLockedOut)
        }
    }

    @Test func `the firewall's dislike of one person's words stops nobody else`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            harness.sandbox.next(.forbiddenPage, on: .createEnrollment, count: 5)
            for _ in 0..<5 {
                let answer = try await client.app.send(.post, "/v1/enrollments", client.enrollmentBody)
                #expect(answer.status == 502)
            }
            #expect(count("belvo.content_forbidden", harness) == 1)
            #expect(count("belvo.denied", harness) == 0)
            _ = try await client.startEnrollment()
        }
    }

    @Test func `a 429 to a worker silences workers, and one to what is the same for all that call`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            harness.sandbox.next(.tooManyRequests(retryAfter: 30), on: .getPaymentIntent)
            try await harness.poll()
            #expect(count("belvo.throttled", harness) == 1)
            #expect(
                try await client.requestPayment(enrollment, reference: "order-2", key: "tap-2").status == 201,
                "a person's call leaves")
            harness.sandbox.next(.tooManyRequests(retryAfter: 30), on: .createWidgetToken)
            _ = try await client.app.send(.post, "/v1/widget-token")
            let refused = try await client.app.send(.post, "/v1/widget-token")
            #expect(refused.status == 503)
            let wait = try #require(refused.response.headers["retry-after"].flatMap { Int($0) })
            #expect((25...39).contains(wait))
            #expect(harness.countCalls(.createWidgetToken) == 1)
            #expect(
                try await client.requestPayment(enrollment, reference: "order-3", key: "tap-3").status == 201,
                "another call leaves")
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.pass(.seconds(38))
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
            #expect(try await client.app.send(.post, "/v1/widget-token").status == 201)
        }
    }

    @Test func `a webhook whose object Belvo does not read for one user keeps no other user's unread`() async throws {
        try await TestHarness.open { harness in
            var (ana, bia) = (
                try await AppClient.arrive(on: harness),
                try await AppClient.arrive(on: harness, as: "bia", taxID: "111.444.777-35")
            )
            let (theirs, other) = (
                try await ana.openPayment(ana.enroll()), try await bia.openPayment(bia.enroll(), reference: "order-2")
            )
            try await ana.authorize(theirs)
            try await bia.authorize(other)
            harness.sandbox.next(.tooManyRequests(retryAfter: 60), on: .getPaymentIntent)
            try await harness.tell("PAYMENT_INTENTS", of: theirs.belvoID, data: #""status": "PROCESSING""#)
            try await harness.work()
            #expect(harness.countCalls(.getPaymentIntent) == 1)
            // The moment in which no worker calls is over, and only the one user's silence goes on.
            try harness.sandbox.settle(intent: other.belvoID)
            try await harness.tell("PAYMENT_INTENTS", of: other.belvoID, data: #""status": "SUCCEEDED""#)
            try await harness.pass(.seconds(3))
            #expect(try await bia.payment(other).string("status") == "SUCCEEDED")
            #expect(harness.countCalls(.getPaymentIntent) == 2)
        }
    }
}
