import Belvo
import BelvoSandbox
import FoundationEssentials
import HTTP
import MerchantModel
import MerchantStore
import Postgres
import Testing

@testable import MerchantServer
@testable import MerchantWorkflows

/// Any user may name an intent after a payment. It is that payment's twin only where it is money for the same account,
/// and what one odd reading shows of it does not bind the two.
@Suite struct SharedNameTests {
    private typealias Scene = MayBelvoStillPayTests

    private static let payments = """
        SELECT concat_ws(' ', origin, status, reference) AS line FROM payments ORDER BY origin
        """ as SQL
    private static let account = "/payment_method_details/open_finance_biometric_pix/beneficiary_bank_account"
    private static let transfer = "/payment_method_information/open_finance_biometric_pix/end_to_end_id"

    /// The other intents' readings, altered; the payment's own are over, or have its own answer.
    private static func show(_ pointer: String, _ json: String?, of harness: TestHarness, count: Int? = nil) {
        harness.sandbox.clearFaults()
        harness.sandbox.next(.altered([Fault.Alteration(pointer, json)]), on: .getPaymentIntent, count: count)
    }

    private static func hear(of intent: Belvo.PaymentIntent.ID, on harness: TestHarness) async throws {
        try await harness.tell("PAYMENT_INTENTS", of: "\(intent)")
        try await harness.pass(.seconds(10))
    }

    /// The next reading of an intent is as it is, and no other one succeeds.
    private static func readOnce(on harness: TestHarness) {
        harness.sandbox.next(.altered([]), on: .getPaymentIntent)
        harness.sandbox.next(.refused(500, code: "unexpected_error"), on: .getPaymentIntent, count: nil)
    }

    /// Once all can be read, the twin that was paid has its payment's reference.
    private static func expectHeld(
        _ payment: AppClient.OpenedPayment, _ client: inout AppClient, on harness: TestHarness
    )
        async throws
    {
        #expect(try await client.authorize(payment).status == 503)
        harness.sandbox.clearFaults()
        try await harness.pass(.seconds(60))
        #expect(try await harness.lines(payments) == ["observed SUCCEEDED order-1", "own PENDING order-1"])
    }

    private static func pay(
        under payment: AppClient.OpenedPayment, _ client: AppClient, _ enrollment: AppClient.Enrollment,
        on harness: TestHarness
    ) async throws -> Belvo.PaymentIntent.ID {
        let other = try await client.openPaymentBySDK(from: enrollment.atBelvo(), named: payment.id, centavos: 1990)
        try harness.sandbox.settle(intent: "\(other)")
        return other
    }

    @Test func `a payment to another account does not pay twice what it is named after`() async throws {
        try await Scene.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.poll()
            let other = try await Self.pay(under: payment, client, enrollment, on: harness)
            Self.show(Self.account, #""\#(UUID())""#, of: harness)
            try await Self.hear(of: other, on: harness)
            #expect(try await harness.lines(Self.payments) == ["observed SUCCEEDED", "own SUCCEEDED order-1"])
            let alarms = try await Scene.alarms(on: harness)
            #expect(!alarms.contains("double_paid"))
            // It was another account's in two odd readings.
            harness.sandbox.clearFaults()
            try await Self.hear(of: other, on: harness)
            #expect(try await Scene.alarms(on: harness).contains("double_paid"))
        }
    }

