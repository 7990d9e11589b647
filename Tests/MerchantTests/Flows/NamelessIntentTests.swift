import Belvo
import BelvoSandbox
import HTTP
import MerchantModel
import Postgres
import TestSupport
import Testing
import Transport

@testable import MerchantServer
@testable import MerchantWorkflows

/// A creation that Belvo refused and carried out all the same, whose intent Belvo shows without its name.
@Suite struct NamelessIntentTests {
    /// The payment's id, and Belvo's id of its intent, which was paid; single readings and lists show this in the place
    /// of its name.
    private static func paidWithoutName(
        _ harness: TestHarness, _ client: AppClient, _ enrollment: AppClient.Enrollment, showing name: String = "null"
    ) async throws -> (id: String, intent: String) {
        harness.sandbox.next(.statusAfter(400), on: .createPaymentIntent)
        #expect(try await client.requestPayment(enrollment).status >= 400)
        let id = try #require(try await harness.lines("SELECT id::text AS line FROM payments").first)
        let intent = try #require(harness.sandbox.intentIDs(externalID: id).first)
        try harness.sandbox.settle(intent: intent)
        hideNames(harness, showing: name)
        return (id, intent)
    }

    private static func hideNames(_ harness: TestHarness, showing name: String = "null") {
        harness.sandbox.next(.altered([Fault.Alteration("/external_id", name)]), on: .getPaymentIntent, count: nil)
        harness.sandbox.next(
            .altered([Fault.Alteration("/results/0/external_id", name)]), on: .listPaymentIntents, count: nil)
    }

    private static let payments = """
        SELECT concat_ws(' ', origin, status, reference) AS line FROM payments ORDER BY origin
        """ as SQL

    @Test(arguments: [true, false], ["null", #""""#, #"" ""#])
    func `an intent that shows its name late is the payment that bears it`(isNamedByWebhook: Bool, shown: String)
        async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let (id, intent) = try await Self.paidWithoutName(harness, client, enrollment, showing: shown)
            try await harness.tell("PAYMENT_INTENTS", of: intent, named: isNamedByWebhook ? id : nil)
            for _ in 1...4 { try await harness.pass(.seconds(10)) }
            #expect(try await harness.lines(Self.payments) == ["own FAILED order-1"])
            harness.sandbox.clearFaults()
            for _ in 1...2 { try await harness.pass(.seconds(60)) }
            #expect(try await harness.lines(Self.payments) == ["own SUCCEEDED order-1"])
        }
    }

