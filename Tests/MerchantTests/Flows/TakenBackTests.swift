import BelvoSandbox
import FoundationEssentials
import HTTP
import MerchantModel
import Payments
import Postgres
import Testing
import Transport

@testable import MerchantServer

/// Belvo may take back what it has shown as the end of a payment: no reading that lags, no lost webhook and no other
/// user makes that pass unnoticed.
@Suite struct TakenBackTests {
    private static func alarms(_ harness: TestHarness) async throws -> [String] {
        try await MayBelvoStillPayTests.alarms(on: harness)
    }

    private static func put(_ harness: TestHarness, for user: String) async throws -> Answer {
        try await MayBelvoStillPayTests.place(on: harness, amount: "19.90", for: user)
    }

    private static func order(_ harness: TestHarness) async throws -> String {
        try await MayBelvoStillPayTests.order(on: harness).string("status")
    }

    /// Signed, and shown as FAILED by Belvo.
    private static func failed(
        _ harness: TestHarness, _ client: inout AppClient, _ payment: AppClient.OpenedPayment
    ) async throws {
        try await client.authorize(payment)
        try await hearFailure(harness, of: payment.belvoID)
        #expect(try await client.payment(payment).string("status") == "FAILED")
    }

    /// Belvo shows an intent as FAILED for a while.
    private static func hearFailure(_ harness: TestHarness, of intent: String) async throws {
        harness.sandbox.next(
            .altered([Fault.Alteration("/status", #""FAILED""#)]), on: .getPaymentIntent, count: nil)
        try await harness.hear(of: intent)
        harness.sandbox.clearFaults()
    }

    @Test func `what the comparison of a day shows as paid after FAILED is an alarm and keeps its reference`()
        async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await Self.failed(harness, &client, payment)
            try harness.sandbox.settle(intent: payment.belvoID)
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

    @Test func `an order that was given to another user is disputed before the shop, whoever paid it`() async throws {
        try await ShopDouble.serving { shop in
            try await MayBelvoStillPayTests.open(orders: "required", shop.environment) { harness, client, enrollment in
                _ = try await Self.put(harness, for: "ana")
                let payment = try await MayBelvoStillPayTests.ordered(client, enrollment)
                try await Self.failed(harness, &client, payment)
                #expect(try await Self.put(harness, for: "bia").status == 200)
                var other = try await AppClient.arrive(on: harness, as: "bia", taxID: "111.444.777-35")
                let theirs = try await MayBelvoStillPayTests.ordered(other, other.enroll())
                try await other.authorize(theirs)
                try harness.sandbox.settle(intent: theirs.belvoID)
                try await harness.hear(of: theirs.belvoID)
                #expect(try await Self.order(harness) == "paid")
                try harness.sandbox.settle(intent: payment.belvoID)
                try await harness.hear(of: payment.belvoID)
                #expect(try await Self.alarms(harness) == ["contradiction", "double_paid", "paid_beside_order"])
                #expect(try await Self.order(harness) == "disputed")
                for _ in 0..<3 { try await harness.work() }
                // Three alarms are one dispute.
                #expect(shop.types.count { $0 == "order.disputed" } == 1)
                #expect(try await harness.lines("SELECT payments::text AS line FROM ops.double_paid") == ["2"])
                try await Self.settleAlarms(harness)
                // What Belvo shows to have been paid after all is not another one.
                try await harness.poll()
                #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
                for _ in 0..<3 { try await harness.work() }
                #expect(try await Self.alarms(harness).isEmpty)
                #expect(shop.types.count { $0 == "order.disputed" } == 1)
            }
        }
    }

    private static func settleAlarms(_ harness: TestHarness) async throws {
        try await harness.database.execute(
            """
            UPDATE money_alarms SET settled_at = app_now(), settled_by = 'rosa: Belvo is right'
            WHERE settled_at IS NULL
            """)
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

    @Test func `an order whose payer is erased stays paid, without an alarm`() async throws {
        try await MayBelvoStillPayTests.open(orders: "required") { harness, client, enrollment in
            _ = try await Self.put(harness, for: "ana")
            let payment = try await MayBelvoStillPayTests.ordered(client, enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.hear(of: payment.belvoID)
            _ = try await harness.operate { try await $0.erase(UserSubject("ana")) }
            #expect(try await Self.order(harness) == "paid")
            #expect(try await Self.alarms(harness).isEmpty)
        }
    }

    @Test func `an order keeps its name once a payment was opened for it`() async throws {
        try await MayBelvoStillPayTests.open(orders: "required") { harness, client, enrollment in
            _ = try await Self.put(harness, for: "ana")
            let payment = try await MayBelvoStillPayTests.ordered(client, enrollment)
            try await Self.failed(harness, &client, payment)
            await #expect(throws: DatabaseError.self) {
                try await harness.database.execute("UPDATE orders SET reference = 'order-2'")
            }
        }
    }

    @Test func `a twin that nobody can sign keeps no order's price, as it keeps no payment from being begun`()
        async throws
    {
        try await MayBelvoStillPayTests.open(orders: "required") { harness, client, enrollment in
            _ = try await Self.put(harness, for: "ana")
            let sandbox = harness.sandbox
            sandbox.variants.listLagMilliseconds = 3_600_000
            sandbox.variants.keyReuse = .forgotten
            sandbox.next(.dropAnswer, on: .createPaymentIntent)
            let payment = try await MayBelvoStillPayTests.ordered(client, enrollment)
            let twin = try #require(sandbox.intentIDs(externalID: payment.id).first { $0 != payment.belvoID })
            try await harness.hear(of: twin)
            try sandbox.fail(intent: payment.belvoID)
            try await harness.hear(of: payment.belvoID)
            let states = "SELECT state AS line FROM payments ORDER BY state" as SQL
            #expect(try await harness.lines(states) == ["failed", "observed"])
            #expect(try await Self.order(harness) == "open")
            #expect(try await MayBelvoStillPayTests.place(on: harness, amount: "400.00").status == 200)
            // A token could sign it.
            #expect(try await client.app.send(.post, "/v1/widget-token").status == 201)
            #expect(try await MayBelvoStillPayTests.place(on: harness, amount: "10.00").status == 409)
            let again = try await client.app.send(
                .post, "/v1/payment-intents", #"{"enrollment": "\#(enrollment.id)", "reference": "order-1"}"#,
                headers: ["idempotency-key": "tap-2"])
            #expect(again.status == 409)
        }
    }

    @Test func `an order that is given to a user who has paid its reference before is an alarm`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.hear(of: payment.belvoID)
            #expect(try await Self.put(harness, for: "bia").status == 201)
            #expect(try await Self.alarms(harness).isEmpty)
            #expect(try await Self.put(harness, for: "ana").status == 200)
            #expect(try await Self.order(harness) == "disputed")
            #expect(try await Self.alarms(harness) == ["paid_beside_order"])
        }
    }

    @Test func `an order whose attempt was given up a day ago may be given to another user`() async throws {
        try await MayBelvoStillPayTests.open(orders: "required") { harness, client, enrollment in
            _ = try await Self.put(harness, for: "ana")
            let payment = try await MayBelvoStillPayTests.ordered(client, enrollment)
            #expect(try await client.cancel(payment).status == 200)
            #expect(try await Self.put(harness, for: "bia").status == 409)
            // It lapses at Belvo, and no webhook says so.
            try await harness.advance(by: .seconds(86_500))
            #expect(try await Self.put(harness, for: "bia").status == 200)
        }
    }

    @Test func `an order is not placed anew for another user while the first one's attempt is open at Belvo`()
        async throws
    {
        try await MayBelvoStillPayTests.open(orders: "required") { harness, client, enrollment in
            _ = try await Self.put(harness, for: "ana")
            let payment = try await MayBelvoStillPayTests.ordered(client, enrollment)
            #expect(try await client.cancel(payment).status == 200)
            try await harness.database.execute("DELETE FROM orders")
            #expect(try await Self.put(harness, for: "bia").string("code") == "order_in_use")
            #expect(try await Self.put(harness, for: "ana").status == 201)
            try await harness.database.execute("DELETE FROM orders")
            // It lapses at Belvo, and no webhook says so.
            try await harness.advance(by: .seconds(86_500))
            #expect(try await Self.put(harness, for: "bia").status == 201)
        }
    }

    @Test func `what a user pays under the name of another user's order is not paid twice`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.hear(of: payment.belvoID)
            #expect(try await Self.put(harness, for: "bia").status == 201)
            var other = try await AppClient.arrive(on: harness, as: "bia", taxID: "111.444.777-35")
            let theirs = try await MayBelvoStillPayTests.ordered(other, other.enroll())
            try await other.authorize(theirs)
            try harness.sandbox.settle(intent: theirs.belvoID)
            try await harness.hear(of: theirs.belvoID)
            #expect(try await Self.order(harness) == "paid")
            #expect(try await Self.alarms(harness).isEmpty)
            #expect(try await harness.lines("SELECT reference AS line FROM ops.double_paid").isEmpty)
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

    @Test(arguments: ["REPEATABLE READ", "SERIALIZABLE"])
    func `an order is not written by a transaction that sees an old state of the payments`(level: String) async throws {
        try await MayBelvoStillPayTests.open { harness, _, _ in
            _ = try await Self.put(harness, for: "ana")
            await #expect(throws: DatabaseError.self) {
                try await harness.database.transaction { transaction in
                    try await transaction.execute(
                        "SET TRANSACTION ISOLATION LEVEL \(fragment: SQL(stringLiteral: level))")
                    try await transaction.execute("UPDATE orders SET amount_centavos = 40000")
                }
            }
        }
    }
}
