import Belvo
import BelvoSandbox
import FoundationEssentials
import HTTP
import MerchantModel
import Payments
import Postgres
import Testing

@testable import MerchantServer
@testable import MerchantWorkflows

/// A charge or a transaction that Belvo shows as collected is money, whatever Belvo shows of its intent.
@Suite struct CollectedTests {
    private static func alarms(_ harness: TestHarness) async throws -> [String] {
        try await MayBelvoStillPayTests.alarms(on: harness)
    }

    /// Belvo's webhook about the movement of a payment that was collected; it names no intent.
    private static func tell(
        _ type: String, of payment: AppClient.OpenedPayment, _ harness: TestHarness
    ) async throws {
        let inflow = type == "TRANSACTIONS" ? #", "transaction_type": "INFLOW""# : ""
        try await harness.tell(
            type, of: #require(harness.sandbox.movement(type, of: payment.belvoID)),
            data: #""status": "SUCCEEDED""# + inflow)
        try await harness.work()
    }

    /// From now on Belvo shows the intent in this status, whatever becomes of its money.
    private static func show(_ status: String, on harness: TestHarness) {
        harness.sandbox.next(
            .altered([Fault.Alteration("/status", "\"\(status)\"")]), on: .getPaymentIntent, count: nil)
    }

    @Test(arguments: ["CHARGES", "TRANSACTIONS"])
    func `what was collected after FAILED is an alarm, and its reference is not paid again`(type: String) async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await TakenBackTests.failed(harness, &client, payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            Self.show("FAILED", on: harness)
            try await Self.tell(type, of: payment, harness)
            #expect(try await Self.alarms(harness) == ["contradiction"])
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "payment_in_doubt")
            #expect(try await client.payment(payment).string("status") == "FAILED")

            // Once it is settled, Belvo's FAILED counts, and the same movement is not asked about anew.
            try await harness.database.execute(
                "UPDATE money_alarms SET settled_at = app_now(), settled_by = 'rosa: it went back'")
            for _ in 0..<2 { try await harness.pass(.seconds(10)) }
            try await Self.tell(type, of: payment, harness)
            #expect(try await Self.alarms(harness).isEmpty)
            #expect(try await client.requestPayment(enrollment, key: "tap-3").status == 201)
        }
    }

    @Test func `a charge whose webhook names its intent and no status is read itself`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await TakenBackTests.failed(harness, &client, payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            harness.sandbox.next(
                .altered([Fault.Alteration("/status", #""FAILED""#), Fault.Alteration("/charges", "[]")]),
                on: .getPaymentIntent, count: nil)
            try await harness.tell(
                "CHARGES", of: #require(harness.sandbox.movement("CHARGES", of: payment.belvoID)),
                data: #""payment_intent": "\#(payment.belvoID)""#)
            try await harness.work()
            #expect(try await Self.alarms(harness) == ["contradiction"])
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "payment_in_doubt")
        }
    }

    @Test func `FAILED beside a charge that has collected is an alarm, and its reference is not paid again`()
        async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            Self.show("FAILED", on: harness)
            try await harness.poll()
            #expect(try await client.payment(payment).string("status") == "FAILED")
            #expect(try await Self.alarms(harness) == ["contradiction"])
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "payment_in_doubt")
        }
    }

    /// From now on Belvo shows the intent in this status with these charges, as JSON.
    private static func show(_ status: String, charges: String, on harness: TestHarness) {
        harness.sandbox.clearFaults()
        harness.sandbox.next(
            .altered([Fault.Alteration("/status", "\"\(status)\""), Fault.Alteration("/charges", charges)]),
            on: .getPaymentIntent, count: nil)
    }

    @Test func `FAILED beside a charge that is under way is no end yet`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            Self.show("FAILED", charges: #"[{"id": "\#(UUID())", "status": "PROCESSING"}]"#, on: harness)
            try await harness.poll()
            #expect(try await client.payment(payment).string("status") == "PENDING")
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "payment_in_doubt")
            Self.show("FAILED", charges: #"[{"id": "\#(UUID())", "status": "FAILED"}]"#, on: harness)
            try await harness.poll()
            #expect(try await client.payment(payment).string("status") == "FAILED")
            #expect(try await Self.alarms(harness).isEmpty)
            #expect(try await client.requestPayment(enrollment, key: "tap-3").status == 201)
        }
    }

    @Test(arguments: ["SETTLED", "PAID_OUT"])
    func `FAILED beside a charge that may have collected, by whatever word, is an alarm`(word: String) async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            // A charge whose word is not known says that the intent was signed, and no more.
            Self.show("PENDING", charges: #"[{"id": "\#(UUID())", "status": "\#(word)"}]"#, on: harness)
            try await harness.pass(.seconds(700))
            #expect(try await client.payment(payment).string("status") == "PENDING")
            Self.show("FAILED", charges: #"[{"id": "\#(UUID())", "status": "\#(word)"}]"#, on: harness)
            try await harness.pass(.seconds(900))
            #expect(try await client.payment(payment).string("status") == "FAILED")
            #expect(try await Self.alarms(harness) == ["contradiction"])
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "payment_in_doubt")
        }
    }

    @Test func `a charge that its webhook calls by an unknown word is read itself`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await TakenBackTests.failed(harness, &client, payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            Self.show("FAILED", charges: "[]", on: harness)
            try await harness.tell(
                "CHARGES", of: #require(harness.sandbox.movement("CHARGES", of: payment.belvoID)),
                data: #""payment_intent": "\#(payment.belvoID)", "status": "SETTLED""#)
            try await harness.work()
            #expect(try await Self.alarms(harness) == ["contradiction"])
        }
    }

    @Test func `a charge that collected before FAILED is remembered, and one after the settling is asked about anew`()
        async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            // In other letters, and without a list around it.
            let first = #"{"id": "\#(UUID())", "status": "succeeded"}"#
            Self.show("PENDING", charges: first, on: harness)
            try await harness.poll()
            #expect(try await client.payment(payment).string("status") == "PENDING")
            Self.show("FAILED", charges: "[]", on: harness)
            try await harness.poll()
            #expect(try await client.payment(payment).string("status") == "FAILED")
            #expect(try await Self.alarms(harness) == ["contradiction"])
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "payment_in_doubt")

            try await harness.database.execute(
                "UPDATE money_alarms SET settled_at = app_now(), settled_by = 'rosa: it went back'")
            Self.show("FAILED", charges: "[\(first)]", on: harness)
            for _ in 0..<2 { try await harness.pass(.seconds(10)) }
            #expect(try await Self.alarms(harness).isEmpty)
            let second = #"{"id": "\#(UUID())", "status": "SUCCEEDED"}"#
            Self.show("FAILED", charges: "[\(first), \(second)]", on: harness)
            try await harness.tell("PAYMENT_INTENTS", of: payment.belvoID, data: #""status": "FAILED""#)
            try await harness.work()
            #expect(try await Self.alarms(harness) == ["contradiction"])
            #expect(try await client.requestPayment(enrollment, key: "tap-3").string("code") == "payment_in_doubt")
        }
    }

    @Test func `what collects after an operator has settled, and before Belvo shows an end, is asked about anew`()
        async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await TakenBackTests.failed(harness, &client, payment)
            func charge() -> String { #"{"id": "\#(UUID())", "status": "SUCCEEDED"}"# }
            let first = charge()
            Self.show("FAILED", charges: "[\(first)]", on: harness)
            try await harness.tell("PAYMENT_INTENTS", of: payment.belvoID, data: #""status": "PROCESSING""#)
            try await harness.work()
            #expect(try await Self.alarms(harness) == ["contradiction"])
            Self.show("FAILED", charges: "[\(first), \(charge())]", on: harness)
            try await harness.database.execute(
                "UPDATE money_alarms SET settled_at = app_now(), settled_by = 'rosa: it went back'")
            for _ in 0..<2 { try await harness.pass(.seconds(10)) }
            #expect(try await Self.alarms(harness) == ["contradiction"])
            #expect(try await client.requestPayment(enrollment, key: "tap-3").string("code") == "payment_in_doubt")
        }
    }

    @Test func `what collects while an operator is asked stands in the same alarm`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            let charges = (0..<2).map { _ in #"{"id": "\#(UUID())", "status": "SUCCEEDED"}"# }
            Self.show("FAILED", charges: "[\(charges[0])]", on: harness)
            try await harness.poll()
            Self.show("FAILED", charges: "[\(charges.joined(separator: ", "))]", on: harness)
            try await harness.poll()
            let details = try await harness.lines("SELECT detail AS line FROM money_alarms")
            let names = try await harness.lines("SELECT collected_by AS line FROM payments")
            #expect(names[0].split(separator: " ").count == 2)
            #expect(details == ["it goes on after FAILED, collected by \(names[0])"])
        }
    }

    @Test func `a transfer that collected before another one has paid is an alarm, though Belvo leaves it out then`()
        async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            let other = #"""
                [{"id": "\#(UUID())", "status": "SUCCEEDED", "payment_method_information": {
                    "open_finance_biometric_pix": {"end_to_end_id": "E43215815202611221852HX6L8Zx9BkT"}}}]
                """#
            Self.show("PROCESSING", charges: other, on: harness)
            try await harness.poll()
            harness.sandbox.clearFaults()
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.poll()
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
            #expect(try await Self.alarms(harness) == ["double_paid"])
        }
    }

    @Test func `two transfers that an operator has settled are no new alarm when Belvo calls the payment paid by one`()
        async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            let told = try await harness.merchant.dependencies.belvo.readPaymentIntent(
                PaymentIntent.ID(try #require(UUID(uuidString: payment.belvoID))))
            let own = try #require(told.biometricPix.endToEndID)
            let charges = [own, "E43215815202611221852HX6L8Zx9BkT"].map { transfer in
                #"""
                {"id": "\#(UUID())", "status": "SUCCEEDED", "payment_method_information": {
                    "open_finance_biometric_pix": {"end_to_end_id": "\#(transfer)"}}}
                """#
            }
            Self.show("FAILED", charges: "[\(charges.joined(separator: ", "))]", on: harness)
            try await harness.poll()
            #expect(try await Set(Self.alarms(harness)) == ["double_paid", "contradiction"])
            try await harness.database.execute(
                "UPDATE money_alarms SET settled_at = app_now(), settled_by = 'rosa: once'")
            Self.show("SUCCEEDED", charges: "[\(charges.joined(separator: ", "))]", on: harness)
            try await harness.pass(.seconds(10))
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
            let open = try await harness.lines("SELECT kind AS line FROM money_alarms WHERE settled_at IS NULL")
            #expect(!open.contains("double_paid"))
        }
    }

    @Test func `a charge that has collected and is read by itself counts, where the intent shows only one that failed`()
        async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            let failed = #"[{"id": "\#(UUID())", "status": "FAILED"}]"#
            Self.show("PROCESSING", charges: failed, on: harness)
            let charge = try #require(harness.sandbox.movement("CHARGES", of: payment.belvoID))
            try await harness.tell("CHARGES", of: charge)
            try await harness.pass(.seconds(3))
            let collectedBy = try await harness.lines("SELECT coalesce(collected_by, '') AS line FROM payments")
            try #require(collectedBy[0].contains(charge))
            Self.show("SUCCEEDED", charges: failed, on: harness)
            try await harness.poll()
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
            #expect(try await Self.alarms(harness).isEmpty)
        }
    }

    @Test func `what has collected and is shown pending for too long is an alarm, and two transfers are at once`()
        async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            let charges = ["HX6L8Zx9BkT", "HX6L8Zx9BkU"].map { end in
                #"""
                {"id": "\#(UUID())", "status": "SUCCEEDED", "payment_method_information": {
                    "open_finance_biometric_pix": {"end_to_end_id": "E43215815202611221852\#(end)"}}}
                """#
            }
            Self.show("PENDING", charges: "[\(charges[0])]", on: harness)
            try await harness.poll()
            #expect(try await Self.alarms(harness).isEmpty)
            Self.show("PENDING", charges: "[\(charges.joined(separator: ", "))]", on: harness)
            try await harness.poll()
            #expect(try await Self.alarms(harness) == ["double_paid"])
            try await harness.advance(by: harness.settings.timeouts.pollDeadline)
            for _ in 0..<2 { try await harness.pass(.seconds(600)) }
            #expect(try await Set(Self.alarms(harness)) == ["double_paid", "contradiction"])
        }
    }

    @Test func `the comparison of a day has a payment read that was given up and is under way at Belvo`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            _ = try await client.cancel(payment)
            try harness.sandbox.turn(intent: payment.belvoID, to: "PROCESSING")
            _ = try await harness.operate { try await $0.reconcile(UTCDay(of: WallClock.now())) }
            try await harness.work()
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "payment_in_doubt")
        }
    }

    @Test(arguments: ["PROCESSING", "SCHEDULED"])
    func `a charge that is under way shows that its intent was signed, whatever that shows`(status: String)
        async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            Self.show("PENDING", charges: #"[{"id": "\#(UUID())", "status": "CREATED"}]"#, on: harness)
            try await harness.tell("PAYMENT_INTENTS", of: payment.belvoID, data: #""status": "PENDING""#)
            try await harness.work()
            let signed: SQL = "SELECT (seen_signed_at IS NOT NULL)::text AS line FROM payments"
            #expect(try await harness.lines(signed) == ["false"])
            Self.show("PENDING", charges: #"[{"id": "\#(UUID())", "status": "\#(status)"}]"#, on: harness)
            #expect(try await client.cancel(payment).status == 409)
            #expect(try await harness.lines(signed) == ["true"])
        }
    }

    @Test(arguments: [nil, "INFLOW", "OUTFLOW"])
    func `a transaction after FAILED is money, unless Belvo shows that it went out`(direction: String?) async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await TakenBackTests.failed(harness, &client, payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            Self.show("FAILED", charges: "[]", on: harness)
            let shown = direction.map { "\"\($0)\"" } ?? "null"
            harness.sandbox.next(
                .altered([Fault.Alteration("/transaction_type", shown)]), on: .getTransaction, count: nil)
            try await harness.tell(
                "TRANSACTIONS", of: #require(harness.sandbox.movement("TRANSACTIONS", of: payment.belvoID)), data: "")
            try await harness.work()
            #expect(try await Self.alarms(harness) == (direction == "OUTFLOW" ? [] : ["contradiction"]))
        }
    }

    @Test func `a transaction whose webhook names its intent is read, though the intent is under way`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            Self.show("PROCESSING", charges: "[]", on: harness)
            try await harness.tell(
                "TRANSACTIONS", of: #require(harness.sandbox.movement("TRANSACTIONS", of: payment.belvoID)),
                data: #""payment_intent": "\#(payment.belvoID)""#)
            try await harness.work()
            Self.show("FAILED", charges: "[]", on: harness)
            try await harness.poll()
            #expect(try await Self.alarms(harness) == ["contradiction"])
        }
    }

    @Test func `a transaction that names another transfer than the one that paid is an alarm`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.poll()
            try await harness.tell(
                "TRANSACTIONS", of: #require(harness.sandbox.movement("TRANSACTIONS", of: payment.belvoID)),
                data: #""end_to_end_id": "E43215815202611221852HX6L8Zx9BkT""#)
            try await harness.work()
            #expect(try await Self.alarms(harness) == ["double_paid"])
        }
    }

    @Test func `a webhook of a charge keeps the reference of the intent that the charge names, until it is settled`()
        async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await TakenBackTests.failed(harness, &client, payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            Self.show("FAILED", charges: "[]", on: harness)
            harness.sandbox.next(.altered([Fault.Alteration("/status", #""PENDING""#)]), on: .getCharge, count: nil)
            try await Self.tell("CHARGES", of: payment, harness)
            #expect(try await Self.alarms(harness).isEmpty)
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 503)
        }
    }

    @Test func `two transfers in the answer that first shows a payment as paid are an alarm`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            let other = #"""
                [{"id": "\#(UUID())", "status": "SUCCEEDED", "payment_method_information": {
                    "open_finance_biometric_pix": {"end_to_end_id": "E43215815202611221852HX6L8Zx9BkT"}}}]
                """#
            Self.show("SUCCEEDED", charges: other, on: harness)
            try await harness.poll()
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
            #expect(try await Self.alarms(harness) == ["double_paid"])
        }
    }

    @Test func `what was collected for a payment that was given up unsigned keeps its reference`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            _ = try await client.cancel(payment)
            try harness.sandbox.turn(intent: payment.belvoID, to: "PROCESSING")
            try harness.sandbox.settle(intent: payment.belvoID)
            Self.show("PENDING", on: harness)
            try await Self.tell("CHARGES", of: payment, harness)
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "payment_in_doubt")
            #expect(try await Self.alarms(harness) == ["contradiction"])

            harness.sandbox.clearFaults()
            try await harness.poll()
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
            #expect(try await Set(Self.alarms(harness)) == ["contradiction", "late_success"])
        }
    }

    @Test func `the comparison of a day finds what was collected after FAILED, and asks an operator`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await TakenBackTests.failed(harness, &client, payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            Self.show("FAILED", on: harness)
            harness.sandbox.next(
                .altered([Fault.Alteration("/results/*/status", #""FAILED""#)]), on: .listPaymentIntents, count: nil)
            let differences = try await harness.operate { try await $0.reconcile(UTCDay(of: WallClock.now())) }
            #expect(differences.map(\.kind) == [.chargeStatus])
            #expect(try await Self.alarms(harness) == ["contradiction"])
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "payment_in_doubt")
        }
    }
}
