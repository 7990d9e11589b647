import BelvoSandbox
import HTTP
import Postgres
import TestSupport
import Testing
import Transport

/// A reference whose last attempt was signed and has failed: Belvo is asked once more before another one is opened
/// (reliability.md, promise 1).
@Suite struct AnotherAttemptTests {
    private static let failed = shown("FAILED")

    private static func shown(_ status: String) -> Fault {
        .altered([Fault.Alteration("/status", "\"\(status)\""), Fault.Alteration("/charges", "[]")])
    }

    @Test func `what Belvo paid after it said FAILED is found before another attempt, though its webhook is lost`()
        async throws
    {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let (enrollment, payment) = try await Self.failedAttempt(&client)
            try harness.sandbox.settle(intent: payment.belvoID)
            let refused = try await client.requestPayment(enrollment, key: "tap-2")
            #expect(refused.status == 409)
            #expect(try refused.string("code") == "payment_in_doubt")
            #expect(try await harness.lines("SELECT kind AS line FROM ops.money_alarms") == ["contradiction"])
        }
    }

    @Test func `another attempt is opened while Belvo goes on to say that the last one failed`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let (enrollment, _) = try await Self.failedAttempt(&client)
            let before = harness.countCalls(.getPaymentIntent)
            harness.sandbox.next(Self.failed, on: .getPaymentIntent, count: nil)
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 201)
            #expect(harness.countCalls(.getPaymentIntent) == before + 1)
            #expect(try await harness.lines("SELECT kind AS line FROM ops.money_alarms").isEmpty)
        }
    }

    @Test(arguments: [
        shown("PROCESSING"), shown("PENDING"), shown("ODD"), .refused(404, code: "not_found"), .statusAfter(500),
        .refused(401, code: "denied"), .tooManyRequests(retryAfter: 1), .dropAnswer, .garbageBody,
    ])
    func `no other attempt is opened for an hour while Belvo does not say FAILED again`(
        fault: Fault
    ) async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let (enrollment, _) = try await Self.failedAttempt(&client)
            harness.sandbox.next(fault, on: .getPaymentIntent, count: nil)
            let refused = try await client.requestPayment(enrollment, key: "tap-2")
            #expect(refused.status == 503)
            #expect(try refused.string("code") == "busy")
            harness.sandbox.clearFaults()
            try await harness.advance(by: .seconds(3_601))
            harness.sandbox.next(fault, on: .getPaymentIntent, count: nil)
            let late = try await client.requestPayment(enrollment, key: "tap-3")
            if case .altered = fault {
                // By then it is no copy that lags: Belvo has taken it back.
                #expect(late.status == 409)
                #expect(try late.string("code") == "payment_in_doubt")
                #expect(try await harness.lines("SELECT kind AS line FROM ops.money_alarms") == ["contradiction"])
            } else {
                #expect(late.status == 201)
            }
        }
    }

    @Test func `a charge that has collected beside FAILED keeps the reference, though its webhook is lost`()
        async throws
    {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let (enrollment, payment) = try await Self.failedAttempt(&client)
            try harness.sandbox.settle(intent: payment.belvoID)
            harness.sandbox.next(
                .altered([Fault.Alteration("/status", "\"FAILED\"")]), on: .getPaymentIntent, count: nil)
            let refused = try await client.requestPayment(enrollment, key: "tap-2")
            #expect(refused.status == 409)
            #expect(try refused.string("code") == "payment_in_doubt")
            #expect(try await harness.lines("SELECT kind AS line FROM ops.money_alarms") == ["contradiction"])
        }
    }

    @Test
    func `an attempt that was polled as another was asked for, and cannot be read, is read before that is opened`()
        async throws
    {
        let gate = Gate()
        try await TestHarness.open(sandbox: .test(pausingAt: gate)) { harness in
            var client = try await AppClient.arrive(on: harness)
            let (enrollment, _) = try await Self.failedAttempt(&client)
            try await harness.advance(by: .seconds(600))
            harness.sandbox.next(.statusAfter(500), on: .getPaymentIntent, count: nil)
            harness.sandbox.next(.delayAnswer(.seconds(1)), on: .getEnrollment)
            // An operator has it polled, while the app asks for another one.
            try await harness.database.execute("UPDATE payments SET next_poll_at = app_now() + interval '1 hour'")
            var arrivals = harness.sandbox.arrivals().makeAsyncIterator()
            let request = harness.loop.task { [client] in try await client.requestPayment(enrollment, key: "tap-2") }
            while let call = await arrivals.next(), call.endpoint != .getEnrollment {}
            try await harness.database.execute("UPDATE payments SET next_poll_at = NULL")
            gate.open()
            let refused = try await request.value
            #expect(refused.status == 503)
            #expect(try refused.string("code") == "busy")
            harness.sandbox.clearFaults()
            harness.sandbox.next(Self.failed, on: .getPaymentIntent, count: nil)
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 201)
        }
    }

    @Test func `an attempt that a token may have signed is read again as well`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            #expect(try await client.app.send(.post, "/v1/widget-token").status == 201)
            harness.sandbox.next(Self.failed, on: .getPaymentIntent)
            try await harness.hear(of: payment.belvoID)
            #expect(try await client.payment(payment).string("status") == "FAILED")
            harness.sandbox.next(.statusAfter(500), on: .getPaymentIntent, count: nil)
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 503)
            harness.sandbox.clearFaults()
            harness.sandbox.next(Self.failed, on: .getPaymentIntent, count: nil)
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 201)
        }
    }

    @Test func `of several the one that failed last is read, though clocks of servers made ids in another order`()
        async throws
    {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let (enrollment, first) = try await Self.failedAttempt(&client)
            harness.sandbox.next(Self.failed, on: .getPaymentIntent, count: nil)
            let second = try await client.openPayment(enrollment, key: "tap-2")
            try await client.authorize(second)
            try await harness.poll()
            try await harness.database.execute(
                "UPDATE payments SET closed_at_belvo = app_now() WHERE id::text = \(first.id)")
            #expect(try await client.requestPayment(enrollment, key: "tap-3").status == 201)
            let read = harness.sandbox.calls.last { $0.endpoint == .getPaymentIntent }
            #expect(read?.path.contains(first.belvoID) == true)
        }
    }

    /// An attempt that was signed and that one reading has shown as FAILED.
    private static func failedAttempt(
        _ client: inout AppClient
    ) async throws -> (enrollment: AppClient.Enrollment, payment: AppClient.OpenedPayment) {
        let enrollment = try await client.enroll()
        let payment = try await client.openPayment(enrollment)
        try await client.authorize(payment)
        client.harness.sandbox.next(failed, on: .getPaymentIntent)
        try await client.harness.poll()
        #expect(try await client.payment(payment).string("status") == "FAILED")
        return (enrollment, payment)
    }
}
