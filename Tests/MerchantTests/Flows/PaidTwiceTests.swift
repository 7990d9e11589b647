import Belvo
import BelvoSandbox
import FoundationEssentials
import MerchantModel
import Payments
import Postgres
import Testing
import Transport

@testable import MerchantServer

/// A second transfer for a payment that is paid is an alarm, whichever reading shows it.
@Suite struct PaidTwiceTests {
    private static let other = "E00000000202611221200aaaaaaaaaaa"
    private static let transfer = "/payment_method_information/open_finance_biometric_pix/end_to_end_id"
    private static let alarms = "SELECT kind || ': ' || detail AS line FROM ops.money_alarms" as SQL

    /// A payment that is paid for an order, with a shop that gets events.
    private static func paid(
        _ body: @escaping @Sendable (TestHarness, AppClient.OpenedPayment, ShopDouble) async throws -> Void
    ) async throws {
        try await ShopDouble.serving { shop in
            try await MayBelvoStillPayTests.open(orders: "required", shop.environment) { harness, client, enrollment in
                _ = try await MayBelvoStillPayTests.place(on: harness, amount: "19.90")
                let payment = try await MayBelvoStillPayTests.ordered(client, enrollment)
                try await client.authorize(payment)
                try harness.sandbox.settle(intent: payment.belvoID)
                try await harness.hear(of: payment.belvoID)
                #expect(try await Self.order(harness) == "paid")
                try await body(harness, payment, shop)
            }
        }
    }

    private static func order(_ harness: TestHarness) async throws -> String {
        try await MayBelvoStillPayTests.order(on: harness).string("status")
    }

    private static func movement(
        _ type: String, of payment: AppClient.OpenedPayment, _ harness: TestHarness
    ) throws -> String {
        try #require(harness.sandbox.movement(type, of: payment.belvoID))
    }

    private static func settleAlarms(_ harness: TestHarness) async throws {
        try await harness.database.execute(
            "UPDATE money_alarms SET settled_at = app_now(), settled_by = 'rosa: paid back' WHERE settled_at IS NULL")
    }

