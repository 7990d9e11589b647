import Belvo
import BelvoSandbox
import FoundationEssentials
import HTTP
import MerchantModel
import MerchantStore
import Payments
import Postgres
import TestSupport
import Testing
import Transport

@testable import MerchantServer
@testable import MerchantWorkflows

/// Belvo may take back what it has shown as the end of a payment: no reading that lags, no lost webhook and no other
/// user makes that pass unnoticed.
@Suite struct TakenBackTests {
    static func alarms(_ harness: TestHarness) async throws -> [String] {
        try await MayBelvoStillPayTests.alarms(on: harness)
    }

    static func put(_ harness: TestHarness, for user: String) async throws -> Answer {
        try await MayBelvoStillPayTests.place(on: harness, amount: "19.90", for: user)
    }

    static func order(_ harness: TestHarness) async throws -> String {
        try await MayBelvoStillPayTests.order(on: harness).string("status")
    }

    /// Signed, and shown as FAILED by Belvo.
    static func failed(
        _ harness: TestHarness, _ client: inout AppClient, _ payment: AppClient.OpenedPayment
    ) async throws {
        try await client.authorize(payment)
        try await hearFailure(harness, of: payment.belvoID)
        #expect(try await client.payment(payment).string("status") == "FAILED")
    }

    /// Belvo shows an intent as FAILED for a while.
    static func hearFailure(_ harness: TestHarness, of intent: String) async throws {
        harness.sandbox.next(
            .altered([Fault.Alteration("/status", #""FAILED""#)]), on: .getPaymentIntent, count: nil)
        try await harness.hear(of: intent)
        harness.sandbox.clearFaults()
    }

    @Test(arguments: ["SUCCEEDED", "PROCESSING", "PENDING"])
    func `what the comparison of a day shows as paid or open after FAILED is an alarm and keeps its reference`(
        status: String
    ) async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await Self.failed(harness, &client, payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            for (call, path) in [(Endpoint.listPaymentIntents, "/results/*/status"), (.getPaymentIntent, "/status")] {
                harness.sandbox.next(
                    .altered([Fault.Alteration(path, "\"\(status)\"")]), on: call, count: nil)
            }
            let differences = try await harness.operate { try await $0.reconcile(UTCDay(of: WallClock.now())) }
            #expect(differences.contains { $0.kind == .status })
            try await harness.poll()
            #expect(try await Self.alarms(harness) == ["contradiction"])
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "payment_in_doubt")
        }
    }

    @Test func `a success that is taken back step by step is an alarm, though the last webhook is lost`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.hear(of: payment.belvoID)
            let onward = Fault.altered([Fault.Alteration("/status", #""PROCESSING""#)])
            harness.sandbox.next(onward, on: .getPaymentIntent, count: nil)
            try await harness.tell("PAYMENT_INTENTS", of: payment.belvoID, data: #""status": "PROCESSING""#)
            try await harness.work()
            #expect(try await Self.alarms(harness).isEmpty)
            harness.sandbox.clearFaults()
            harness.sandbox.next(
                .altered([Fault.Alteration("/status", #""FAILED""#)]), on: .getPaymentIntent, count: nil)
            try await harness.pass(.seconds(5))
            #expect(try await Self.alarms(harness) == ["contradiction"])
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
        }
    }

    /// Belvo shows a payment that was signed as PENDING, too.
    @Test(arguments: ["PENDING", "REQUIRES_ACTION", "SETTLING"])
    func `a signed payment that is open again after FAILED is an alarm and keeps its reference`(
        status: String
    ) async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await Self.failed(harness, &client, payment)
            harness.sandbox.next(
                .altered([Fault.Alteration("/status", "\"\(status)\"")]), on: .getPaymentIntent, count: nil)
            try await harness.hear(of: payment.belvoID)
            #expect(try await Self.alarms(harness) == ["contradiction"])
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "payment_in_doubt")
        }
    }

    @Test func `a reading from before FAILED was recorded takes nothing back`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            let workflow = PaymentWorkflow(dependencies: harness.merchant.dependencies)
            let belvoID = Belvo.PaymentIntent.ID(try #require(UUID(uuidString: payment.belvoID)))
            let id = try #require(Payment.ID(payment.id))
            let before = try #require(try await workflow.dependencies.store.payment(id))
            let onward = Fault.altered([Fault.Alteration("/status", #""PROCESSING""#)])
            harness.sandbox.next(onward, on: .getPaymentIntent)
            let report = workflow.report(try await workflow.dependencies.belvo.readPaymentIntent(belvoID))
            try harness.sandbox.fail(intent: payment.belvoID)
            try await harness.hear(of: payment.belvoID)
            // It was asked for by who had seen the payment open.
            try await workflow.recordEvent(.reported(report), on: before, cause: .poller)
            // It was asked for because of a webhook, and answered when the next one had been worked on.
            harness.sandbox.next(onward, on: .getPaymentIntent)
            try await harness.hear(of: payment.belvoID)
            #expect(try await Self.alarms(harness).isEmpty)
            #expect(try await client.payment(payment).string("status") == "FAILED")
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 201)
        }
    }

    @Test func `a failure that is told is not forgotten while Belvo's readings show the payment under way`()
        async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            let onward = Fault.altered([Fault.Alteration("/status", #""PROCESSING""#)])
            harness.sandbox.next(onward, on: .getPaymentIntent, count: nil)
            try await harness.tell("PAYMENT_INTENTS", of: payment.belvoID, data: #""status": "FAILED""#)
            try await harness.work()
            #expect(
                try await harness.lines(
                    "SELECT outcome AS line FROM webhook_receipts ORDER BY received_at DESC LIMIT 1")
                    == ["received"])
        }
    }

    @Test func `a twin that Belvo takes back after FAILED keeps its payment from being signed`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let (payment, twin) = try await client.openPaymentTwice(enrollment)
            try await harness.hear(of: twin)
            try await Self.hearFailure(harness, of: twin)
            try harness.sandbox.settle(intent: twin)
            try await harness.hear(of: twin)
            #expect(try await Self.alarms(harness).contains("contradiction"))
            #expect(try await client.authorize(payment).status == 409)
            #expect(harness.countCalls(.authorizePaymentIntent) == 0)
        }
    }

    static func settleAlarms(_ harness: TestHarness) async throws {
        try await harness.database.execute(
            """
            UPDATE money_alarms SET settled_at = app_now(), settled_by = 'rosa: Belvo is right'
            WHERE settled_at IS NULL
            """)
    }

    @Test func `a contradiction that an operator has settled is read again at once`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await Self.failed(harness, &client, payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.hear(of: payment.belvoID)
            #expect(try await Self.alarms(harness) == ["contradiction"])
            let isDue: SQL = "SELECT (next_poll_at <= app_now())::text AS line FROM payments"
            #expect(try await harness.lines(isDue) == ["false"])
            try await Self.settleAlarms(harness)
            #expect(try await harness.lines(isDue) == ["true"])
        }
    }

    @Test func `a contradiction that an operator found to be true is paid, without another alarm`() async throws {
        try await ShopDouble.serving { shop in
            try await MayBelvoStillPayTests.open(orders: "required", shop.environment) { harness, client, enrollment in
                _ = try await Self.put(harness, for: "ana")
                let payment = try await MayBelvoStillPayTests.ordered(client, enrollment)
                try await Self.failed(harness, &client, payment)
                try harness.sandbox.settle(intent: payment.belvoID)
                try await harness.hear(of: payment.belvoID)
                #expect(try await Self.alarms(harness) == ["contradiction"])
                try await Self.settleAlarms(harness)
                #expect(try await Self.order(harness) == "in_doubt")
                try await harness.poll()
                #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
                #expect(try await Self.order(harness) == "paid")
                #expect(try await Self.alarms(harness).isEmpty)
                for _ in 0..<3 { try await harness.work() }
                #expect(shop.types.contains("payment.succeeded"))
                // The order was in doubt, and is paid: it was never disputed.
                #expect(!shop.types.contains("order.disputed"))
            }
        }
    }

    @Test func `a contradiction that was settled too early is an alarm again, and keeps its reference`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await Self.failed(harness, &client, payment)
            let onward = Fault.altered([Fault.Alteration("/status", #""PROCESSING""#)])
            harness.sandbox.next(onward, on: .getPaymentIntent, count: nil)
            try await harness.hear(of: payment.belvoID)
            try await Self.settleAlarms(harness)
            try await harness.poll()
            #expect(try await Self.alarms(harness) == ["contradiction"])
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "payment_in_doubt")
            harness.sandbox.clearFaults()
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.pass(.seconds(60))
            #expect(try await client.payment(payment).string("status") == "FAILED")
            try await Self.settleAlarms(harness)
            try await harness.poll()
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
        }
    }

    @Test func `a contradiction that a transaction from before it settles is settled`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await Self.failed(harness, &client, payment)
            try await harness.database.transaction { transaction in
                try await transaction.execute("SELECT 1 AS looking")
                try harness.sandbox.settle(intent: payment.belvoID)
                try await harness.hear(of: payment.belvoID)
                #expect(try await Self.alarms(harness) == ["contradiction"])
                try await transaction.execute(
                    "UPDATE money_alarms SET settled_at = app_now(), settled_by = 'rosa' WHERE settled_at IS NULL")
            }
            try await harness.poll()
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
        }
    }

    /// Belvo shows the first payment as under way after FAILED, when a second one has been paid; the operator settles
    /// these alarms, and then the first one is paid.
    @Test(arguments: ["double_paid", "contradiction", "double_paid', 'contradiction"])
    func `money that arrives after its alarm was settled is an alarm again, once`(settled: String) async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let first = try await client.openPayment(enrollment)
            try await Self.failed(harness, &client, first)
            harness.sandbox.next(
                .altered([Fault.Alteration("/status", #""FAILED""#)]), on: .getPaymentIntent)
            let second = try await client.openPayment(enrollment, key: "tap-2")
            try await client.authorize(second)
            try harness.sandbox.settle(intent: second.belvoID)
            try await harness.hear(of: second.belvoID)
            let onward = Fault.altered([Fault.Alteration("/status", #""PROCESSING""#)])
            harness.sandbox.next(onward, on: .getPaymentIntent, count: nil)
            try await harness.hear(of: first.belvoID)
            #expect(try await Self.alarms(harness) == ["contradiction", "double_paid"])
            #expect(try await client.payment(first).string("provider_status") == "PROCESSING")
            try await harness.database.execute(
                """
                UPDATE money_alarms SET settled_at = app_now(), settled_by = 'rosa'
                WHERE kind IN ('\(fragment: SQL(stringLiteral: settled))')
                """)
            harness.sandbox.clearFaults()
            try harness.sandbox.settle(intent: first.belvoID)
            try await harness.hear(of: first.belvoID)
            #expect(try await Self.alarms(harness).contains("double_paid"))
            #expect(try await client.payment(first).string("provider_status") == "SUCCEEDED")
            try await Self.settleAlarms(harness)
            try await harness.poll()
            #expect(try await client.payment(first).string("status") == "SUCCEEDED")
            try await harness.hear(of: first.belvoID)
            #expect(try await !Self.alarms(harness).contains("double_paid"))
        }
    }

    @Test func `one late reading of FAILED does not free what an operator has settled`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await Self.failed(harness, &client, payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.hear(of: payment.belvoID)
            try await Self.settleAlarms(harness)
            try await Self.hearFailure(harness, of: payment.belvoID)
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "already_paid")
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
        }
    }

    @Test func `FAILED is taken over by two readings in a row, and not by one before and one after another status`()
        async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await Self.failed(harness, &client, payment)
            for status in ["PROCESSING", "FAILED", "PROCESSING", "FAILED"] {
                try await harness.advance(by: .seconds(6))
                harness.sandbox.clearFaults()
                harness.sandbox.next(
                    .altered([Fault.Alteration("/status", "\"\(status)\"")]), on: .getPaymentIntent, count: nil)
                try await harness.hear(of: payment.belvoID)
                try await Self.settleAlarms(harness)
            }
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "payment_in_doubt")
            try await harness.advance(by: .seconds(6))
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 201)
        }
    }

    @Test(arguments: ["FAILED", "CANCELED"])
    func `an end that two readings show is what an operator has settled`(status: String) async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await Self.failed(harness, &client, payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.hear(of: payment.belvoID)
            try await harness.advance(by: .seconds(7_200))
            try await Self.settleAlarms(harness)
            harness.sandbox.next(
                .altered([Fault.Alteration("/status", "\"\(status)\"")]), on: .getPaymentIntent, count: nil)
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "payment_in_doubt")
            // However long it has been in doubt: an operator waits for the second one.
            try await harness.pass(.seconds(6))
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 201)
        }
    }

    @Test func `a success that Belvo takes back is an alarm once, and a difference of its day each time`()
        async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.hear(of: payment.belvoID)
            let failed = Fault.altered([Fault.Alteration("/results/*/status", #""FAILED""#)])
            let alone = Fault.altered([Fault.Alteration("/status", #""FAILED""#)])
            harness.sandbox.next(failed, on: .listPaymentIntents, count: nil)
            harness.sandbox.next(alone, on: .getPaymentIntent, count: nil)
            for alarms in [["contradiction"], []] {
                let differences = try await harness.operate { try await $0.reconcile(UTCDay(of: WallClock.now())) }
                #expect(differences.contains { $0.kind == .status })
                try await harness.poll()
                #expect(try await Self.alarms(harness) == alarms)
                try await Self.settleAlarms(harness)
            }
        }
    }
}
