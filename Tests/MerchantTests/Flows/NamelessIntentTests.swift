import Belvo
import BelvoSandbox
import HTTP
import Postgres
import TestSupport
import Testing
import Transport

/// A creation that Belvo refused and carried out all the same, whose intent Belvo shows without its name.
@Suite struct NamelessIntentTests {
    /// The payment's id, and Belvo's id of its intent, which was paid; single readings and lists leave its name out.
    private static func paidWithoutName(
        _ harness: TestHarness, _ client: AppClient, _ enrollment: AppClient.Enrollment
    ) async throws -> (id: String, intent: String) {
        harness.sandbox.next(.statusAfter(400), on: .createPaymentIntent)
        #expect(try await client.requestPayment(enrollment).status >= 400)
        let id = try #require(try await harness.lines("SELECT id::text AS line FROM payments").first)
        let intent = try #require(harness.sandbox.intentIDs(externalID: id).first)
        try harness.sandbox.settle(intent: intent)
        harness.sandbox.next(
            .altered([Fault.Alteration("/external_id", "null")]), on: .getPaymentIntent, count: nil)
        harness.sandbox.next(
            .altered([Fault.Alteration("/results/0/external_id", "null")]), on: .listPaymentIntents, count: nil)
        return (id, intent)
    }

    private static let payments = """
        SELECT concat_ws(' ', origin, status, reference) AS line FROM payments ORDER BY origin
        """ as SQL

    @Test(arguments: [true, false])
    func `an intent that shows its name late is the payment that bears it`(isNamedByWebhook: Bool) async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let (id, intent) = try await Self.paidWithoutName(harness, client, enrollment)
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
}
