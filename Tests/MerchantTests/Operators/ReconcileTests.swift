import Belvo
import BelvoSandbox
import FoundationEssentials
import HTTP
import Payments
import Postgres
import Testing

@testable import MerchantModel
@testable import MerchantServer
@testable import MerchantStore
@testable import MerchantWorkflows

/// A day at Belvo is compared with ours, in both directions.
@Suite struct ReconcileTests {
    /// It is noon of the day, there and here: what a flow takes stays on one day.
    private static let day = UTCDay(of: WallClock.now())

    func atNoon(_ body: @escaping @Sendable (TestHarness) async throws -> Void) async throws {
        let ahead = Self.day.begin + .seconds(43_200) - WallClock.now()
        var sandbox = SandboxConfiguration.test()
        sandbox.now = { BelvoSandbox.Timestamp.now() + ahead }
        try await TestHarness.open(sandbox: sandbox) { harness in
            try await harness.database.execute(
                "UPDATE test_clock SET ahead = \(ahead.wholeMicroseconds) * interval '1 microsecond'")
            try await body(harness)
        }
    }

    func reconcile(_ harness: TestHarness) async throws -> [Difference] {
        try await harness.operate { try await $0.reconcile(Self.day) }
    }

    private func shown(_ harness: TestHarness) async throws -> [String] {
        try await harness.lines("SELECT kind AS line FROM ops.reconciliation_differences ORDER BY kind")
    }

    @Test func `a clean day has no differences, and one on which nothing was paid neither`() async throws {
        try await atNoon { harness in
            #expect(try await reconcile(harness).isEmpty)
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let paid = try await client.openPayment(enrollment)
            try await client.authorize(paid)
            try harness.sandbox.settle(intent: paid.belvoID)
            try await harness.poll()
            let failed = try await client.openPayment(enrollment, reference: "order-2", key: "tap-2")
            try await client.authorize(failed)
            try harness.sandbox.fail(intent: failed.belvoID)
            try await harness.poll()
            _ = try await client.openPayment(enrollment, reference: "order-3", key: "tap-3")
            #expect(try await reconcile(harness).isEmpty)
            #expect(try await shown(harness).isEmpty)
            // It did look at what there was.
            #expect(harness.countCalls(.listPaymentIntents) >= 2)
        }
    }

