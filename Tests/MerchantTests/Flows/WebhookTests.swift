import Belvo
import BelvoSandbox
import FoundationEssentials
import HTTP
import Payments
import Postgres
import Testing
import Transport

@testable import BelvoGate
@testable import MerchantServer
@testable import MerchantWorkflows

/// Belvo's webhooks come late, twice or in the wrong order, and other clients may forge them: each is stored, answered,
/// and then looked up.
@Suite struct WebhookTests {
    private static let token = "webhook-token-of-the-tests"

    private static func telling(_ type: String, _ object: String, status: String = "SUCCEEDED") -> String {
        """
        {"webhook_id": "1f", "webhook_type": "\(type)", "webhook_code": "STATUS_UPDATE", "object_id": "\(object)",
        "data": {"status": "\(status)"}}
        """
    }

    private func belvo(_ harness: TestHarness) -> App { App(client: harness.client, token: Self.token) }

    private func tell(_ harness: TestHarness, _ type: String, _ object: String, status: String = "SUCCEEDED")
        async throws
    {
        let answer = try await belvo(harness).send(
            .post, "/webhooks/belvo", Self.telling(type, object, status: status))
        #expect(answer.status == 200)
        #expect(answer.text.isEmpty)
    }

    private func outcomes(_ harness: TestHarness) async throws -> [String] {
        try await harness.database.rows("SELECT outcome FROM webhook_receipts ORDER BY received_at").map {
            try $0.decode("outcome")
        }
    }