    @Test func `an intent that never shows its name holds the reference of the payment that its webhook names`()
        async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let (id, intent) = try await Self.paidWithoutName(harness, client, enrollment)
            try await harness.tell("PAYMENT_INTENTS", of: intent, named: id)
            try await harness.pass(.seconds(10))
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status >= 400)
            try await harness.pass(.seconds(3_700))
            #expect(
                try await harness.lines(Self.payments) == ["observed SUCCEEDED order-1", "own FAILED order-1"])
            #expect(try await client.requestPayment(enrollment, key: "tap-3").status == 409)
        }
    }

    @Test func `an intent of another amount than what is missing is imported at once, without a name`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            _ = try await Self.paidWithoutName(harness, client, enrollment)
            let other = try await client.openPaymentBySDK(from: enrollment.atBelvo())
            try await harness.tell("PAYMENT_INTENTS", of: "\(other)")
            try await harness.pass(.seconds(10))
            #expect(try await harness.lines(Self.payments) == ["observed PENDING", "own FAILED order-1"])
        }
    }

    @Test func `an intent that waits for its name waits in a reconciliation, too`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            _ = try await Self.paidWithoutName(harness, client, enrollment)
            try await harness.reconcileToday()
            #expect(try await harness.lines(Self.payments) == ["own FAILED order-1"])
            harness.sandbox.clearFaults()
            try await harness.reconcileToday()
            #expect(try await harness.lines(Self.payments) == ["own SUCCEEDED order-1"])
        }
    }

    @Test func `an intent that was imported without its name holds the reference once a list shows the name`()
        async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let (_, intent) = try await Self.paidWithoutName(harness, client, enrollment)
            try await harness.tell("PAYMENT_INTENTS", of: intent)
            try await harness.pass(.seconds(3_700))
            #expect(try await harness.lines(Self.payments) == ["observed SUCCEEDED", "own FAILED order-1"])
            harness.sandbox.clearFaults()
            // Who may hold a token may have signed it: Belvo's list of its name is asked before another is opened.
            #expect(try await client.app.send(.post, "/v1/widget-token").status == 201)
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 409)
            #expect(
                try await harness.lines(Self.payments) == ["observed SUCCEEDED order-1", "own FAILED order-1"])
        }
    }

    @Test func `a second intent that shows its name after it was imported raises the alarm of its money`() async throws
    {
        try await ShopDouble.serving { shop in
            try await MayBelvoStillPayTests.open("optional", shop) { harness, client, enrollment in
                let payment = try await client.openPayment(enrollment)
                let other = try await client.openPaymentBySDK(
                    from: enrollment.atBelvo(), named: payment.id, centavos: 1990)
                try await client.authorize(payment)
                for intent in [payment.belvoID, "\(other)"] { try harness.sandbox.settle(intent: intent) }
                try await harness.poll()
                Self.hideNames(harness)
                try await harness.tell("PAYMENT_INTENTS", of: "\(other)")
                try await harness.pass(.seconds(10))
                #expect(try await harness.lines(Self.payments) == ["observed SUCCEEDED", "own SUCCEEDED order-1"])
                harness.sandbox.clearFaults()
                try await harness.pass(.seconds(3_700))
                #expect(
                    try await harness.lines(Self.payments) == ["observed SUCCEEDED order-1", "own SUCCEEDED order-1"])
                #expect(try await MayBelvoStillPayTests.alarms(on: harness).contains("double_paid"))
                try await harness.work()
                #expect(shop.types.count { $0 == "payment.succeeded" } == 3)
            }
        }
    }

    /// A payment and another intent of its name, which was imported without it, as it is then.
    private static func besideNameless(
        _ harness: TestHarness, _ client: AppClient, _ enrollment: AppClient.Enrollment,
        _ turn: (TestHarness, _ other: String) throws -> Void
    ) async throws -> (payment: AppClient.OpenedPayment, other: String) {
        let payment = try await client.openPayment(enrollment)
        let other = try await client.openPaymentBySDK(from: enrollment.atBelvo(), named: payment.id, centavos: 1990)
        try turn(harness, "\(other)")
        hideNames(harness)
        try await harness.tell("PAYMENT_INTENTS", of: "\(other)")
        try await harness.pass(.seconds(10))
        return (payment, "\(other)")
    }

    @Test func `an intent under way whose name a poll shows holds the reference`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let (payment, _) = try await Self.besideNameless(harness, client, enrollment) {
                try $0.sandbox.turn(intent: $1, to: "PROCESSING")
            }
            #expect(try await harness.lines(Self.payments) == ["observed PENDING", "own PENDING order-1"])
            harness.sandbox.clearFaults()
            try harness.sandbox.fail(intent: payment.belvoID)
            try await harness.hear(of: payment.belvoID)
            for _ in 1...2 { try await harness.pass(.seconds(30)) }
            #expect(try await harness.lines(Self.payments) == ["observed PENDING order-1", "own FAILED order-1"])
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 409)
        }
    }

    @Test func `an intent whose name a reconciliation shows gets it`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let (payment, _) = try await Self.besideNameless(harness, client, enrollment) {
                try $0.sandbox.settle(intent: $1)
            }
            #expect(try await harness.lines(Self.payments) == ["observed SUCCEEDED", "own PENDING order-1"])
            harness.sandbox.clearFaults()
            try await harness.reconcileToday()
            #expect(try await harness.lines(Self.payments) == ["observed SUCCEEDED order-1", "own PENDING order-1"])
            #expect(try await client.authorize(payment).status == 409)
        }
    }

    @Test func `a look for a name that is known by now keeps no reference, and is no work that is late`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let (payment, other) = try await Self.besideNameless(harness, client, enrollment) {
                try $0.sandbox.fail(intent: $1)
            }
            try harness.sandbox.fail(intent: payment.belvoID)
            try await harness.hear(of: payment.belvoID)
            harness.sandbox.clearFaults()
            try await harness.tell("PAYMENT_INTENTS", of: other, named: payment.id)
            try await harness.work()
            #expect(try await harness.lines(Self.payments) == ["observed FAILED order-1", "own FAILED order-1"])
            #expect(
                try await harness.lines(
                    "SELECT webhook_code AS line FROM webhook_receipts WHERE outcome = 'received'") == ["NAMELESS"])
            #expect(
                try await harness.lines("SELECT pending::text AS line FROM ops.workload WHERE what = 'webhooks'")
                    == ["0"])
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 201)
        }
    }

    /// Where an intent has its amount and its account, and other ones.
    static let oddTerms = [
        ("/amount", "null"), ("/amount", #""70.00""#),
        (
            "/payment_method_details/open_finance_biometric_pix/beneficiary_bank_account",
            #""9b2cb1e3-6cf5-4d6f-9c3f-0a64a1b2c3d4""#
        ),
    ]

    @Test(arguments: oddTerms)
    func `an imported intent is the twin that it was, though the reading that names it shows other terms`(
        pointer: String, shown: String
    ) async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let (payment, other) = try await Self.besideNameless(harness, client, enrollment) {
                try $0.sandbox.settle(intent: $1)
            }
            try harness.sandbox.fail(intent: payment.belvoID)
            harness.sandbox.clearFaults()
            harness.sandbox.next(.altered([Fault.Alteration(pointer, shown)]), on: .getPaymentIntent)
            try await harness.tell("PAYMENT_INTENTS", of: other)
            try await harness.work()
            try await harness.hear(of: payment.belvoID)
            #expect(try await harness.lines(Self.payments) == ["observed SUCCEEDED order-1", "own FAILED order-1"])
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 409)
        }
    }

    @Test func `an imported intent that is named with other terms is the twin once its own are shown`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            let other = try await client.openPaymentBySDK(
                from: enrollment.atBelvo(), named: payment.id, centavos: 1990)
            try harness.sandbox.settle(intent: "\(other)")
            let amount = Fault.Alteration("/amount", #""70.00""#)
            let nameless = [amount, Fault.Alteration("/external_id", "null")]
            harness.sandbox.next(.altered(nameless), on: .getPaymentIntent, count: nil)
            try await harness.tell("PAYMENT_INTENTS", of: "\(other)")
            try await harness.pass(.seconds(10))
            for faults in [[amount], []] {
                harness.sandbox.clearFaults()
                if !faults.isEmpty { harness.sandbox.next(.altered(faults), on: .getPaymentIntent, count: nil) }
                let lines = try await harness.lines(Self.payments)
                #expect(lines == ["observed SUCCEEDED", "own PENDING order-1"])
                try await harness.tell("PAYMENT_INTENTS", of: "\(other)")
                try await harness.pass(.seconds(10))
            }
            #expect(try await harness.lines(Self.payments) == ["observed SUCCEEDED order-1", "own PENDING order-1"])
            #expect(try await client.authorize(payment).status == 409)
        }
    }

    @Test(arguments: ["order-1", nil])
    func `a twin that was imported with another amount counts as one once its own is shown`(reference: String?)
        async throws
    {
        try await MayBelvoStillPayTests.open(orders: reference == nil ? "optional" : "required") {
            harness, client, enrollment in
            if reference != nil { _ = try await TakenBackTests.put(harness, for: "ana") }
            let answer = try await client.requestPayment(enrollment, reference: reference)
            let payment = AppClient.OpenedPayment(
                id: try answer.string("id"), belvoID: try answer.string("belvo_id"), answer: answer)
            let amount = Int64(((Double(try answer.string("amount")) ?? 0) * 100).rounded())
            let other = try await client.openPaymentBySDK(
                from: enrollment.atBelvo(), named: payment.id, centavos: amount)
            try harness.sandbox.settle(intent: "\(other)")
            harness.sandbox.next(
                .altered([Fault.Alteration("/amount", #""70.00""#)]), on: .getPaymentIntent, count: nil)
            try await harness.tell("PAYMENT_INTENTS", of: "\(other)")
            try await harness.pass(.seconds(10))
            harness.sandbox.clearFaults()
            try await harness.tell("PAYMENT_INTENTS", of: "\(other)")
            try await harness.pass(.seconds(10))
            #expect(
                try await harness.lines(
                    """
                    SELECT concat_ws(' ', amount_centavos, priced_by_order) AS line FROM payments
                    WHERE origin <> 'own'
                    """) == ["\(amount) \(reference == nil ? "f" : "t")"])
            #expect(try await client.authorize(payment).status == 409)
        }
    }
}
