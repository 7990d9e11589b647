import Belvo
import BelvoSandbox
import FoundationEssentials
import MerchantModel
import Payments
import Postgres
import Testing

@testable import MerchantServer

/// An order that was given to another user after the first one's attempt, and money that comes for both.
@Suite struct HandedOverOrderTests {
    @Test func `an order placed anew for another user is disputed where the first one's money is there`() async throws {
        try await ShopDouble.serving { shop in
            try await MayBelvoStillPayTests.open(orders: "required", shop.environment) { harness, client, enrollment in
                _ = try await TakenBackTests.put(harness, for: "ana")
                let payment = try await MayBelvoStillPayTests.ordered(client, enrollment)
                #expect(try await client.cancel(payment).status == 200)
                try await harness.database.execute("DELETE FROM orders")
                try harness.sandbox.settle(intent: payment.belvoID)
                try await harness.hear(of: payment.belvoID)
                #expect(try await TakenBackTests.alarms(harness) == ["late_success"])
                #expect(try await TakenBackTests.put(harness, for: "bia").status == 201)
                #expect(try await TakenBackTests.alarms(harness) == ["late_success", "paid_beside_order"])
                #expect(try await TakenBackTests.order(harness) == "disputed")
                for _ in 0..<2 { try await harness.work() }
                #expect(shop.types.count { $0 == "order.disputed" } == 1)
            }
        }
    }

    @Test func `an order is not paid by another user's money, also once the alarm of it is settled`() async throws {
        try await ShopDouble.serving { shop in
            try await MayBelvoStillPayTests.open(orders: "required", shop.environment) { harness, client, enrollment in
                _ = try await TakenBackTests.put(harness, for: "ana")
                let payment = try await MayBelvoStillPayTests.ordered(client, enrollment)
                try await TakenBackTests.failed(harness, &client, payment)
                #expect(try await TakenBackTests.put(harness, for: "bia").status == 200)
                try harness.sandbox.settle(intent: payment.belvoID)
                try await harness.hear(of: payment.belvoID)
                #expect(try await TakenBackTests.order(harness) == "disputed")
                for _ in 0..<2 { try await harness.work() }
                try await TakenBackTests.settleAlarms(harness)
                try await harness.poll()
                #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
                try await TakenBackTests.settleAlarms(harness)
                #expect(try await TakenBackTests.order(harness) == "disputed")
                // Handed on, it is another user's order for which that money is there.
                #expect(try await TakenBackTests.put(harness, for: "caio").status == 200)
                #expect(try await TakenBackTests.alarms(harness) == ["paid_beside_order"])
                for _ in 0..<2 { try await harness.work() }
                #expect(shop.types.count { $0 == "order.disputed" } == 2)
            }
        }
    }

