import Belvo
import BelvoSandbox
import FoundationEssentials
import Postgres
import Testing

@testable import MerchantServer
@testable import MerchantWorkflows

/// A transfer that Belvo shows for one payment and then for another: the right one is paid in the end.
struct MovedTransferTests {
    private static let pointer = "/payment_method_information/open_finance_biometric_pix/end_to_end_id"
    private static let transfers = """
        SELECT reference || ' ' || state || ' ' || coalesce(end_to_end_id, 'none') AS line FROM payments ORDER BY id
        """ as SQL

    /// Two payments that are signed, of which the second has been settled at Belvo and is not known to be here.
    private func open(
        _ body:
            @escaping @Sendable (
                _ harness: TestHarness, _ client: AppClient, _ first: AppClient.OpenedPayment,
                _ second: AppClient.OpenedPayment, _ transfer: String
            ) async throws -> Void
    ) async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let first = try await client.openPayment(enrollment)
            let second = try await client.openPayment(enrollment, reference: "order-2", key: "tap-2")
            try await client.authorize(second)
            try harness.sandbox.settle(intent: second.belvoID)
            // Belvo has shown no transfer of it yet.
            try await harness.database.execute("UPDATE payments SET end_to_end_id = NULL")
            try await body(harness, client, first, second, try await ownTransfer(of: second, harness))
        }
    }

    private func expect(
        _ lines: [String], _ harness: TestHarness, _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let found = try await harness.lines(Self.transfers)
        #expect(found == lines, sourceLocation: location)
    }

    private func ownTransfer(of payment: AppClient.OpenedPayment, _ harness: TestHarness) async throws -> String {
        let id = try #require(UUID(uuidString: payment.belvoID))
        let told = try await harness.merchant.dependencies.belvo.readPaymentIntent(PaymentIntent.ID(id))
        return try #require(told.biometricPix.endToEndID)
    }

    /// The same, where Belvo has called the first one paid by the second one's transfer, and shows its own by now.
    private func openPaidByWrongTransfer(
        _ body:
            @escaping @Sendable (
                _ harness: TestHarness, _ client: AppClient, _ first: AppClient.OpenedPayment,
                _ second: AppClient.OpenedPayment, _ transfer: String
            ) async throws -> Void
    ) async throws {
        try await open { harness, payer, first, second, transfer in
            var client = payer
            try await client.authorize(first)
            try harness.sandbox.settle(intent: first.belvoID)
            try await hear(of: first, showing: transfer, harness)
            try await expect(["order-1 succeeded \(transfer)", "order-2 authorizing none"], harness)
            harness.sandbox.clearFaults()
            try await body(harness, client, first, second, transfer)
        }
    }

    private func hear(of payment: AppClient.OpenedPayment, showing transfer: String, _ harness: TestHarness)
        async throws
    {
        harness.sandbox.next(
            .altered([Fault.Alteration(Self.pointer, "\"\(transfer)\"")]), on: .getPaymentIntent, count: nil)
        try await harness.hear(of: payment.belvoID)
    }

    @Test func `a payment that has failed gives up the transfer by which another one was paid`() async throws {
        try await open { harness, client, first, second, transfer in
            try await hear(of: first, showing: transfer, harness)
            #expect(try await client.cancel(first).status == 200)
            harness.sandbox.clearFaults()
            try await expect(["order-1 failed \(transfer)", "order-2 authorizing none"], harness)
            try await harness.hear(of: second.belvoID)
            try await expect(["order-1 failed none", "order-2 succeeded \(transfer)"], harness)
            #expect(harness.log.holds("payment.transfer_moved"))
            #expect(!harness.log.holds("payment.end_to_end_id_repeated"))
        }
    }

    @Test func `a payment under way gives up a transfer that Belvo shows for it no more`() async throws {
        try await open { harness, payer, first, second, transfer in
            var client = payer
            try await client.authorize(first)
            try await hear(of: first, showing: transfer, harness)
            try await expect(["order-1 authorizing \(transfer)", "order-2 authorizing none"], harness)
            harness.sandbox.clearFaults()
            try await harness.hear(of: second.belvoID)
            let own = try await ownTransfer(of: first, harness)
            try await expect(["order-1 authorizing \(own)", "order-2 succeeded \(transfer)"], harness)
        }
    }

    @Test func `a payment that was paid by another one's transfer has its own once Belvo shows it, with an alarm`()
        async throws
    {
        try await openPaidByWrongTransfer { harness, _, first, second, transfer in
            try await harness.hear(of: second.belvoID)
            let own = try await ownTransfer(of: first, harness)
            try await expect(["order-1 succeeded \(own)", "order-2 succeeded \(transfer)"], harness)
            // It was shown as paid by two: a person finds out whether it was.
            #expect(try await harness.lines("SELECT kind AS line FROM money_alarms") == ["double_paid"])
        }
    }

    @Test func `while Belvo shows one transfer for two payments the second is not believed`() async throws {
        try await open { harness, payer, first, second, transfer in
            var client = payer
            try await client.authorize(first)
            try harness.sandbox.settle(intent: first.belvoID)
            harness.sandbox.next(
                .altered([Fault.Alteration(Self.pointer, "\"\(transfer)\"")]), on: .getPaymentIntent, count: nil)
            try await harness.hear(of: first.belvoID)
            try await harness.hear(of: second.belvoID)
            try await expect(["order-1 succeeded \(transfer)", "order-2 authorizing none"], harness)
            #expect(harness.log.holds("payment.end_to_end_id_repeated"))
            harness.sandbox.clearFaults()
            // Belvo has mended it: the second is paid at its next poll.
            try await harness.poll()
            #expect(try await harness.lines(Self.transfers)[1] == "order-2 succeeded \(transfer)")
        }
    }

    @Test func `a payment whose charge has collected another one's transfer has its own once Belvo shows it`()
        async throws
    {
        try await open { harness, payer, first, second, transfer in
            var client = payer
            try await client.authorize(first)
            let charge = #"""
                [{"id": "\#(UUID())", "status": "SUCCEEDED", "payment_method_information": {
                    "open_finance_biometric_pix": {"end_to_end_id": "\#(transfer)"}}}]
                """#
            harness.sandbox.next(
                .altered([Fault.Alteration("/charges", charge), Fault.Alteration(Self.pointer, "\"\(transfer)\"")]),
                on: .getPaymentIntent, count: nil)
            try await harness.hear(of: first.belvoID)
            #expect(
                try await harness.lines("SELECT collected_by AS line FROM payments WHERE collected_by IS NOT NULL")
                    .count == 1)
            harness.sandbox.clearFaults()
            try harness.sandbox.settle(intent: first.belvoID)
            try await hear(of: first, showing: transfer, harness)
            try await expect(["order-1 succeeded \(transfer)", "order-2 authorizing none"], harness)
            harness.sandbox.clearFaults()
            try await harness.hear(of: second.belvoID)
            let own = try await ownTransfer(of: first, harness)
            try await expect(["order-1 succeeded \(own)", "order-2 succeeded \(transfer)"], harness)
            #expect(try await harness.lines("SELECT kind AS line FROM money_alarms") == ["double_paid"])
        }
    }

    @Test func `what an operator has settled as failed gives up the transfer that it had collected by`() async throws {
        try await open { harness, payer, first, second, transfer in
            var client = payer
            try await client.authorize(first)
            try harness.sandbox.fail(intent: first.belvoID)
            try await harness.hear(of: first.belvoID)
            // It had collected by it, which was a contradiction and was settled.
            try await harness.database.execute(
                """
                UPDATE payments SET end_to_end_id = \(transfer), collected_by = \(transfer)
                WHERE belvo_id::text = \(first.belvoID)
                """)
            try await harness.hear(of: second.belvoID)
            try await expect(["order-1 failed none", "order-2 succeeded \(transfer)"], harness)
        }
    }

    @Test func `a payment gets its own transfer from one that has failed, where another is to have its own`()
        async throws
    {
        try await openPaidByWrongTransfer { harness, payer, first, second, transfer in
            var client = payer
            let own = try await ownTransfer(of: first, harness)
            let enrollment = try await client.enroll()
            let third = try await client.openPayment(enrollment, reference: "order-3", key: "tap-3")
            try await hear(of: third, showing: own, harness)
            #expect(try await client.cancel(third).status == 200)
            harness.sandbox.clearFaults()
            try await harness.hear(of: second.belvoID)
            try await expect(
                ["order-1 succeeded \(own)", "order-2 succeeded \(transfer)", "order-3 failed none"], harness)
        }
    }

    @Test(arguments: ["FAILED", "PROCESSING"])
    func `a paid payment keeps its transfer where Belvo shows it with another one and not as paid`(status: String)
        async throws
    {
        try await openPaidByWrongTransfer { harness, _, first, second, transfer in
            // The second one's reading is the first of the two.
            harness.sandbox.next(.altered([]), on: .getPaymentIntent)
            harness.sandbox.next(
                .altered([Fault.Alteration("/status", "\"\(status)\""), Fault.Alteration("/charges", "[]")]),
                on: .getPaymentIntent)
            try await harness.hear(of: second.belvoID)
            try await expect(["order-1 succeeded \(transfer)", "order-2 authorizing none"], harness)
        }
    }

    @Test func `a transfer that leaves a paid payment is an alarm, also after another one about it was settled`()
        async throws
    {
        try await openPaidByWrongTransfer { harness, _, first, second, transfer in
            try await harness.hear(of: first.belvoID)
            try await harness.database.execute(
                "UPDATE money_alarms SET settled_at = app_now(), settled_by = 'rosa: no'")
            try await harness.hear(of: second.belvoID)
            try await expect(
                ["order-1 succeeded \(try await ownTransfer(of: first, harness))", "order-2 succeeded \(transfer)"],
                harness)
            let open = try await harness.lines("SELECT kind AS line FROM money_alarms WHERE settled_at IS NULL")
            #expect(open == ["double_paid"])
        }
    }
}
