import Belvo
import BelvoSandbox
import FoundationEssentials
import HTTP
import MerchantModel
import MerchantStore
import Payments
import Postgres
import Testing

@testable import MerchantServer
@testable import MerchantWorkflows

/// Belvo's webhook says that money has arrived, and reading the payment does not show it yet: the webhook stays until
/// it does, because no worker may poll that payment any more (reliability.md, promises 1 and 9).
@Suite struct LaggingReadingTests {
    private static let failed = shown("FAILED")

    /// A payment that Belvo has closed as failed, and then calls paid, in a webhook and not in what it shows.
    private static func open(
        _ body: @escaping @Sendable (TestHarness, AppClient, AppClient.OpenedPayment) async throws -> Void
    ) async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            harness.sandbox.next(failed, on: .getPaymentIntent, count: nil)
            try await harness.poll()
            #expect(try await client.payment(payment).string("status") == "FAILED")
            try await body(harness, client, payment)
        }
    }

    private static func tell(
        _ harness: TestHarness, _ payment: AppClient.OpenedPayment, _ status: String = "SUCCEEDED"
    ) async throws {
        try await harness.tell("PAYMENT_INTENTS", of: payment.belvoID, data: #""status": "\#(status)""#)
    }

    private static func outcome(_ harness: TestHarness) async throws -> String? {
        try await harness.lines("SELECT outcome AS line FROM webhook_receipts").first
    }

    @Test func `a webhook that says more than Belvo shows stays until Belvo shows it`() async throws {
        try await Self.open { harness, client, payment in
            try await Self.tell(harness, payment)
            try await harness.work()
            #expect(try await Self.outcome(harness) == "received")
            harness.sandbox.clearFaults()
            try await harness.pass(.seconds(2))
            #expect(try await Self.outcome(harness) == "done")
            // Its last status stands, and that it has taken it back is an alarm.
            #expect(try await client.payment(payment).string("status") == "FAILED")
            #expect(try await harness.lines("SELECT kind AS line FROM ops.money_alarms") == ["contradiction"])
        }
    }

    @Test func `money for a canceled payment is seen though the first reading after its webhook lags`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            #expect(try await client.cancel(payment).status == 200)
            try harness.sandbox.settle(intent: payment.belvoID)
            harness.sandbox.next(Self.pending, on: .getPaymentIntent)
            try await Self.tell(harness, payment)
            try await harness.work()
            #expect(try await client.payment(payment).string("status") == "FAILED")
            try await harness.pass(.seconds(2))
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
        }
    }

    private static let pending = shown("PENDING")

    /// A copy that shows an earlier status shows none of the money that came since.
    private static func shown(_ status: String) -> Fault {
        .altered([Fault.Alteration("/status", "\"\(status)\""), Fault.Alteration("/charges", "[]")])
    }

    @Test func `readings from a copy that lags by seconds take no last status back`() async throws {
        try await Self.open { harness, client, payment in
            // The webhook repeats the end, and the copy that is read next has not heard of it.
            harness.sandbox.clearFaults()
            harness.sandbox.next(Self.pending, on: .getPaymentIntent, count: 3)
            harness.sandbox.next(Self.failed, on: .getPaymentIntent, count: nil)
            try await Self.tell(harness, payment, "FAILED")
            try await harness.work()
            #expect(try await Self.outcome(harness) == "received")
            for _ in 1...4 { try await harness.pass(.seconds(2)) }
            #expect(try await Self.outcome(harness) == "done")
            #expect(try await harness.lines("SELECT kind AS line FROM ops.money_alarms").isEmpty)
            #expect(try await client.payment(payment).string("status") == "FAILED")
        }
    }

    @Test func `FAILED beside a charge under way, read from a copy that lags, takes no last status back`() async throws
    {
        try await Self.open { harness, client, payment in
            let underWay = Fault.altered([
                Fault.Alteration("/status", "\"FAILED\""),
                Fault.Alteration("/charges", #"[{"id": "\#(UUID())", "status": "PROCESSING"}]"#),
            ])
            harness.sandbox.clearFaults()
            harness.sandbox.next(underWay, on: .getPaymentIntent, count: 3)
            harness.sandbox.next(Self.failed, on: .getPaymentIntent, count: nil)
            try await Self.tell(harness, payment, "FAILED")
            try await harness.work()
            for _ in 1...4 { try await harness.pass(.seconds(2)) }
            #expect(try await harness.lines("SELECT kind AS line FROM ops.money_alarms").isEmpty)
            #expect(try await client.payment(payment).string("status") == "FAILED")
        }
    }

    @Test func `what has failed keeps its reference while a webhook about it is unread`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            #expect(try await client.cancel(payment).status == 200)
            try harness.sandbox.settle(intent: payment.belvoID)
            harness.sandbox.next(Self.pending, on: .getPaymentIntent, count: nil)
            try await Self.tell(harness, payment)
            try await harness.work()
            let early = try await client.requestPayment(enrollment, key: "tap-2")
            #expect(early.status == 503)
            #expect(try early.string("code") == "busy")
            harness.sandbox.clearFaults()
            try await harness.pass(.seconds(2))
            let late = try await client.requestPayment(enrollment, key: "tap-2")
            #expect(late.status == 409)
            #expect(try late.string("code") == "already_paid")
        }
    }

    @Test func `what has failed keeps its reference while a webhook about a transaction of it is unread`() async throws
    {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            #expect(try await client.cancel(payment).status == 200)
            try harness.sandbox.settle(intent: payment.belvoID)
            harness.sandbox.next(Self.pending, on: .getPaymentIntent, count: nil)
            harness.sandbox.next(.statusAfter(503), on: .getTransaction, count: nil)
            let transaction = try #require(harness.sandbox.movement("TRANSACTIONS", of: payment.belvoID))
            let data = #""payment_intent": "\#(payment.belvoID)", "transaction_type": "INFLOW""#
            try await harness.tell("TRANSACTIONS", of: transaction, data: data)
            try await harness.work()
            let early = try await client.requestPayment(enrollment, key: "tap-2")
            #expect(early.status == 503)
            #expect(try early.string("code") == "busy")
            harness.sandbox.clearFaults()
            try await harness.pass(.seconds(2))
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "already_paid")
        }
    }

    @Test func `a payment beside one that has failed is not signed while a webhook about that one is unread`()
        async throws
    {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let first = try await client.openPayment(enrollment)
            #expect(try await client.cancel(first).status == 200)
            let second = try await client.openPayment(enrollment, key: "tap-2")
            harness.sandbox.next(Self.pending, on: .getPaymentIntent, count: nil)
            try await Self.tell(harness, first)
            try await harness.work()
            let refused = try await client.authorize(second)
            #expect(refused.status == 503)
            #expect(harness.countCalls(.authorizePaymentIntent) == 0)
            #expect(try await client.payment(first).string("status") == "FAILED")
        }
    }

    @Test func `a payment is not signed while a webhook of another object that bears its name is unread`()
        async throws
    {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(try await client.enroll())
            harness.sandbox.next(.statusAfter(503), on: .getPaymentIntent, count: nil)
            try await harness.tell("PAYMENT_INTENTS", of: UUID().uuidString, named: payment.id)
            try await harness.work()
            let refused = try await client.authorize(payment)
            #expect(refused.status == 503)
            #expect(try refused.string("code") == "busy")
            #expect(harness.countCalls(.authorizePaymentIntent) == 0)
        }
    }

    @Test func `an object that a webhook names and Belvo does not have keeps a payment unsigned for a minute`()
        async throws
    {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(try await client.enroll())
            try await harness.tell("PAYMENT_INTENTS", of: UUID().uuidString, named: payment.id)
            try await harness.work()
            #expect(try await client.authorize(payment).string("code") == "busy")
            try await harness.pass(.seconds(61))
            #expect(try await Self.outcome(harness) == "received")
            #expect(try await client.authorize(payment).status == 204)
        }
    }

    @Test func `webhooks that were worked on in vain come behind those that have just come`() async throws {
        try await TestHarness.open { harness in
            for _ in 0..<20 { try await harness.tell("PAYMENT_INTENTS", of: UUID().uuidString) }
            for _ in 0..<4 { try await harness.pass(.seconds(60)) }
            try await harness.advance(by: .seconds(600))
            let fresh = UUID().uuidString
            try await harness.tell("PAYMENT_INTENTS", of: fresh)
            let taken = try await harness.operate { operators in
                try await operators.dependencies.store.claimDueWebhooks(limit: 1, lease: .seconds(60))
            }
            #expect(taken.map(\.record.object) == [UUID(uuidString: fresh)])
        }
    }

    @Test func `a payment is not signed while a webhook about its known twin is unread, which has no name`()
        async throws
    {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let (payment, twin) = try await client.openPaymentTwice(try await client.enroll())
            try await harness.tell("PAYMENT_INTENTS", of: twin)
            try await harness.work()
            #expect(try await harness.lines("SELECT state AS line FROM payments ORDER BY origin").first == "observed")
            try harness.sandbox.settle(intent: twin)
            harness.sandbox.next(.statusAfter(503), on: .getPaymentIntent, count: nil)
            try await harness.tell("PAYMENT_INTENTS", of: twin, data: #""status": "SUCCEEDED""#)
            try await harness.work()
            #expect([409, 503].contains(try await client.authorize(payment).status))
            #expect(harness.countCalls(.authorizePaymentIntent) == 0)
        }
    }

    @Test func `a refused creation keeps its reference while a webhook that bears its name is unread`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            harness.sandbox.next(.statusAfter(400), on: .createPaymentIntent)
            #expect(try await client.requestPayment(enrollment).status == 422)
            let name = try #require(try await harness.lines("SELECT id::text AS line FROM payments").first)
            harness.sandbox.next(.statusAfter(503), on: .getPaymentIntent, count: nil)
            try await harness.tell("PAYMENT_INTENTS", of: UUID().uuidString, named: name)
            try await harness.work()
            let early = try await client.requestPayment(enrollment, key: "tap-2")
            #expect(early.status == 503)
            #expect(try early.string("code") == "busy")
        }
    }

    @Test func `what Belvo's webhook says and Belvo never shows is closed after an hour, and logged`() async throws {
        try await Self.open { harness, client, payment in
            try await Self.tell(harness, payment)
            for _ in 0..<5 { try await harness.pass(.seconds(900)) }
            #expect(try await Self.outcome(harness) == "done")
            #expect(try await client.payment(payment).string("status") == "FAILED")
            #expect(harness.log.holds("webhook.never_shown"))
        }
    }

    @Test func `a webhook that comes again while it is worked on does not wait for the first one's lease`() async throws
    {
        try await Self.open { harness, _, payment in
            try await Self.tell(harness, payment)
            try await harness.database.execute(
                "UPDATE webhook_receipts SET leased_until = app_now() + interval '25 seconds'")
            harness.sandbox.clearFaults()
            try await Self.tell(harness, payment)
            try await harness.work()
            #expect(try await Self.outcome(harness) == "done")
        }
    }

    @Test func `whatever Belvo answers a creation, its enrollment is read again before the next one`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            try harness.sandbox.revoke(enrollment: enrollment.belvoID)
            harness.sandbox.next(.refused(403, code: "denied"), on: .createPaymentIntent)
            #expect(try await client.requestPayment(enrollment).status == 502)
            let next = try await client.requestPayment(enrollment, key: "tap-2")
            #expect(try next.string("code") == "enrollment_not_usable")
            #expect(harness.countCalls(.createPaymentIntent) == 1)
        }
    }

    /// Members that one reading of an intent shows otherwise than the other readings.
    private static let misreadings: [(member: String, text: String)] = [
        ("/customer", "null"), ("/external_id", "null"), ("/amount", #""1.00""#), ("/status", #""FAILED""#),
        ("/customer", #""99999999-9999-4999-8999-999999999998""#),
        ("/external_id", #""99999999-9999-4999-8999-999999999998""#),
    ]

    @Test(arguments: misreadings)
    func `whose an unknown intent is, and of what, is not decided by one reading`(member: String, text: String)
        async throws
    {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            // The one that is not known here is paid.
            let (payment, twin) = try await client.openPaymentTwice(enrollment)
            try harness.sandbox.settle(intent: twin)
            harness.sandbox.next(.altered([Fault.Alteration(member, text)]), on: .getPaymentIntent)
            try await harness.tell("PAYMENT_INTENTS", of: twin)
            try await harness.work()
            try await harness.pass(.seconds(2))
            #expect(try await client.authorize(payment).status == 409)
            #expect(harness.countCalls(.authorizePaymentIntent) == 0)
        }
    }

    @Test(arguments: [true, false])
    func `SUCCEEDED beside charges that have all ended is an alarm where Belvo still shows that seconds later`(
        isShownLater: Bool
    ) async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            let ended = #"[{"id": "\#(UUID())", "status": "FAILED"}]"#
            harness.sandbox.next(.altered([Fault.Alteration("/charges", ended)]), on: .getPaymentIntent, count: nil)
            try await harness.poll()
            try await harness.hear(of: payment.belvoID)
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
            #expect(try await MayBelvoStillPayTests.alarms(on: harness).isEmpty)
            if isShownLater { harness.sandbox.clearFaults() }
            try await harness.pass(.seconds(21))
            #expect(try await MayBelvoStillPayTests.alarms(on: harness) == (isShownLater ? [] : ["differs"]))
        }
    }

    @Test func `an intent that a list has shown beside a payment keeps it for a minute while Belvo denies to have it`()
        async throws
    {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(try await client.enroll())
            try await PaymentWorkflow(dependencies: harness.merchant.dependencies)
                .importLater(Belvo.PaymentIntent.ID(UUID()), named: #require(Payment.ID(payment.id)))
            #expect([409, 503].contains(try await client.authorize(payment).status))
            for _ in 1...4 { try await harness.pass(.seconds(21)) }
            #expect(try await client.authorize(payment).status == 204)
        }
    }

    @Test func `an enrollment that the bank takes back ends though the first reading after its webhook lags`()
        async throws
    {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            try harness.sandbox.revoke(enrollment: enrollment.belvoID)
            harness.sandbox.next(.altered([Fault.Alteration("/status", #""SUCCEEDED""#)]), on: .getEnrollment)
            try await harness.tell("ENROLLMENTS", of: enrollment.belvoID, data: #""status": "FAILED""#)
            try await harness.work()
            #expect(try await Self.outcome(harness) == "received")
            try await harness.pass(.seconds(2))
            #expect(try await Self.outcome(harness) == "done")
            #expect(try await client.enrollment(enrollment).string("status") == "FAILED")
        }
    }

    @Test func `what Belvo makes anew for each reading does not hold an import up`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let intent = try await client.openPaymentBySDK(from: client.enrollBySDK()).description
            let member = "/payment_method_information/open_finance_biometric_pix/provider_request_id"
            harness.sandbox.next(.altered([Fault.Alteration(member, #""once""#)]), on: .getPaymentIntent)
            try await harness.tell("PAYMENT_INTENTS", of: intent)
            try await harness.work()
            #expect(try await Self.outcome(harness) == "done")
            #expect(try await harness.lines("SELECT status AS line FROM payments") == ["PENDING"])
        }
    }

    @Test func `an intent that names no customer yet is not called another merchant's`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let intent = try await client.openPaymentBySDK(from: client.enrollBySDK()).description
            try harness.sandbox.settle(intent: intent)
            harness.sandbox.next(
                .altered([Fault.Alteration("/customer", "null")]), on: .getPaymentIntent, count: 4)
            try await harness.tell("PAYMENT_INTENTS", of: intent)
            try await harness.work()
            for _ in 0..<4 { try await harness.pass(.seconds(5)) }
            #expect(try await harness.lines("SELECT status AS line FROM payments") == ["SUCCEEDED"])
        }
    }

    @Test func `a payment that Belvo takes back is alarmed of though the first reading after its webhook lags`()
        async throws
    {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.poll()
            try await Self.tell(harness, payment, "FAILED")
            try await harness.work()
            #expect(try await Self.outcome(harness) == "received")
            harness.sandbox.next(Self.failed, on: .getPaymentIntent, count: nil)
            try await harness.pass(.seconds(2))
            #expect(try await Self.outcome(harness) == "done")
            #expect(try await harness.lines("SELECT kind AS line FROM ops.money_alarms") == ["contradiction"])
        }
    }

    @Test(arguments: ["/amount", "/payment_method_details"])
    func `what somebody else made is what Belvo shows last, and not what it showed first`(member: String) async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let intent = try await client.openPaymentBySDK(from: client.enrollBySDK()).description
            let other = member == "/amount" ? #""1.00""# : "null"
            harness.sandbox.next(.altered([Fault.Alteration(member, other)]), on: .getPaymentIntent)
            try await harness.tell("PAYMENT_INTENTS", of: intent)
            try await harness.work()
            try harness.sandbox.settle(intent: intent)
            try await harness.poll(times: 2)
            let lines = try await harness.lines(
                """
                SELECT status || ' ' || amount_centavos || ' ' || (belvo_enrollment_id IS NOT NULL) AS line
                FROM payments
                """)
            #expect(lines == ["SUCCEEDED 700 true"])
        }
    }
}