    @Test func `a day may be Brasília's, and a zone that is none is refused`() {
        #expect(UTCDay("2026-11-21", zone: "-03:00")?.begin == UTCDay("2026-11-21")!.begin + .seconds(3 * 3_600))
        #expect(UTCDay("2026-11-21", zone: "-03:00")?.description == "2026-11-21")
        for zone in ["", "BRT", "-3", "-03:00:00", "+25:00"] { #expect(UTCDay("2026-11-21", zone: zone) == nil) }
    }

    @Test func `what cannot be read of a day is said, and the rest is compared all the same`() async throws {
        try await atNoon { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            harness.sandbox.next(
                .altered([Fault.Alteration("/results/*/amount", #""10,00""#)]), on: .listPaymentIntents)
            let found = try await reconcile(harness)
            #expect(found.contains { $0.kind == .unreadable })
            #expect(found.contains { $0.kind == .status }, "it is read by itself")
            #expect(try await shown(harness).contains("unreadable"))
        }
    }

    @Test(arguments: [500, 400, 403])
    func `one payment that Belvo does not show keeps no other of the day from being compared`(status: Int) async throws
    {
        try await atNoon { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            let other = try await client.openPayment(enrollment, reference: "order-2", key: "tap-2")
            try await client.authorize(other)
            try harness.sandbox.settle(intent: other.belvoID)
            harness.sandbox.next(.altered([Fault.Alteration("/results", "[]")]), on: .listPaymentIntents)
            harness.sandbox.next(.refused(status, code: "x"), on: .getPaymentIntent)
            let found = try await reconcile(harness)
            #expect(found.filter { $0.kind == .unreadable }.compactMap(\.payment) == [UUID(uuidString: payment.id)])
            #expect(found.contains { $0.kind == .status && $0.payment == UUID(uuidString: other.id) })
        }
    }

    @Test func `however many payments Belvo does not show, the rest of the day is compared`() async throws {
        try await atNoon { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            for number in 1...6 {
                _ = try await client.openPayment(enrollment, reference: "order-\(number)", key: "tap-\(number)")
            }
            harness.sandbox.next(.altered([Fault.Alteration("/results", "[]")]), on: .listPaymentIntents)
            harness.sandbox.next(.refused(500, code: "x"), on: .getPaymentIntent, count: 6)
            let found = try await reconcile(harness)
            #expect(found.compactMap { $0.kind == .unreadable ? $0.payment : nil }.count == 6)
        }
    }

    @Test func `a charge that has collected and names no intent is a difference of its day`() async throws {
        try await atNoon { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.poll()
            harness.sandbox.next(
                .altered([Fault.Alteration("/results/*/payment_intent", "null")]), on: .listCharges)
            #expect(try await reconcile(harness).map(\.kind) == [.unreadable])
        }
    }

    @Test func `a charge of an unknown word is a difference of its day, and a contradiction beside FAILED`()
        async throws
    {
        try await atNoon { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            try await client.authorize(payment)
            try harness.sandbox.fail(intent: payment.belvoID)
            try await harness.poll()
            harness.sandbox.next(
                .altered([Fault.Alteration("/results/*/status", #""PAID""#)]), on: .listCharges, count: nil)
            #expect(try await reconcile(harness).map(\.kind) == [.chargeStatus])
            // The charge itself says meanwhile that it has failed: the page was old.
            #expect(try await harness.lines("SELECT kind AS line FROM ops.money_alarms").isEmpty)
            harness.sandbox.next(.altered([Fault.Alteration("/status", #""PAID""#)]), on: .getCharge, count: nil)
            #expect(try await reconcile(harness).map(\.kind) == [.chargeStatus])
            #expect(try await harness.lines("SELECT kind AS line FROM ops.money_alarms") == ["contradiction"])
        }
    }

    @Test func `a list that counts more than it shows is a difference of its day`() async throws {
        try await atNoon { harness in
            for list in [BelvoSandbox.Endpoint.listPaymentIntents, .listCharges] {
                harness.sandbox.next(.altered([Fault.Alteration("/count", "1")]), on: list)
                let found = try await reconcile(harness)
                #expect(found.map(\.theirs) == ["the list counts 1 entries and shows 0"])
            }
        }
    }

    @Test func `a twin at Belvo is unknown here, and says nothing of the payment that it is a twin of`() async throws {
        try await atNoon { harness in
            var client = try await AppClient.arrive(on: harness)
            let (payment, twin) = try await client.openPaymentTwice(client.enroll())
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            harness.sandbox.clearFaults()
            harness.sandbox.variants.listLagMilliseconds = 0
            try await harness.poll()
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
            // It is not known here: no webhook has named it, and nothing has listed it.
            try await harness.database.execute("DELETE FROM webhook_receipts")
            try await harness.database.execute("DELETE FROM payments WHERE origin = 'foreign'")
            let found = try await reconcile(harness)
            #expect(found.map(\.kind) == [.unknownHere])
            #expect(found.first?.intent?.uuidString.lowercased() == twin)
        }
    }

    @Test func `a payment that an app's SDK made without us is found`() async throws {
        try await atNoon { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let customer = try #require(
                UUID(uuidString: try await client.app.send(.get, "/v1/customer").string("belvo_id")))
            let intent = try await harness.merchant.dependencies.belvo.createPaymentIntent(
                NewPaymentIntent(
                    externalID: "made by the SDK", idempotencyKey: UUID(), amountCentavos: 700,
                    customer: Belvo.Customer.ID(customer),
                    enrollment: Belvo.Enrollment.ID(try #require(UUID(uuidString: enrollment.belvoID))),
                    beneficiaryBankAccount: Belvo.BankAccount.ID(harness.settings.beneficiaryBankAccount),
                    purpose: "Two coffees", statementDescription: "Two coffees"))
            let found = try await reconcile(harness)
            #expect(found.map(\.kind) == [.unknownHere])
            #expect(found.first?.intent == intent.id.uuid)
            #expect(found.first?.payment == nil)
            #expect(found.first?.theirs?.hasSuffix("7.00") == true)
            try harness.sandbox.settle(intent: intent.id.description)
            #expect(Set(try await reconcile(harness).map(\.kind)) == [.unknownHere, .chargeStatus])
            // What was found first is not found any more in these words, and shown once.
            #expect(try await shown(harness) == ["charge_status", "unknown_here"])
            // What has been paid is known from then on, though no webhook has named it.
            let states = try await harness.lines("SELECT state AS line FROM payments WHERE origin <> 'own'")
            #expect(states == ["succeeded"])
            #expect(try await reconcile(harness).isEmpty)
            #expect(try await shown(harness).isEmpty)
        }
    }

    @Test(arguments: [true, false])
    func `a charge of an intent of another day, of which no webhook has come, is recorded`(isTwin: Bool) async throws {
        try await atNoon { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment: String
            let intent: String
            if isTwin {
                let opened = try await client.openPayment(enrollment)
                try await client.authorize(opened)
                payment = opened.id
                intent = try await client.openPaymentBySDK(
                    from: enrollment.atBelvo(), named: payment, centavos: 1990
                ).description
                try harness.sandbox.settle(intent: opened.belvoID)
                try await harness.poll()
            } else {
                harness.sandbox.next(.statusAfter(400), on: .createPaymentIntent)
                _ = try await client.requestPayment(enrollment)
                payment = try #require(try await harness.lines("SELECT id::text AS line FROM payments").first)
                intent = try #require(harness.sandbox.intentIDs(externalID: payment).first)
            }
            try harness.sandbox.settle(intent: intent)
            harness.sandbox.next(
                .altered([Fault.Alteration("/results/*/created_at", #""2026-01-01T00:00:00Z""#)]),
                on: .listPaymentIntents)
            let found = try await reconcile(harness).filter { $0.intent == UUID(uuidString: intent) }
            #expect(found.first?.kind == .chargeStatus)
            #expect(found.first?.payment != nil)
            #expect(
                try await harness.lines("SELECT status AS line FROM payments WHERE belvo_id::text = \(intent)")
                    == ["SUCCEEDED"])
            let alarm = isTwin ? "double_paid" : "late_success"
            #expect(try await harness.lines("SELECT kind AS line FROM ops.money_alarms").contains(alarm))
        }
    }

    @Test func `a second intent under the id of a payment of ours stays a difference when it is imported`() async throws
    {
        try await atNoon { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            let twin = try await client.openPaymentBySDK(from: enrollment.atBelvo(), named: payment.id)
            try await harness.tell("PAYMENT_INTENTS", of: twin.description)
            try await harness.work()
            #expect(harness.log.holds("payment.created_twice"))
            let found = try await reconcile(harness)
            #expect(found.map(\.kind) == [.externalID])
            #expect(found.first?.intent == twin.uuid)
            #expect(found.first?.theirs == payment.id)
        }
    }

    @Test func `a payment of ours that a restore has lost stays a difference when it is imported`() async throws {
        try await atNoon { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let lost = harness.merchant.dependencies.identities.next().uuidString.lowercased()
            let intent = try await client.openPaymentBySDK(from: enrollment.atBelvo(), named: lost)
            let other = try await client.openPaymentBySDK(from: enrollment.atBelvo(), named: UUID().uuidString)
            for one in [intent, other] { try await harness.tell("PAYMENT_INTENTS", of: one.description) }
            try await harness.pass(.seconds(2))
            #expect(try await harness.lines("SELECT belvo_id::text AS line FROM ops.taken_in").count == 2)
            let found = try await reconcile(harness)
            #expect(found.map(\.kind) == [.externalID])
            #expect(found.first?.intent == intent.uuid)
            #expect(found.first?.theirs == lost)
        }
    }

    @Test func `what is paid between the list of intents and that of charges is no contradiction`() async throws {
        try await atNoon { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            try await client.authorize(payment)
            try await harness.pass(.seconds(601))
            #expect(try await harness.lines("SELECT in_doubt::text AS line FROM payments") == ["true"])
            try harness.sandbox.settle(intent: payment.belvoID)
            harness.sandbox.next(
                .altered([
                    Fault.Alteration("/results/*/status", #""PROCESSING""#),
                    Fault.Alteration("/results/*/charges", "[]"),
                ]), on: .listPaymentIntents, count: nil)
            _ = try await reconcile(harness)
            #expect(try await harness.lines("SELECT kind AS line FROM ops.money_alarms").isEmpty)
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
        }
    }

    @Test func `a success after we gave up is found and looked at, and the next run is clean`() async throws {
        try await atNoon { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            try await harness.pass(.seconds(361))
            #expect(try await client.payment(payment).string("failure_code") == "timed_out")
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.pass(.seconds(3_600))
            #expect(try await client.payment(payment).string("status") == "FAILED")

            let found = try await reconcile(harness)
            #expect(found.map(\.kind).contains(.status))
            #expect(found.allSatisfy { $0.payment?.uuidString.lowercased() == payment.id })
            #expect(found.first { $0.kind == .status }?.ours == "failed")
            #expect(try await shown(harness).contains("status"))

            try await harness.work()
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
            #expect(try await reconcile(harness).isEmpty)
            #expect(try await shown(harness).isEmpty)
            #expect(
                try await harness.lines(
                    "SELECT state_before || ' ' || state_after AS line FROM ops.late_corrections")
                    == ["failed succeeded"])
            // Who asks later still sees that there was something.
            let gone = try await harness.lines(
                "SELECT kind AS line FROM reconciliation_differences WHERE gone_at IS NOT NULL")
            #expect(gone.count == found.count)
        }
    }

    @Test func `an amount that differs is found`() async throws {
        try await atNoon { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            harness.sandbox.next(.otherAmount, on: .listPaymentIntents)
            let found = try await reconcile(harness)
            #expect(
                found == [
                    Difference(
                        kind: .amount, payment: UUID(uuidString: payment.id), intent: UUID(uuidString: payment.belvoID),
                        ours: "19.90", theirs: "0.01")
                ])
            #expect(try await reconcile(harness).isEmpty)
        }
    }

    @Test func `a reference that was paid twice is found`() async throws {
        try await atNoon { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let first = try await client.openPayment(enrollment)
            try await harness.pass(.seconds(361))
            let second = try await client.openPayment(enrollment, key: "tap-2")
            try await client.authorize(second)
            try harness.sandbox.settle(intent: second.belvoID)
            try await harness.poll()
            #expect(try await reconcile(harness).isEmpty)

            try harness.sandbox.settle(intent: first.belvoID)
            #expect(try await reconcile(harness).map(\.kind).contains(.status))
            try await harness.work()
            let found = try await reconcile(harness)
            #expect(found.map(\.kind) == [.doublePaid, .doublePaid])
            #expect(Set(found.map { $0.payment?.uuidString.lowercased() }) == [first.id, second.id])
            let paid = try await harness.texts("SELECT subject, reference, payments, amount FROM ops.double_paid")
            #expect(paid == [#"{"subject":"ana","reference":"order-1","payments":2,"amount":39.80}"#])
        }
    }

    @Test func `a payment that Belvo does not know is found`() async throws {
        try await atNoon { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            harness.sandbox.reset()
            let found = try await reconcile(harness)
            #expect(
                found == [
                    Difference(
                        kind: .unknownAtBelvo, payment: UUID(uuidString: payment.id),
                        intent: UUID(uuidString: payment.belvoID), ours: "awaiting_signature", theirs: nil)
                ])
        }
    }

    @Test func `a day is a day of the calendar, and nothing else is one`() {
        #expect(UTCDay("2026-11-21")?.description == "2026-11-21")
        #expect(UTCDay("2028-02-29") != nil)
        for text in ["", "2026-02-30", "2026-13-01", "21.11.2026", "2026-11-21T", "tomorrow", "2026-1-1"] {
            #expect(UTCDay(text) == nil, "\(text)")
        }
    }
}
