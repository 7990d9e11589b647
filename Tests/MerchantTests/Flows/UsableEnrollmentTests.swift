import BelvoSandbox
import Postgres
import Testing

@testable import MerchantServer

/// An enrollment that Belvo has just shown to be usable is not read again before each payment; one that was taken back
/// is noticed all the same, and the app hears the same words.
@Suite struct UsableEnrollmentTests {
    private static func open(
        _ body: @escaping @Sendable (TestHarness, AppClient, AppClient.Enrollment) async throws -> Void
    ) async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            try await body(harness, client, enrollment)
        }
    }

    @Test func `an enrollment is read again before a payment only after minutes`() async throws {
        try await Self.open { harness, client, enrollment in
            let before = harness.countCalls(.getEnrollment)
            for number in 1...3 {
                let payment = try await client.requestPayment(
                    enrollment, reference: "order-\(number)", key: "\(number)")
                #expect(payment.status == 201)
            }
            #expect(harness.countCalls(.getEnrollment) == before)
            try await harness.advance(by: .seconds(301))
            for number in 4...6 {
                let payment = try await client.requestPayment(
                    enrollment, reference: "order-\(number)", key: "\(number)")
                #expect(payment.status == 201)
            }
            #expect(harness.countCalls(.getEnrollment) == before + 1)
        }
    }

    @Test func `an enrollment that a webhook has told of is read again before the payment`() async throws {
        for isWorkedOn in [false, true] {
            try await Self.open { harness, client, enrollment in
                try await harness.tell("ENROLLMENTS", of: enrollment.belvoID)
                if isWorkedOn { try await harness.work() }
                let before = harness.countCalls(.getEnrollment)
                #expect(try await client.requestPayment(enrollment).status == 201)
                #expect(harness.countCalls(.getEnrollment) == before + 1)
                let expected = isWorkedOn ? before + 1 : before + 2
                #expect(try await client.requestPayment(enrollment, reference: "order-2", key: "tap-2").status == 201)
                #expect(harness.countCalls(.getEnrollment) == expected)
            }
        }
    }

    @Test func `an enrollment is read again before the payment that follows on a failed creation`() async throws {
        try await Self.open { harness, client, enrollment in
            harness.sandbox.next(.dropAnswer, on: .createPaymentIntent)
            let first = try await client.requestPayment(enrollment)
            let before = harness.countCalls(.getEnrollment)
            let second = try await client.requestPayment(enrollment, reference: "order-2", key: "tap-2")
            #expect(first.status == 201 && second.status == 201)
            #expect(harness.countCalls(.getEnrollment) == before + 1)
        }
    }

    @Test func `an enrollment is not read again after a creation that our own gate kept back`() async throws {
        try await Self.open { harness, client, enrollment in
            // Belvo silences the user's creations by its answer to one from another enrollment.
            var client = client
            let other = try await client.enroll()
            harness.sandbox.next(.tooManyRequests(retryAfter: 5), on: .createPaymentIntent)
            let throttled = try await client.requestPayment(other, reference: "order-2", key: "tap-2")
            let sent = harness.countCalls(.createPaymentIntent)
            let kept = try await client.requestPayment(enrollment)
            #expect(throttled.status == 503 && kept.status == 503)
            #expect(harness.countCalls(.createPaymentIntent) == sent)
            try await harness.advance(by: .seconds(30))
            let before = harness.countCalls(.getEnrollment)
            #expect(try await client.requestPayment(enrollment).status == 201)
            #expect(harness.countCalls(.getEnrollment) == before)
        }
    }

    @Test func `an enrollment is not read again after a creation that Belvo did not let in`() async throws {
        try await Self.open { harness, client, enrollment in
            harness.sandbox.next(.tooManyRequests(retryAfter: 1), on: .createPaymentIntent)
            #expect(try await client.requestPayment(enrollment).status == 503)
            try await harness.advance(by: .seconds(5))
            let before = harness.countCalls(.getEnrollment)
            #expect(try await client.requestPayment(enrollment).status == 201)
            #expect(harness.countCalls(.getEnrollment) == before)
        }
    }

    @Test func `an enrollment that was taken back a moment ago is refused by Belvo, and the app hears the reason`()
        async throws
    {
        try await Self.open { harness, client, enrollment in
            try harness.sandbox.revoke(enrollment: enrollment.belvoID)
            for _ in 1...2 {
                let payment = try await client.requestPayment(enrollment)
                #expect(payment.status == 409)
                #expect(try payment.string("code") == "enrollment_not_usable")
            }
            #expect(harness.countCalls(.createPaymentIntent) == 1)
            #expect(try await client.enrollment(enrollment).string("next_action", "reason") == "enroll_again")
            // The reference is free for the next enrollment.
            var client = client
            let next = try await client.enroll()
            #expect(try await client.requestPayment(next, key: "tap-2").status == 201)
        }
    }

    @Test func `what is refused the second time, since the bank has revoked the enrollment, is refused at once`()
        async throws
    {
        try await Self.open { harness, client, enrollment in
            try harness.sandbox.revoke(enrollment: enrollment.belvoID)
            harness.sandbox.next(.dropRequest, on: .createPaymentIntent)
            let refused = try await client.requestPayment(enrollment)
            #expect(refused.status == 409)
            #expect(try refused.string("code") == "enrollment_not_usable")
            #expect(harness.countCalls(.createPaymentIntent) == 2)
            #expect(try await harness.lines("SELECT status AS line FROM payments") == ["FAILED"])
            // The reference is free for the next enrollment, and the key for another try.
            var client = client
            let next = try await client.enroll()
            #expect(try await client.requestPayment(next).status == 201)
        }
    }

    @Test func `a refusal that is not about the enrollment says what Belvo says`() async throws {
        try await Self.open { harness, client, enrollment in
            harness.sandbox.next(.refused(400, code: "invalid"), on: .createPaymentIntent)
            let payment = try await client.requestPayment(enrollment)
            #expect(payment.status == 422)
            #expect(try payment.string("code") == "refused_by_belvo")
            #expect(try await client.requestPayment(enrollment).text == payment.text)
        }
    }

    @Test func `a refusal whose reason cannot be read says what Belvo says`() async throws {
        try await Self.open { harness, client, enrollment in
            try harness.sandbox.revoke(enrollment: enrollment.belvoID)
            harness.sandbox.next(.dropAnswer, on: .getEnrollment)
            #expect(try await client.requestPayment(enrollment).string("code") == "refused_by_belvo")
            // It may not be the whole truth, so the key does not keep it.
            #expect(try await client.requestPayment(enrollment).string("code") == "enrollment_not_usable")
        }
    }
}