    @Test(arguments: ["PROCESSING", "SUCCEEDED"])
    func `an intent of a payment's name and amount holds its reference, at whichever bank it was signed`(
        status: String
    ) async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let other = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            let twin = try await client.openPaymentBySDK(from: other.atBelvo(), named: payment.id, centavos: 1990)
            try harness.sandbox.fail(intent: payment.belvoID)
            try await harness.hear(of: payment.belvoID)
            if status == "SUCCEEDED" {
                try harness.sandbox.settle(intent: twin.description)
            } else {
                try harness.sandbox.turn(intent: twin.description, to: status)
            }
            try await harness.hear(of: twin.description)
            let again = try await client.requestPayment(enrollment, key: "tap-2")
            #expect(again.status == 409)
        }
    }

    @Test func `an order that is disputed by an alarm from before it is an event for the shop`() async throws {
        try await ShopDouble.serving { shop in
            try await MayBelvoStillPayTests.open(orders: "required", shop.environment) { harness, client, enrollment in
                _ = try await TakenBackTests.put(harness, for: "ana")
                let payment = try await MayBelvoStillPayTests.ordered(client, enrollment)
                #expect(try await client.cancel(payment).status == 200)
                try await harness.database.execute("DELETE FROM orders")
                try harness.sandbox.settle(intent: payment.belvoID)
                try await harness.hear(of: payment.belvoID)
                let named = try await client.openPaymentBySDK(
                    from: enrollment.atBelvo(), named: payment.id, centavos: 4900)
                try harness.sandbox.settle(intent: named.description)
                try await harness.hear(of: named.description)
                for _ in 0..<2 { try await harness.work() }
                #expect(try await TakenBackTests.alarms(harness).contains("paid_beside_order"))
                #expect(!shop.types.contains("order.disputed"))
                #expect(try await TakenBackTests.put(harness, for: "bia").status == 201)
                for _ in 0..<2 { try await harness.work() }
                #expect(shop.types.count { $0 == "order.disputed" } == 1)
            }
        }
    }

    @Test func `an order that an alarm about a failed payment disputes is an event for the shop, once it is placed`()
        async throws
    {
        try await ShopDouble.serving { shop in
            try await MayBelvoStillPayTests.open(orders: "required", shop.environment) { harness, client, enrollment in
                _ = try await TakenBackTests.put(harness, for: "ana")
                let payment = try await MayBelvoStillPayTests.ordered(client, enrollment)
                let named = try await client.openPaymentBySDK(
                    from: enrollment.atBelvo(), named: payment.id, centavos: 4900)
                try harness.sandbox.fail(intent: payment.belvoID)
                try await harness.hear(of: payment.belvoID)
                try await harness.database.execute("DELETE FROM orders")
                try harness.sandbox.settle(intent: named.description)
                try await harness.hear(of: named.description)
                for _ in 0..<2 { try await harness.work() }
                #expect(!shop.types.contains("order.disputed"))
                for _ in 0..<2 {
                    #expect(try await TakenBackTests.put(harness, for: "bia").string("status") == "disputed")
                    for _ in 0..<2 { try await harness.work() }
                    #expect(shop.types.count { $0 == "order.disputed" } == 1)
                    try await harness.database.execute("DELETE FROM orders")
                }
            }
        }
    }

    @Test func `a twin that is paid where there is no order is an alarm`() async throws {
        try await MayBelvoStillPayTests.open(orders: "required") { harness, client, enrollment in
            _ = try await TakenBackTests.put(harness, for: "ana")
            let payment = try await MayBelvoStillPayTests.ordered(client, enrollment)
            let twin = try await client.openPaymentBySDK(from: enrollment.atBelvo(), named: payment.id, centavos: 1990)
            try harness.sandbox.fail(intent: payment.belvoID)
            for intent in [payment.belvoID, twin.description] { try await harness.hear(of: intent) }
            try await harness.database.execute("DELETE FROM orders")
            try await TakenBackTests.settleAlarms(harness)
            try harness.sandbox.settle(intent: twin.description)
            try await harness.hear(of: twin.description)
            #expect(try await TakenBackTests.alarms(harness) == ["paid_beside_order"])
        }
    }

    @Test func `an intent of a payment's name that pays another account holds no reference`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            let other = try await client.openPaymentBySDK(from: enrollment.atBelvo(), named: payment.id, centavos: 1990)
            try harness.sandbox.fail(intent: payment.belvoID)
            try await harness.hear(of: payment.belvoID)
            let account = "/payment_method_details/open_finance_biometric_pix/beneficiary_bank_account"
            harness.sandbox.next(
                .altered([Fault.Alteration(account, "\"\(UUID())\"")]), on: .getPaymentIntent,
                count: nil)
            try harness.sandbox.settle(intent: other.description)
            try await harness.hear(of: other.description)
            harness.sandbox.clearFaults()
            #expect(
                try await harness.lines(
                    "SELECT coalesce(reference, '-') AS line FROM payments WHERE belvo_id = \(other.uuid)") == ["-"])
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 201)
        }
    }

    @Test func `each cause of an alarm stands in it, whichever was found first`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let first = try await client.openPayment(enrollment)
            try await TakenBackTests.failed(harness, &client, first)
            harness.sandbox.next(.altered([Fault.Alteration("/status", #""FAILED""#)]), on: .getPaymentIntent)
            let second = try await client.openPayment(enrollment, key: "tap-2")
            try await client.authorize(second)
            try harness.sandbox.settle(intent: first.belvoID)
            try await harness.hear(of: first.belvoID)
            #expect(try await TakenBackTests.alarms(harness) == ["contradiction"])
            try harness.sandbox.settle(intent: second.belvoID)
            let further = "E43215815202611221852HX6L8Zx9BkT"
            let charges = """
                [{"id": "\(UUID())", "status": "SUCCEEDED", "payment_method_information": {
                    "open_finance_biometric_pix": {"end_to_end_id": "\(further)"}}}]
                """
            harness.sandbox.next(
                .altered([Fault.Alteration("/charges", charges)]), on: .getPaymentIntent, count: nil)
            try await harness.hear(of: second.belvoID)
            #expect(try await client.payment(second).string("status") == "SUCCEEDED")
            let detail = try await harness.lines(
                "SELECT detail AS line FROM money_alarms WHERE kind = 'double_paid'")
            #expect(detail.count == 1)
            #expect(detail.first?.contains("paid beside \(first.id)") == true, "\(detail)")
            #expect(detail.first?.contains(further) == true, "\(detail)")
        }
    }
}
