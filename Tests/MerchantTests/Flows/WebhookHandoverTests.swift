import BelvoSandbox
import HTTP
import JSON
import Payments
import Postgres
import Testing
import Transport

@testable import MerchantServer
@testable import MerchantStore
@testable import MerchantWorkflows

/// A webhook is stored as claimed by the server that got it, while that server's worker is running: each row
/// is written when it comes and when it is settled, and survives the server all the same.
@Suite struct WebhookHandoverTests {
    private static func open(
        _ body: @escaping @Sendable (TestHarness, inout AppClient, AppClient.OpenedPayment) async throws -> Void
    ) async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await body(harness, &client, payment)
        }
    }

    private static func tell(_ harness: TestHarness, _ intent: String) async throws {
        try await harness.tell("PAYMENT_INTENTS", of: intent, data: #""status": "SUCCEEDED""#)
    }

    /// The statement that the loop of a server's workers repeats.
    private static func isDue(_ harness: TestHarness) async throws -> Bool {
        try await harness.merchant.dependencies.dueTables(among: [.webhookReceipts]).contains(.webhookReceipts)
    }

    private static func lines(_ harness: TestHarness) async throws -> [String] {
        try await harness.lines(
            """
            SELECT outcome || ' ' || version || CASE WHEN leased_until > app_now() THEN ' leased' ELSE '' END AS line
            FROM webhook_receipts
            """)
    }

    @Test func `what comes while the worker is there is written when it comes and when it is settled`() async throws {
        try await Self.open { harness, client, payment in
            #expect(try await !Self.isDue(harness))
            try await Self.tell(harness, payment.belvoID)
            #expect(try await Self.lines(harness) == ["received 1 leased"])
            #expect(try await Self.isDue(harness))
            try await harness.work()
            #expect(try await Self.lines(harness) == ["done 2"])
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
        }
    }

    @Test func `what names nothing that is known here is due for everybody, and keeps no place before the worker`()
        async throws
    {
        try await Self.open { harness, client, payment in
            _ = try await Self.isDue(harness)
            try await Self.tell(harness, "5a1cc9e5-47f5-4c8b-b7f3-4f0f4d1c6c11")
            #expect(try await Self.lines(harness) == ["received 1"])
            try await Self.tell(harness, payment.belvoID)
            #expect(try await Self.lines(harness).sorted() == ["received 1", "received 1 leased"])
        }
    }

    @Test func `an invented object under the name of a payment whose own object is known keeps no place either`()
        async throws
    {
        try await Self.open { harness, client, payment in
            _ = try await Self.isDue(harness)
            try await harness.tell("PAYMENT_INTENTS", of: "5a1cc9e5-47f5-4c8b-b7f3-4f0f4d1c6c11", named: payment.id)
            #expect(try await Self.lines(harness) == ["received 1"])
        }
    }

    @Test func `invented webhooks that are being read keep no true one waiting`() async throws {
        try await Self.open { harness, client, payment in
            let workers = harness.merchant.dependencies.workers.filter { $0.table == .webhookReceipts }
            #expect(workers.map(\.name) == ["webhooks", "stored_webhooks"])
            let before = harness.countCalls(.getPaymentIntent)
            harness.sandbox.next(.delayAnswer(.seconds(60)), on: .getPaymentIntent, count: 3)
            for number in 1...3 { try await Self.tell(harness, "5a1cc9e5-47f5-4c8b-b7f3-4f0f4d1c6c1\(number)") }
            let reading = harness.loop.task { try await workers[1].runOnce() }
            defer { reading.cancel() }
            while harness.countCalls(.getPaymentIntent) < before + 3 {
                try await harness.loop.sleep(for: .milliseconds(5))
            }
            _ = try await Self.isDue(harness)
            try await Self.tell(harness, payment.belvoID)
            _ = try await harness.loop.task { try await workers[0].runOnce() }.value
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
        }
    }

    @Test func `what comes while no worker is there is due for everybody`() async throws {
        try await Self.open { harness, _, payment in
            _ = harness.merchant.dependencies.webhookIntake.attend(at: .now() + .seconds(-4))
            try await Self.tell(harness, payment.belvoID)
            #expect(try await Self.lines(harness) == ["received 1"])
        }
    }

    @Test func `what a server had that died is worked on by another one after the lease`() async throws {
        try await Self.open { harness, _, payment in
            _ = try await Self.isDue(harness)
            try await Self.tell(harness, payment.belvoID)
            try await harness.withAnotherInstance { other in
                try await harness.advance(by: .seconds(29))
                try await other.work()
                #expect(try await Self.lines(harness) == ["received 1 leased"])
                try await harness.advance(by: .seconds(1))
                try await other.work()
                #expect(try await Self.lines(harness) == ["done 3"])
            }
        }
    }

    @Test func `what a server has that stops is due for the others at once`() async throws {
        try await Self.open { harness, _, payment in
            try await harness.withAnotherInstance { other in
                _ = try await Self.isDue(harness)
                try await Self.tell(harness, payment.belvoID)
                #expect(try await Self.lines(harness) == ["received 1 leased"])
                await harness.merchant.stop()
                #expect(try await Self.lines(harness) == ["received 2"])
                try await other.work()
                #expect(try await Self.lines(harness) == ["done 4"])
            }
        }
    }

    @Test func `what comes to a server that stops is due for everybody`() async throws {
        try await Self.open { harness, _, payment in
            harness.merchant.dependencies.webhookIntake.close()
            _ = try await Self.isDue(harness)
            try await Self.tell(harness, payment.belvoID)
            #expect(try await Self.lines(harness) == ["received 1"])
        }
    }

    @Test func `what has waited too long for the worker is claimed anew before it is read`() async throws {
        try await Self.open { harness, client, payment in
            _ = try await Self.isDue(harness)
            try await Self.tell(harness, payment.belvoID)
            let intake = harness.merchant.dependencies.webhookIntake
            intake.hand(intake.take(limit: 8).map(\.receipt), since: .now() + .seconds(-6))
            try await harness.work()
            // Given back, claimed and settled.
            #expect(try await Self.lines(harness) == ["done 4"])
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
        }
    }

    @Test func `what comes again while it waits is one reading`() async throws {
        try await Self.open { harness, _, payment in
            _ = try await Self.isDue(harness)
            let before = harness.countCalls(.getPaymentIntent)
            for _ in 0..<3 { try await Self.tell(harness, payment.belvoID) }
            try await harness.work()
            #expect(try await Self.lines(harness) == ["done 4"])
            #expect(harness.countCalls(.getPaymentIntent) == before + 1)
        }
    }
}
