import Belvo
import BelvoSandbox
import MerchantStore
import Postgres
import Testing

@testable import MerchantServer

/// A charge that is under way says that its intent was signed, and one that has failed says nothing of more money.
@Suite struct ChargeUnderWayTests {
    /// A payment that the user has given up unsigned, and whose charge Belvo then shows in this status, by itself.
    private static func charged(
        _ status: String, _ body: @escaping @Sendable (inout AppClient, AppClient.Enrollment) async throws -> Void
    ) async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            #expect(try await client.cancel(payment).status == 200)
            harness.sandbox.next(
                .altered([Fault.Alteration("/status", "\"\(status)\"")]), on: .getCharge, count: nil)
            try await harness.tell(
                "CHARGES", of: #require(harness.sandbox.movement("CHARGES", of: payment.belvoID)),
                data: #""status": "\#(status)""#)
            try await harness.work()
            // A word that is not known is looked up again until its intent has ended.
            let outcome = status == "ADIANTADA" ? "received" : "done"
            #expect(try await harness.lines("SELECT outcome AS line FROM webhook_receipts") == [outcome])
            try await body(&client, enrollment)
        }
    }

    @Test(arguments: ["PROCESSING", "SCHEDULED", "ADIANTADA"])
    func `a charge under way keeps the reference of its intent, which shows itself unsigned`(status: String)
        async throws
    {
        try await Self.charged(status) { client, enrollment async throws -> Void in
            let refused = try await client.requestPayment(enrollment, key: "tap-2")
            #expect(try refused.string("code") == "payment_in_doubt")
        }
    }

    @Test(arguments: ["CREATED", "PENDING"])
    func `a charge that waits does not keep the reference of an intent that was given up`(status: String) async throws {
        try await Self.charged(status) { client, enrollment async throws -> Void in
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 201)
        }
    }

    @Test(arguments: [true, false])
    func `a charge of an unknown word beside FAILED is a contradiction, also when it came before`(isBefore: Bool)
        async throws
    {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            func show(_ status: String) {
                harness.sandbox.clearFaults()
                harness.sandbox.next(.altered([Fault.Alteration("/status", #""PAID""#)]), on: .getCharge, count: nil)
                harness.sandbox.next(
                    .altered([Fault.Alteration("/status", "\"\(status)\""), Fault.Alteration("/charges", "[]")]),
                    on: .getPaymentIntent, count: nil)
            }
            let charge = try #require(harness.sandbox.movement("CHARGES", of: payment.belvoID))
            show(isBefore ? "PROCESSING" : "FAILED")
            try await harness.poll()
            try await harness.tell("CHARGES", of: charge, data: #""status": "PAID""#)
            try await harness.pass(.seconds(2))
            show("FAILED")
            for _ in 1...4 { try await harness.pass(.seconds(2)) }
            #expect(try await client.payment(payment).string("status") == "FAILED")
            #expect(try await harness.lines("SELECT kind AS line FROM ops.money_alarms") == ["contradiction"])
            #expect(harness.log.holds("payment.unknown_charge_status"))
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 409)
            #expect(try await harness.lines("SELECT outcome AS line FROM webhook_receipts") == ["done"])
        }
    }

    @Test func `a charge's webhook of the failure itself is no sign that a payment goes on after it`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            try await client.authorize(payment)
            func shown(_ status: String) -> Fault {
                .altered([Fault.Alteration("/status", "\"\(status)\""), Fault.Alteration("/charges", "[]")])
            }
            harness.sandbox.next(shown("FAILED"), on: .getPaymentIntent)
            try await harness.poll()
            harness.sandbox.next(shown("PROCESSING"), on: .getPaymentIntent, count: 3)
            harness.sandbox.next(shown("FAILED"), on: .getPaymentIntent, count: nil)
            harness.sandbox.next(.altered([Fault.Alteration("/status", "\"FAILED\"")]), on: .getCharge, count: nil)
            try await harness.tell(
                "CHARGES", of: #require(harness.sandbox.movement("CHARGES", of: payment.belvoID)),
                data: #""status": "FAILED""#)
            try await harness.work()
            for _ in 1...5 { try await harness.pass(.seconds(2)) }
            #expect(try await harness.lines("SELECT kind AS line FROM ops.money_alarms").isEmpty)
            #expect(try await harness.lines("SELECT outcome AS line FROM webhook_receipts") == ["done"])
            #expect(try await client.payment(payment).string("status") == "FAILED")
        }
    }

    @Test func `money for an intent that was made without us and does not end is an alarm past its deadline`()
        async throws
    {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let intent = try await client.openPaymentBySDK(from: enrollment.atBelvo(), named: "made by the SDK")
            try await harness.tell("PAYMENT_INTENTS", of: intent.description)
            try await harness.pass(.seconds(6))
            try harness.sandbox.settle(intent: intent.description)
            harness.sandbox.next(
                .altered([Fault.Alteration("/status", #""PENDING""#), Fault.Alteration("/charges", "[]")]),
                on: .getPaymentIntent, count: nil)
            try await harness.tell(
                "CHARGES", of: #require(harness.sandbox.movement("CHARGES", of: intent.description)))
            try await harness.work()
            #expect(try await harness.lines("SELECT kind AS line FROM ops.money_alarms").isEmpty)
            for _ in 1...3 { try await harness.pass(.seconds(601)) }
            #expect(try await harness.lines("SELECT kind AS line FROM ops.money_alarms") == ["contradiction"])
        }
    }
}