    @Test func `a payment of another amount, found by a reconciliation, does not pay twice what it is named after`()
        async throws
    {
        try await Scene.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.poll()
            let other = try await client.openPaymentBySDK(from: enrollment.atBelvo(), named: payment.id, centavos: 2080)
            try harness.sandbox.settle(intent: "\(other)")
            try await harness.reconcileToday()
            #expect(try await harness.lines(Self.payments) == ["observed SUCCEEDED", "own SUCCEEDED order-1"])
            let alarms = try await Scene.alarms(on: harness)
            #expect(!alarms.contains("double_paid"))
        }
    }

    @Test func `without a reference, too, what is shown late as the shop's pays twice from then on`() async throws {
        try await Scene.open { harness, client, enrollment in
            let answer = try await client.requestPayment(enrollment, reference: nil)
            let payment = AppClient.OpenedPayment(
                id: try answer.string("id"), belvoID: try answer.string("belvo_id"), answer: answer)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.poll()
            let other = try await Self.pay(under: payment, client, enrollment, on: harness)
            Self.show(Self.account, #""\#(UUID())""#, of: harness)
            try await Self.hear(of: other, on: harness)
            let before = try await Scene.alarms(on: harness)
            harness.sandbox.clearFaults()
            try await Self.hear(of: other, on: harness)
            let after = try await Scene.alarms(on: harness)
            #expect(!before.contains("double_paid") && after.contains("double_paid"))
        }
    }

    @Test func `a payment to another account stays one where a reading shows no account`() async throws {
        try await Scene.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            let other = try await Self.pay(under: payment, client, enrollment, on: harness)
            Self.show(Self.account, #""\#(UUID())""#, of: harness)
            try await Self.hear(of: other, on: harness)
            Self.show(Self.account, nil, of: harness)
            try await Self.hear(of: other, on: harness)
            #expect(try await harness.lines(Self.payments) == ["observed SUCCEEDED", "own PENDING order-1"])
            harness.sandbox.clearFaults()
            #expect(try await client.authorize(payment).status == 204)
        }
    }

    @Test func `one reading that shows another name does not give a payment that name`() async throws {
        try await Scene.open { harness, client, enrollment in
            let other = try await client.openPaymentBySDK(from: enrollment.atBelvo(), centavos: 1990)
            try harness.sandbox.settle(intent: "\(other)")
            try await Self.hear(of: other, on: harness)
            let payment = try await client.openPayment(enrollment)
            Self.show("/external_id", #""\#(payment.id)""#, of: harness, count: 1)
            for _ in 1...2 { try await Self.hear(of: other, on: harness) }
            #expect(try await harness.lines(Self.payments) == ["observed SUCCEEDED", "own PENDING order-1"])
            #expect(try await client.authorize(payment).status == 204)
        }
    }

    @Test(arguments: [false, true])
    func `a payment that was imported without its transfer gets it once Belvo shows it`(isReconciled: Bool) async throws
    {
        try await Scene.open { harness, client, enrollment in
            let other = try await client.openPaymentBySDK(from: enrollment.atBelvo())
            try harness.sandbox.settle(intent: "\(other)")
            let known = "SELECT concat_ws(' ', status, end_to_end_id IS NOT NULL) AS line FROM payments" as SQL
            Self.show(Self.transfer, nil, of: harness)
            try await Self.hear(of: other, on: harness)
            #expect(try await harness.lines(known) == ["SUCCEEDED f"])
            harness.sandbox.clearFaults()
            if isReconciled {
                try await harness.reconcileToday()
            } else {
                try await Self.hear(of: other, on: harness)
            }
            #expect(try await harness.lines(known) == ["SUCCEEDED t"])
        }
    }

    @Test func `a payment that was imported wrong is set right when an operator has it read`() async throws {
        try await Scene.open { harness, client, enrollment in
            let other = try await client.openPaymentBySDK(from: enrollment.atBelvo())
            try harness.sandbox.settle(intent: "\(other)")
            Self.show("/amount", #""70.00""#, of: harness)
            try await Self.hear(of: other, on: harness)
            let known = "SELECT concat_ws(' ', id, amount_centavos) AS line FROM payments" as SQL
            let wrong = try await harness.lines(known)
            harness.sandbox.clearFaults()
            let id = try #require(wrong.first?.split(separator: " ").first.flatMap { UUID(uuidString: String($0)) })
            #expect(wrong == ["\(id.uuidString.lowercased()) 7000"])
            _ = try await harness.merchant.dependencies.store.requeue(.payment, id)
            try await harness.pass(.seconds(10))
            #expect(try await harness.lines(known) == ["\(id.uuidString.lowercased()) 700"])
        }
    }

    @Test func `no event tells of an amount that a twin was never paid with, once its own is shown`() async throws {
        try await ShopDouble.serving { shop in
            try await Scene.open(orders: "optional", shop.environment) { harness, client, enrollment in
                let payment = try await client.openPayment(enrollment)
                let other = try await Self.pay(under: payment, client, enrollment, on: harness)
                Self.show("/amount", #""70.00""#, of: harness)
                try await Self.hear(of: other, on: harness)
                let before = shop.successes
                harness.sandbox.clearFaults()
                for _ in 1...2 { try await Self.hear(of: other, on: harness) }
                #expect(before == ["70.00"])
                #expect(shop.successes.dropFirst() == ["19.90", "order-1 19.90"])
            }
        }
    }

    @Test func `a payment is not signed while a second reading of what one shows as its twin is missing`() async throws
    {
        try await Scene.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            let other = try await Self.pay(under: payment, client, enrollment, on: harness)
            Self.readOnce(on: harness)
            try await Self.hear(of: other, on: harness)
            try await Self.expectHeld(payment, &client, on: harness)
            #expect(
                try await harness.lines("SELECT webhook_code AS line FROM webhook_receipts WHERE outcome = 'received'")
                    == [])
        }
    }

    @Test func `what holds a payment is read ever less often while its reading fails`() async throws {
        try await Scene.open { harness, client, enrollment in
            try await harness.stopClock()
            let payment = try await client.openPayment(enrollment)
            let other = try await Self.pay(under: payment, client, enrollment, on: harness)
            Self.readOnce(on: harness)
            try await Self.hear(of: other, on: harness)
            harness.sandbox.clearFaults()
            // Belvo shows it without an amount, which no reading of the worker's can record.
            Self.show("/amount", "null", of: harness)
            let before = harness.countCalls(.getPaymentIntent)
            for _ in 1...60 { try await harness.pass(.seconds(1)) }
            #expect((2...40).contains(harness.countCalls(.getPaymentIntent) - before))
        }
    }

    @Test func `a payment is not signed once any reading has shown its name of another intent`() async throws {
        try await Scene.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            let other = try await Self.pay(under: payment, client, enrollment, on: harness)
            Self.show("/external_id", #""of-the-app""#, of: harness, count: 1)
            Self.readOnce(on: harness)
            try await Self.hear(of: other, on: harness)
            try await Self.expectHeld(payment, &client, on: harness)
        }
    }

    @Test func `a payment is not signed while what a reconciliation lists as its twin cannot be read`() async throws {
        try await Scene.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            _ = try await Self.pay(under: payment, client, enrollment, on: harness)
            harness.sandbox.next(.refused(500, code: "unexpected_error"), on: .getPaymentIntent, count: nil)
            try await harness.reconcileToday()
            try await Self.expectHeld(payment, &client, on: harness)
        }
    }

    @Test func `two readings do not give a payment another name than its webhook, if later ones show that`()
        async throws
    {
        try await Scene.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            let wrong = try await client.openPayment(enrollment, reference: "order-2", key: "tap-2")
            let other = try await Self.pay(under: payment, client, enrollment, on: harness)
            Self.show("/external_id", #""\#(wrong.id)""#, of: harness, count: 2)
            try await harness.tell("PAYMENT_INTENTS", of: "\(other)", named: payment.id)
            try await harness.pass(.seconds(10))
            for each in [payment, wrong] { #expect(try await client.authorize(each).status == 503) }
            for _ in 1...2 { try await harness.pass(.seconds(10)) }
            #expect(
                try await harness.lines(Self.payments)
                    == ["observed SUCCEEDED order-1", "own PENDING order-1", "own PENDING order-2"])
            #expect(try await client.authorize(payment).status == 409)
            #expect(try await client.authorize(wrong).status == 204)
        }
    }

    @Test func `an imported payment that is shown with another name than it bears is an alarm`() async throws {
        try await Scene.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            let right = try await client.openPayment(enrollment, reference: "order-2", key: "tap-2")
            let other = try await Self.pay(under: right, client, enrollment, on: harness)
            Self.show("/external_id", #""\#(payment.id)""#, of: harness)
            try await Self.hear(of: other, on: harness)
            let before = try await Scene.alarms(on: harness)
            harness.sandbox.clearFaults()
            try await Self.hear(of: other, on: harness)
            let after = try await Scene.alarms(on: harness)
            #expect(!before.contains("differs") && after.contains("differs"))
        }
    }
}