    private static func tellOfSecondCharge(_ harness: TestHarness, _ payment: AppClient.OpenedPayment) async throws {
        try await harness.tell(
            "CHARGES", of: movement("CHARGES", of: payment, harness),
            data: #""status": "SUCCEEDED", "end_to_end_id": "\#(other)", "payment_intent": "\#(payment.belvoID)""#)
        try await harness.work()
    }

    @Test func `a second charge that is told and read is an alarm, and disputes the order until it is settled`()
        async throws
    {
        try await Self.paid { harness, payment, shop in
            harness.sandbox.next(.altered([.init(Self.transfer, #""\#(Self.other)""#)]), on: .getCharge, count: nil)
            try await Self.tellOfSecondCharge(harness, payment)
            #expect(try await harness.lines(Self.alarms) == ["double_paid: paid by transfer \(Self.other), too"])
            #expect(harness.log.holds("payment.double_paid"))
            #expect(try await Self.order(harness) == "disputed")
            for _ in 0..<3 { try await harness.work() }
            #expect(shop.types.count { $0 == "order.disputed" } == 1)
            try await Self.settleAlarms(harness)
            #expect(try await Self.order(harness) == "paid")
            // The same is not said anew.
            try await harness.advance(by: .seconds(60))
            try await Self.tellOfSecondCharge(harness, payment)
            #expect(try await harness.lines(Self.alarms).isEmpty)
        }
    }

    @Test(arguments: ["CHARGES", "TRANSACTIONS"])
    func `one odd reading of a movement takes no other payment for its money`(type: String) async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            let other = try await client.openPayment(enrollment, reference: "order-2", key: "tap-2")
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.hear(of: payment.belvoID)
            for endpoint in [Endpoint.getCharge, .getTransaction] {
                harness.sandbox.next(.altered([.init("/payment_intent", #""\#(other.belvoID)""#)]), on: endpoint)
            }
            let direction = type == "TRANSACTIONS" ? #", "transaction_type": "INFLOW""# : ""
            try await harness.tell(
                type, of: Self.movement(type, of: payment, harness), data: #""status": "SUCCEEDED"\#(direction)"#)
            for _ in 1...3 { try await harness.pass(.seconds(10)) }
            #expect(try await harness.lines(Self.alarms).isEmpty)
            #expect(try await client.authorize(other).status == 204)
        }
    }

    @Test func `one odd reading of an unsigned payment with another one's charge does not keep it from being signed`()
        async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            let charge = #"""
                [{"id": "\#(UUID())", "status": "SUCCEEDED", "payment_method_information": {
                    "open_finance_biometric_pix": {"end_to_end_id": "\#(Self.other)"}}}]
                """#
            harness.sandbox.next(.altered([.init("/charges", charge)]), on: .getPaymentIntent)
            try await harness.hear(of: payment.belvoID)
            for _ in 1...2 { try await harness.pass(.seconds(10)) }
            #expect(try await client.authorize(payment).status == 204)
            #expect(try await harness.lines(Self.alarms).isEmpty)
        }
    }

    @Test(arguments: [true, false])
    func `one odd reading of the money disputes no payment that it shows as paid first`(isPolled: Bool) async throws {
        try await MayBelvoStillPayTests.open(orders: "required") { harness, client, enrollment in
            _ = try await MayBelvoStillPayTests.place(on: harness, amount: "19.90")
            let payment = try await MayBelvoStillPayTests.ordered(client, enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            let charge = #"[{"id": "\#(UUID())", "status": "SUCCEEDED", "amount": "70.00"}]"#
            harness.sandbox.next(.altered([.init("/charges", charge)]), on: .getPaymentIntent)
            if isPolled {
                for _ in 1...2 { try await harness.poll() }
            } else {
                try await harness.hear(of: payment.belvoID)
                try await harness.pass(.seconds(10))
            }
            #expect(try await Self.order(harness) == "paid")
        }
    }

    @Test func `a second transfer that a reading which lags does not show is read for until two agree`() async throws {
        try await Self.paid { harness, payment, _ in
            let shown = Fault.altered([.init(Self.transfer, #""\#(Self.other)""#)])
            harness.sandbox.next(shown, on: .getPaymentIntent)
            harness.sandbox.next(.altered([]), on: .getPaymentIntent)
            harness.sandbox.next(shown, on: .getPaymentIntent, count: nil)
            try await harness.hear(of: payment.belvoID)
            try await harness.pass(.seconds(10))
            #expect(try await Self.order(harness) == "disputed")
        }
    }

    @Test(arguments: ["CHARGES", "PAYMENT_INTENTS"])
    func `one odd reading disputes no payment that was paid`(told: String) async throws {
        try await Self.paid { harness, payment, _ in
            // It is known by now which charge has paid.
            try await Self.tellOfSecondCharge(harness, payment)
            for (count, status) in [(1, "paid"), (2, "disputed")] {
                harness.sandbox.clearFaults()
                for endpoint in [Endpoint.getCharge, .getPaymentIntent] {
                    harness.sandbox.next(
                        .altered([.init(Self.transfer, #""\#(Self.other)""#)]), on: endpoint, count: count)
                }
                if told == "CHARGES" {
                    try await Self.tellOfSecondCharge(harness, payment)
                    try await harness.pass(.seconds(10))
                } else {
                    try await harness.hear(of: payment.belvoID)
                }
                #expect(try await Self.order(harness) == status)
            }
        }
    }

    @Test func `a charge that was told under another transfer, and reads as the one that is known, is none`()
        async throws
    {
        try await Self.paid { harness, payment, _ in
            let before = harness.countCalls(.getCharge)
            try await Self.tellOfSecondCharge(harness, payment)
            #expect(harness.countCalls(.getCharge) == before + 1)
            #expect(try await harness.lines(Self.alarms).isEmpty)
            #expect(
                try await harness.lines("SELECT DISTINCT outcome AS line FROM webhook_receipts") == ["done"])
        }
    }

    @Test func `a second transaction that is told and can be read is an alarm`() async throws {
        try await Self.paid { harness, payment, _ in
            let data = """
                "transaction_type": "INFLOW", "payment_intent": "\(payment.belvoID)", "end_to_end_id": "\(Self.other)"
                """
            try await harness.tell(
                "TRANSACTIONS", of: Self.movement("TRANSACTIONS", of: payment, harness), data: data,
                code: "OBJECT_CREATED")
            try await harness.work()
            #expect(try await harness.lines(Self.alarms) == ["double_paid: paid by transfer \(Self.other), too"])
        }
    }

    @Test func `money that goes back is no second payment`() async throws {
        try await Self.paid { harness, payment, _ in
            let data = """
                "transaction_type": "OUTFLOW", "payment_intent": "\(payment.belvoID)", "end_to_end_id": "\(Self.other)"
                """
            try await harness.tell(
                "TRANSACTIONS", of: Self.movement("TRANSACTIONS", of: payment, harness), data: data,
                code: "OBJECT_CREATED")
            try await harness.work()
            #expect(try await harness.lines(Self.alarms).isEmpty)
        }
    }

    @Test func `a paid intent that shows another transfer is an alarm`() async throws {
        try await Self.paid { harness, payment, _ in
            harness.sandbox.next(
                .altered([.init(Self.transfer, #""\#(Self.other)""#)]), on: .getPaymentIntent, count: nil)
            try await harness.advance(by: .seconds(60))
            try await harness.hear(of: payment.belvoID)
            #expect(try await harness.lines(Self.alarms) == ["double_paid: paid by transfer \(Self.other), too"])
        }
    }

    @Test(arguments: [Endpoint.listCharges, .listPaymentIntents])
    func `a second transfer that the comparison of a day finds is an alarm, once`(list: Endpoint) async throws {
        try await Self.paid { harness, _, _ in
            harness.sandbox.next(
                .altered([.init("/results/*\(Self.transfer)", #""\#(Self.other)""#)]), on: list, count: nil)
            // A charge that is listed is read as well before it disputes anything.
            harness.sandbox.next(.altered([.init(Self.transfer, #""\#(Self.other)""#)]), on: .getCharge, count: nil)
            for _ in 0..<2 {
                _ = try await harness.operate { try await $0.reconcile(UTCDay(of: WallClock.now())) }
                #expect(try await harness.lines(Self.alarms) == ["double_paid: paid by transfer \(Self.other), too"])
            }
        }
    }

    @Test func `a payment of the SDK's that comes paid by two transfers is an alarm, whichever Belvo names`()
        async throws
    {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let intent = try await client.openPaymentBySDK(from: client.enroll().atBelvo())
            try harness.sandbox.settle(intent: intent.description)
            let charges = ["a", "b"].map { end in
                #"""
                {"id": "\#(UUID())", "status": "SUCCEEDED", "payment_method_information": {
                    "open_finance_biometric_pix": {"end_to_end_id": "E00000000202611221200aaaaaaaaaa\#(end)"}}}
                """#
            }
            harness.sandbox.next(
                .altered([
                    .init(Self.transfer, "null"), .init("/charges", "[\(charges.joined(separator: ", "))]"),
                ]), on: .getPaymentIntent, count: nil)
            try await harness.hear(of: intent.description)
            #expect(try await harness.lines("SELECT state AS line FROM payments") == ["succeeded"])
            #expect(
                try await harness.lines(Self.alarms)
                    == ["double_paid: paid by transfer E00000000202611221200aaaaaaaaaab, too"])
        }
    }

    @Test func `money that neither its charge nor a webhook says the payment of is in the log after a minute`()
        async throws
    {
        try await Self.paid { harness, payment, _ in
            try await Self.tellUnnamed(of: payment, harness, times: nil)
            try await harness.pass(.seconds(3))
            #expect(!harness.log.holds("payment.collected_without_intent"))
            for _ in 0..<8 { try await harness.pass(.seconds(15)) }
            #expect(harness.log.holds("payment.collected_without_intent"))
            #expect(try await harness.lines(Self.alarms) == [])
        }
    }

    @Test func `a charge that names no payment in its first reading is read again for it`() async throws {
        try await Self.paid { harness, payment, _ in
            try await Self.tellUnnamed(of: payment, harness, times: 1)
            for _ in 0..<3 { try await harness.pass(.seconds(3)) }
            #expect(
                try await harness.lines(Self.alarms) == ["double_paid: paid by transfer \(Self.other), too"])
            #expect(!harness.log.holds("payment.collected_without_intent"))
        }
    }

    /// Sends the webhook of a charge by another transfer, which names no payment in so many readings; nil for all.
    private static func tellUnnamed(
        of payment: AppClient.OpenedPayment, _ harness: TestHarness, times: Int?
    ) async throws {
        let paid = Fault.Alteration(Self.transfer, #""\#(Self.other)""#)
        harness.sandbox.next(.altered([.init("/payment_intent", "null"), paid]), on: .getCharge, count: times)
        harness.sandbox.next(.altered([paid]), on: .getCharge, count: nil)
        try await harness.tell(
            "CHARGES", of: Self.movement("CHARGES", of: payment, harness),
            data: #""status": "SUCCEEDED", "end_to_end_id": "\#(Self.other)""#)
    }
}
