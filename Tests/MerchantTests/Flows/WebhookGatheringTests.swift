import BelvoSandbox
import FoundationEssentials
import HTTP
import JSON
import MerchantStore
import MerchantWorkflows
import Payments
import Postgres
import Testing

@testable import MerchantServer

/// Belvo sends webhooks about one end three times, and about many ends at once: what leads to one object is settled by
/// one reading of it, and what only repeats what is known by none.
@Suite struct WebhookGatheringTests {
    /// A payment that is signed, with what Belvo tells when it is paid.
    private struct Told {
        let payment: AppClient.OpenedPayment
        let charge: String
        let transaction: String
        let endToEndID: String
    }

    private static func open(
        _ body: @escaping @Sendable (TestHarness, inout AppClient, Told) async throws -> Void
    ) async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            let shown = try await belvo(harness, "payment-intents/\(payment.belvoID)/")
            let pix = shown["payment_method_information"]?["open_finance_biometric_pix"]
            let told = Told(
                payment: payment, charge: try #require(harness.sandbox.movement("CHARGES", of: payment.belvoID)),
                transaction: try #require(harness.sandbox.movement("TRANSACTIONS", of: payment.belvoID)),
                endToEndID: try #require(pix?["end_to_end_id"]?.string))
            try await body(harness, &client, told)
        }
    }

    /// Reads an object from Belvo itself.
    private static func belvo(_ harness: TestHarness, _ path: String) async throws -> JSONValue {
        let configuration = harness.sandbox.configuration
        let credentials = Data("\(configuration.secretID):\(configuration.secretPassword)".utf8)
        let request = Request(
            .get, Target(path: "/payments/br/\(path)"),
            headers: ["authorization": "Basic \(credentials.base64EncodedString())"])
        return try JSONDocument(parsing: try await harness.bank.send(request, deadline: .seconds(10)).body).root
    }

    private static func tellOfCharge(
        _ harness: TestHarness, _ told: Told, _ status: String = "SUCCEEDED"
    ) async throws {
        try await harness.tell(
            "CHARGES", of: told.charge, data: #""status": "\#(status)", "end_to_end_id": "\#(told.endToEndID)""#)
    }

    private static func tellOfTransaction(
        _ harness: TestHarness, _ told: Told, _ change: (String) -> String = { $0 }
    ) async throws {
        let data = """
            "transaction_type": "INFLOW", "amount": "19.90", "currency": "BRL",
            "payment_intent": "\(told.payment.belvoID)", "end_to_end_id": "\(told.endToEndID)"
            """
        try await harness.tell("TRANSACTIONS", of: told.transaction, data: change(data), code: "OBJECT_CREATED")
    }

    /// How often each kind of object was read.
    private static func readings(_ harness: TestHarness) -> [Int] {
        [.getPaymentIntent, .getCharge, .getTransaction].map { harness.countCalls($0) }
    }

    private static func outcomes(_ harness: TestHarness) async throws -> [String] {
        try await harness.lines("SELECT outcome AS line FROM webhook_receipts ORDER BY received_at")
    }

    @Test func `a charge's webhook that names no payment is worked on after that of its intent`() async throws {
        try await Self.open { harness, client, told in
            let before = Self.readings(harness)
            // The statement that the loop of a server's workers repeats.
            _ = try await harness.merchant.dependencies.dueTables(among: [.webhookReceipts])
            try await Self.tellOfCharge(harness, told)
            try await harness.work()
            #expect(Self.readings(harness) == before)
            try await harness.tell("PAYMENT_INTENTS", of: told.payment.belvoID, data: #""status": "SUCCEEDED""#)
            try await harness.work()
            #expect(try await client.payment(told.payment).string("status") == "SUCCEEDED")
            try await harness.pass(.seconds(2))
            #expect(try await Self.outcomes(harness) == ["done", "done"])
            #expect(Self.readings(harness) == [before[0] + 1, before[1], before[2]])
        }
    }

    @Test func `an end that is told by intent, charge and transaction is read once`() async throws {
        try await Self.open { harness, client, told in
            let before = Self.readings(harness)
            try await Self.tellOfCharge(harness, told)
            try await Self.tellOfTransaction(harness, told)
            try await harness.tell("PAYMENT_INTENTS", of: told.payment.belvoID, data: #""status": "SUCCEEDED""#)
            try await harness.work()
            #expect(try await client.payment(told.payment).string("status") == "SUCCEEDED")
            #expect(try await Self.outcomes(harness) == ["done", "done", "done"])
            #expect(Self.readings(harness) == [before[0] + 1, before[1], before[2]])
        }
    }

    @Test func `a transaction leads to its payment at once, and a charge that names nothing through itself`()
        async throws
    {
        try await Self.open { harness, client, told in
            let before = Self.readings(harness)
            try await Self.tellOfTransaction(harness, told)
            try await harness.tell("CHARGES", of: told.charge, data: #""status": "SUCCEEDED""#)
            try await harness.work()
            #expect(try await client.payment(told.payment).string("status") == "SUCCEEDED")
            #expect(Self.readings(harness) == [before[0] + 1, before[1] + 1, before[2]])
            #expect(try await Self.outcomes(harness) == ["done", "done"])
        }
    }

    @Test func `what only repeats what is known of a closed payment is not looked up`() async throws {
        try await Self.open { harness, client, told in
            try await harness.poll()
            #expect(try await client.payment(told.payment).string("status") == "SUCCEEDED")
            let before = Self.readings(harness)
            try await Self.tellOfCharge(harness, told)
            try await Self.tellOfTransaction(harness, told)
            try await harness.work()
            #expect(Self.readings(harness) == before)
            #expect(try await Self.outcomes(harness) == ["done", "done"])
            #expect(try await harness.lines("SELECT attempts::text AS line FROM webhook_receipts") == ["1", "1"])
        }
    }

    @Test func `what says something else of a closed payment is looked up`() async throws {
        try await Self.open { harness, _, told in
            try await harness.poll()
            let changes: [(String, String)] = [
                ("INFLOW", "OUTFLOW"), ("19.90", "19.91"), (told.endToEndID, "E00000000202611221200aaaaaaaaaaa"),
            ]
            for (number, (from, to)) in changes.enumerated() {
                try await Self.tellOfTransaction(harness, told) { $0.replacing(from, with: to) }
                let before = Self.readings(harness)
                try await harness.work()
                #expect(Self.readings(harness)[0] == before[0] + 1, "\(number)")
            }
            let before = Self.readings(harness)
            try await Self.tellOfCharge(harness, told, "FAILED")
            try await harness.work()
            #expect(Self.readings(harness) == [before[0] + 1, before[1] + 1, before[2]])
            // What the intent itself is said to have come to is always looked up.
            try await harness.tell("PAYMENT_INTENTS", of: told.payment.belvoID, data: #""status": "SUCCEEDED""#)
            try await harness.work()
            #expect(Self.readings(harness)[0] == before[0] + 2)
        }
    }

    @Test func `the webhook of a charge that failed is done although another charge has paid its payment`() async throws
    {
        try await Self.open { harness, _, told in
            try await harness.poll()
            harness.sandbox.next(.altered([Fault.Alteration("/status", #""FAILED""#)]), on: .getCharge, count: nil)
            for intent in ["", #", "payment_intent": "\#(told.payment.belvoID)""#] {
                try await harness.tell("CHARGES", of: told.charge, data: #""status": "FAILED"\#(intent)"#)
                try await harness.pass(.seconds(2))
                try await harness.work()
            }
            #expect(try await Self.outcomes(harness) == ["done", "done"])
        }
    }

    @Test func `a charge that names no intent is kept while its webhook names a payment`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            harness.sandbox.next(
                .altered([Fault.Alteration("/status", #""FAILED""#), Fault.Alteration("/charges", "[]")]),
                on: .getPaymentIntent, count: nil)
            try await harness.poll()
            harness.sandbox.next(.altered([Fault.Alteration("/payment_intent", "null")]), on: .getCharge, count: 1)
            try await harness.tell(
                "CHARGES", of: #require(harness.sandbox.movement("CHARGES", of: payment.belvoID)),
                data: #""status": "SUCCEEDED", "payment_intent": "\#(payment.belvoID)""#)
            try await harness.pass(.seconds(2))
            #expect(try await Self.outcomes(harness) == ["received"])
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status != 201)
            for _ in 1...3 { try await harness.pass(.seconds(2)) }
            #expect(try await Self.outcomes(harness) == ["done"])
            #expect(try await harness.lines("SELECT kind AS line FROM ops.money_alarms") == ["contradiction"])
        }
    }

    @Test func `a movement of a payment that was given up is looked up, and corrects it`() async throws {
        for type in ["CHARGES", "TRANSACTIONS"] {
            try await TestHarness.open { harness in
                let (client, payment) = try await Self.givenUp(on: harness)
                try harness.sandbox.settle(intent: payment.belvoID)
                let object = try #require(harness.sandbox.movement(type, of: payment.belvoID))
                try await harness.tell(
                    type, of: object, data: #""status": "SUCCEEDED", "payment_intent": "\#(payment.belvoID)""#)
                try await harness.work()
                #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
                #expect(try await harness.lines("SELECT kind AS line FROM ops.money_alarms") == ["late_success"])
            }
        }
    }

    private static func givenUp(on harness: TestHarness) async throws -> (AppClient, AppClient.OpenedPayment) {
        var client = try await AppClient.arrive(on: harness)
        let payment = try await client.openPayment(client.enroll())
        _ = try await client.cancel(payment)
        return (client, payment)
    }

    @Test func `a movement of a payment in contradiction is looked up each time`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            try await client.authorize(payment)
            harness.sandbox.next(.altered([Fault.Alteration("/status", #""FAILED""#)]), on: .getPaymentIntent)
            try await harness.poll()
            try harness.sandbox.settle(intent: payment.belvoID)
            for number in 1...2 {
                let before = harness.countCalls(.getPaymentIntent)
                let object = try #require(harness.sandbox.movement("TRANSACTIONS", of: payment.belvoID))
                try await harness.tell(
                    "TRANSACTIONS", of: object,
                    data: #""transaction_type": "INFLOW", "payment_intent": "\#(payment.belvoID)""#)
                try await harness.work()
                // What takes a last status back is believed when a second reading shows it.
                let readings = number == 1 ? 2 : 1
                #expect(harness.countCalls(.getPaymentIntent) == before + readings, "\(number)")
            }
            #expect(try await harness.lines("SELECT kind AS line FROM ops.money_alarms") == ["contradiction"])
        }
    }

    @Test func `a transaction that names an intent that is nobody's is read itself`() async throws {
        try await Self.open { harness, client, told in
            try await Self.tellOfTransaction(harness, told) {
                $0.replacing(told.payment.belvoID, with: "1b3a1c7e-90d4-4f26-8a51-0d6c2e9b7f10")
            }
            try await harness.work()
            #expect(harness.countCalls(.getTransaction) == 1)
            #expect(try await client.payment(told.payment).string("status") == "SUCCEEDED")
        }
    }

    @Test func `webhooks that come at once are on disk before they are answered, and share commits`() async throws {
        try await TestHarness.open { harness in
            try await withThrowingTaskGroup { group in
                for number in 100..<200 {
                    group.addTask {
                        try await harness.tell(
                            "PAYMENT_INTENTS", of: "1b3a1c7e-90d4-4f26-8a51-0d6c2e9b7\(number)")
                        let stored = try await harness.lines(
                            """
                            SELECT outcome AS line FROM webhook_receipts
                            WHERE object_id = \("1b3a1c7e-90d4-4f26-8a51-0d6c2e9b7\(number)")::uuid
                            """)
                        #expect(stored == ["received"])
                    }
                }
                try await group.waitForAll()
            }
            let commits = try await harness.lines("SELECT DISTINCT xmin::text AS line FROM webhook_receipts").count
            #expect(commits < 60)
        }
    }
}