    @Test func `a payment that Belvo tells of is read again and recorded at once`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await tell(harness, "PAYMENT_INTENTS", payment.belvoID)
            try await harness.work()
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
            let id = try #require(Payment.ID(payment.id))
            let causes = try await harness.database.rows(
                "SELECT caused_by FROM state_history WHERE record_id = \(id) ORDER BY id DESC LIMIT 1")
            let cause: String = try #require(causes.first).decode("caused_by")
            #expect(cause == "webhook")
            #expect(try await outcomes(harness) == ["done"])
        }
    }

    @Test func `a charge and a transaction lead to their payment`() async throws {
        for type in ["CHARGES", "TRANSACTIONS"] {
            try await TestHarness.open { harness in
                var client = try await AppClient.arrive(on: harness)
                let payment = try await client.openPayment(client.enroll())
                try await client.authorize(payment)
                try harness.sandbox.settle(intent: payment.belvoID)
                let object = try #require(harness.sandbox.movement(type, of: payment.belvoID))
                try await tell(harness, type, object)
                try await harness.work()
                #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
            }
        }
    }

    @Test func `what is told is not believed`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            try await client.authorize(payment)
            for status in ["SUCCEEDED", "FAILED"] {
                try await tell(harness, "PAYMENT_INTENTS", payment.belvoID, status: status)
                try await harness.work()
            }
            #expect(try await client.payment(payment).string("status") == "PENDING")
        }
    }

    @Test func `an enrollment that the bank revokes is noticed, and the app is told to enroll again`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            try harness.sandbox.revoke(enrollment: enrollment.belvoID)
            try await tell(harness, "ENROLLMENTS", enrollment.belvoID, status: "FAILED")
            try await harness.work()
            let shown = try await client.enrollment(enrollment)
            #expect(try shown.string("status") == "FAILED")
            #expect(try shown.string("next_action", "type") == "retry")
            #expect(try shown.string("next_action", "reason") == "enroll_again")
            let refused = try await client.requestPayment(enrollment)
            #expect(refused.status == 409)
            #expect(try refused.string("code") == "enrollment_not_usable")
        }
    }

    @Test func `a hundred copies at once are one row, and few readings`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            let before = harness.countCalls(.getPaymentIntent)
            try await withThrowingTaskGroup { group in
                for _ in 0..<100 { group.addTask { try await tell(harness, "PAYMENT_INTENTS", payment.belvoID) } }
                try await group.waitForAll()
            }
            try await harness.work()
            let rows = try await harness.database.rows("SELECT received_count FROM webhook_receipts")
            #expect(rows.count == 1)
            let copies: Int32 = try #require(rows.first).decode("received_count")
            #expect(copies == 100)
            #expect(harness.countCalls(.getPaymentIntent) == before + 1)
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
        }
    }

    @Test func `the same told again later is looked up again`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            try await client.authorize(payment)
            try await tell(harness, "PAYMENT_INTENTS", payment.belvoID)
            try await harness.work()
            try harness.sandbox.settle(intent: payment.belvoID)
            try await tell(harness, "PAYMENT_INTENTS", payment.belvoID)
            try await harness.work()
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
        }
    }

    @Test func `while Belvo is away it is stored, and worked on when Belvo is back`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            try harness.sandbox.revoke(enrollment: enrollment.belvoID)
            harness.sandbox.next(.statusAfter(503), on: .getEnrollment)
            try await tell(harness, "ENROLLMENTS", enrollment.belvoID)
            try await harness.work()
            #expect(try await outcomes(harness) == ["received"])
            #expect(try await client.enrollment(enrollment).string("status") == "SUCCEEDED")
            try await harness.poll()
            #expect(try await outcomes(harness) == ["done"])
            #expect(try await client.enrollment(enrollment).string("status") == "FAILED")
        }
    }

    @Test(arguments: [Duration.seconds(60), .seconds(3_600)])
    func `a webhook that came while Belvo was away is read soon after, however long that was`(outage: Duration)
        async throws
    {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            try harness.sandbox.revoke(enrollment: enrollment.belvoID)
            harness.sandbox.next(.statusAfter(503), on: .getEnrollment, count: nil)
            try await tell(harness, "ENROLLMENTS", enrollment.belvoID)
            try await harness.pass(outage)
            let calls = harness.countCalls(.getEnrollment)
            #expect(calls < 110, "and Belvo is not asked all the time")
            harness.sandbox.clearFaults()
            try await harness.pass(outage < .seconds(600) ? .seconds(11) : .seconds(61))
            #expect(try await outcomes(harness) == ["done"])
        }
    }

    @Test func `what cannot be read is tried again after one, two and four seconds, however rarely records are polled`()
        async throws
    {
        try await TestHarness.open(environment: ["POLL_INTERVAL_MS": "60000"]) { harness in
            try await tell(harness, "PAYMENT_INTENTS", "1b3a1c7e-90d4-4f26-8a51-0d6c2e9b7f10")
            try await harness.work()
            for (seconds, calls) in [(1, 2), (2, 3), (4, 4)] {
                try await harness.pass(.milliseconds(seconds * 1_000 - 300))
                #expect(harness.countCalls(.getPaymentIntent) == calls - 1)
                try await harness.pass(.milliseconds(350))
                #expect(harness.countCalls(.getPaymentIntent) == calls)
            }
            // From then on as rarely as anything else.
            try await harness.pass(.seconds(59))
            #expect(harness.countCalls(.getPaymentIntent) == 4)
            try await harness.pass(.seconds(2))
            #expect(harness.countCalls(.getPaymentIntent) == 5)
        }
    }

    @Test func `objects of nobody here and types without a meaning are kept and left alone`() async throws {
        try await TestHarness.open { harness in
            try await tell(harness, "BANK_ACCOUNTS", "0b3a1c7e-90d4-4f26-8a51-0d6c2e9b7f10")
            try await tell(harness, "ENROLLMENTS", "no id")
            try await tell(harness, "PAYMENT_INTENTS", "1b3a1c7e-90d4-4f26-8a51-0d6c2e9b7f10")
            let odd = try await belvo(harness).send(.post, "/webhooks/belvo", "{}")
            #expect(odd.status == 200)
            try await harness.work()
            #expect(try await outcomes(harness) == ["ignored", "ignored", "received", "ignored"])
            try await harness.advance(by: .seconds(3_601))
            try await harness.work()
            #expect(try await outcomes(harness) == ["ignored", "ignored", "not_ours", "ignored"])
        }
    }

    @Test func `nobody but Belvo is let in, with or without the word Bearer`() async throws {
        try await TestHarness.open { harness in
            let body = Self.telling("PAYMENT_INTENTS", "1b3a1c7e-90d4-4f26-8a51-0d6c2e9b7f10")
            let json: KeyValuePairs<HeaderName, String> = ["content-type": "application/json"]
            let nobody = App(client: harness.client, token: nil)
            #expect(try await nobody.raw(.post, "/webhooks/belvo", body: body, headers: json).status == 401)
            for wrong in ["Bearer x", "x", "Basic \(Self.token)", ""] {
                let answer = try await nobody.raw(
                    .post, "/webhooks/belvo", body: body, headers: ["authorization": wrong])
                #expect(answer.status == 401, "\(wrong)")
            }
            let twice = try await nobody.raw(
                .post, "/webhooks/belvo", body: body,
                headers: ["authorization": Self.token, "authorization": Self.token])
            #expect(twice.status == 401)
            #expect(try await outcomes(harness).isEmpty)
            for right in ["Bearer \(Self.token)", "bearer \(Self.token)", Self.token] {
                let answer = try await nobody.raw(
                    .post, "/webhooks/belvo", body: body, headers: ["authorization": right])
                #expect(answer.status == 200, "\(right)")
            }
        }
    }

    @Test func `options with a text that is none are signed all the same`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let options = "/payment_method_information/open_finance_biometric_pix/fido_options"
            for call in [Endpoint.createPaymentIntent, .getPaymentIntent] {
                harness.sandbox.next(
                    .altered([Fault.Alteration(options + "/allowCredentials/*/type", #""half \ud83d \u0000""#)]),
                    on: call, count: nil)
            }
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            #expect(harness.countCalls(.authorizePaymentIntent) == 1)
            #expect(payment.answer.text.contains(#"\ud83d"#))
        }
    }

    @Test func `a webhook with a text that is none leads to its payment`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.tell(
                "PAYMENT_INTENTS", of: payment.belvoID, data: #""description": "\u0000 \ud83d""#)
            try await harness.work()
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
        }
    }

    @Test func `what is no JSON object is 400, and not stored`() async throws {
        try await TestHarness.open { harness in
            for body in ["", "{", "[]", #"{"a": 1}{"#, "nul"] {
                let answer = try await belvo(harness).send(.post, "/webhooks/belvo", body)
                #expect(answer.status == 400, "\(body)")
            }
            #expect(try await outcomes(harness).isEmpty)
        }
    }

    @Test func `a webhook whose reading had no turn was not read in vain, and is read a second later`() async throws {
        // One call of workers at a time; a turn is waited for half as long as an answer.
        try await TestHarness.open(environment: ["BELVO_CALLS_MAX": "2", "BELVO_TIMEOUT_MS": "1000"]) { harness in
            _ = try await AppClient.arrive(on: harness)
            let wire = Wire()
            defer { wire.answerAll() }
            let carry = harness.merchant.dependencies.gate.carry(for: .background, by: wire.send)
            let hanging = harness.loop.task { _ = try await carry(.readCharge, request("/hangs"), .seconds(60)) }
            try await wire.hasLeft(1)
            try await harness.tell("PAYMENT_INTENTS", of: UUID().uuidString, data: #""status": "SUCCEEDED""#)
            try await harness.work()
            let row: SQL = """
                SELECT attempts || ' ' || (next_poll_at <= app_now() + interval '1 s') AS line FROM webhook_receipts
                """
            #expect(try await harness.lines(row) == ["0 true"])
            wire.answerAll()
            try await hanging.value
            try await harness.pass(.seconds(1))
            #expect(try await harness.lines("SELECT attempts::text AS line FROM webhook_receipts") == ["1"])
        }
    }
}
