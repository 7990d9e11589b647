import Belvo
import BelvoSandbox
import FoundationEssentials
import MerchantModel
import Postgres
import Testing

@testable import MerchantServer

/// The shop gets events about foreign payments only where they are its own money.
@Suite struct ForeignEventTests {
    private static let payments = """
        SELECT concat_ws(' ', origin, state, amount_centavos, reference, provider_status) AS line FROM payments
        ORDER BY id
        """ as SQL

    @Test(arguments: [#""9b2cb1e3-6cf5-4d6f-9c3f-0a64a1b2c3d4""#, nil])
    func `what an app pays to another account is no income of the shop's`(account: String?) async throws {
        try await ShopDouble.serving { shop in
            try await TestHarness.open(environment: shop.environment) { harness in
                var client = try await AppClient.arrive(on: harness)
                let intent = try await client.openPaymentBySDK(from: client.enroll().atBelvo())
                try harness.sandbox.settle(intent: intent.description)
                let beneficiary = "/payment_method_details/open_finance_biometric_pix/beneficiary_bank_account"
                harness.sandbox.next(
                    .altered([Fault.Alteration(beneficiary, account)]), on: .getPaymentIntent, count: nil)
                try await harness.tell("PAYMENT_INTENTS", of: intent.description)
                for _ in 1...2 { try await harness.pass(.seconds(10)) }
                #expect(try await harness.lines(Self.payments) == ["observed succeeded 700 SUCCEEDED"])
                #expect(shop.types == ["enrollment.succeeded"])
                #expect(
                    try await harness.lines(
                        "SELECT concat_ws(' ', origin, status, payments, amount) AS line FROM ops.totals_per_day")
                        == ["observed SUCCEEDED 1 7.00"])
            }
        }
    }

    @Test(arguments: [false, true])
    func `income is an event once Belvo shows that it is the shop's`(isReconciled: Bool) async throws {
        try await ShopDouble.serving { shop in
            try await TestHarness.open(environment: shop.environment) { harness in
                var client = try await AppClient.arrive(on: harness)
                let intent = try await client.openPaymentBySDK(from: client.enroll().atBelvo())
                try harness.sandbox.settle(intent: intent.description)
                let beneficiary = "/payment_method_details/open_finance_biometric_pix/beneficiary_bank_account"
                harness.sandbox.next(
                    .altered([Fault.Alteration(beneficiary, nil)]), on: .getPaymentIntent, count: nil)
                try await harness.tell("PAYMENT_INTENTS", of: intent.description)
                try await harness.pass(.seconds(10))
                #expect(try await harness.lines(Self.payments) == ["observed succeeded 700 SUCCEEDED"])
                #expect(shop.types == ["enrollment.succeeded"])
                harness.sandbox.clearFaults()
                for _ in 1...2 {
                    if isReconciled {
                        try await harness.reconcileToday()
                    } else {
                        try await harness.tell("PAYMENT_INTENTS", of: intent.description)
                    }
                    try await harness.pass(.seconds(10))
                }
                #expect(shop.types == ["enrollment.succeeded", "payment.succeeded"])
            }
        }
    }

    @Test func `a payment that was imported with another amount is set right by two readings that agree`() async throws
    {
        try await ShopDouble.serving { shop in
            try await TestHarness.open(environment: shop.environment) { harness in
                var client = try await AppClient.arrive(on: harness)
                let intent = try await client.openPaymentBySDK(from: client.enroll().atBelvo())
                try harness.sandbox.settle(intent: intent.description)
                let odd = Fault.altered([Fault.Alteration("/amount", #""70.00""#)])
                harness.sandbox.next(odd, on: .getPaymentIntent, count: nil)
                try await harness.tell("PAYMENT_INTENTS", of: intent.description)
                try await harness.pass(.seconds(10))
                #expect(try await harness.lines(Self.payments) == ["observed succeeded 7000 SUCCEEDED"])
                harness.sandbox.clearFaults()
                try await harness.tell("PAYMENT_INTENTS", of: intent.description)
                try await harness.pass(.seconds(10))
                #expect(try await harness.lines(Self.payments) == ["observed succeeded 700 SUCCEEDED"])
                #expect(shop.types == ["enrollment.succeeded", "payment.succeeded", "payment.succeeded"])
                harness.sandbox.next(odd, on: .getPaymentIntent)
                try await harness.tell("PAYMENT_INTENTS", of: intent.description)
                for _ in 1...2 { try await harness.pass(.seconds(10)) }
                #expect(try await harness.lines(Self.payments) == ["observed succeeded 700 SUCCEEDED"])
            }
        }
    }

    @Test func `the shop hears of no failure of a reference that was paid, when its unsigned twin lapses`() async throws
    {
        try await ShopDouble.serving { shop in
            try await TestHarness.open(environment: shop.environment) { harness in
                var client = try await AppClient.arrive(on: harness)
                let enrollment = try await client.enroll()
                let payment = try await client.openPayment(enrollment)
                let twin = try await client.openPaymentBySDK(
                    from: enrollment.atBelvo(), named: payment.id, centavos: 1990)
                try await harness.tell("PAYMENT_INTENTS", of: twin.description)
                try await harness.work()
                try await client.authorize(payment)
                try harness.sandbox.settle(intent: payment.belvoID)
                try await harness.poll()
                try harness.sandbox.fail(intent: twin.description)
                try await harness.tell("PAYMENT_INTENTS", of: twin.description, data: #""status": "FAILED""#)
                for _ in 0..<3 { try await harness.work() }
                #expect(
                    try await harness.lines(Self.payments).sorted() == [
                        "observed failed 1990 order-1 FAILED", "own succeeded 1990 order-1 SUCCEEDED",
                    ])
                #expect(shop.types == ["enrollment.succeeded", "payment.succeeded"])
            }
        }
    }
}
