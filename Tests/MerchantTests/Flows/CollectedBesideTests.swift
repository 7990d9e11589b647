import BelvoSandbox
import FoundationEssentials
import HTTP
import MerchantModel
import Payments
import Postgres
import TestSupport
import Testing
import Transport

@testable import MerchantServer

/// Money that was collected for one attempt counts beside the attempt that has paid the reference, though Belvo shows
/// its intent as pending.
@Suite struct CollectedBesideTests {
    /// How an attempt was given up here, and when its money is told.
    struct Case: Sendable, CustomStringConvertible {
        let isCanceled: Bool
        let isToldFirst: Bool
        let type: String

        var description: String {
            "\(isCanceled ? "canceled" : "timed out"), \(type) told \(isToldFirst ? "before" : "after") the other"
        }

        static let all = [true, false].flatMap { isCanceled in
            [true, false].flatMap { isToldFirst in
                ["CHARGES", "TRANSACTIONS"].map { Case(isCanceled: isCanceled, isToldFirst: isToldFirst, type: $0) }
            }
        }
    }

    /// Belvo's answers to readings of one intent, which stay as they were.
    private struct Frozen: Sendable {
        let answers = Box<[String: Response]>([:])
        private let requests = Box<[String: Request]>([:])

        func answer(_ request: Request) -> Response? {
            guard request.method == .get, let id = request.target.path.split(separator: "/").last.map(String.init)
            else { return nil }
            requests.update { $0[id] = request }
            return answers.value[id]
        }

        /// From now on Belvo shows the intent as it does at this moment, whatever becomes of its money.
        func freeze(_ intent: String, _ harness: TestHarness) async throws {
            try await harness.hear(of: intent)
            let request = try #require(requests.value[intent])
            guard case .response(let response) = await harness.sandbox.reply(to: request) else { return }
            answers.update { $0[intent] = response }
        }
    }

    /// An order for which an attempt was given up here, and another one is signed.
    private static func openTwo(
        _ given: Case,
        _ body: @escaping @Sendable (TestHarness, ShopDouble, [AppClient.OpenedPayment]) async throws -> Void
    ) async throws {
        let frozen = Frozen()
        try await ShopDouble.serving { shop in
            let environment = ["SHOP_TOKEN": MayBelvoStillPayTests.shopToken, "ORDERS": "required"]
                .merging(shop.environment) { $1 }
            try await TestHarness.open(environment: environment, instead: frozen.answer) { harness in
                var client = try await AppClient.arrive(on: harness)
                let enrollment = try await client.enroll()
                _ = try await MayBelvoStillPayTests.place(on: harness, amount: "19.90")
                let first = try await client.openPayment(enrollment)
                try await frozen.freeze(first.belvoID, harness)
                if given.isCanceled {
                    _ = try await client.cancel(first)
                } else {
                    try await harness.advance(by: harness.settings.timeouts.userDeadline + .seconds(60))
                    try await harness.pass(.seconds(10))
                }
                #expect(try await client.payment(first).string("status") == "FAILED")
                let second = try await client.openPayment(enrollment, key: "tap-2")
                try await client.authorize(second)
                try await body(harness, shop, [first, second])
            }
        }
    }

    private static func tellCollected(_ type: String, of payment: AppClient.OpenedPayment, _ harness: TestHarness)
        async throws
    {
        try harness.sandbox.settle(intent: payment.belvoID)
        try await harness.tell(
            type, of: #require(harness.sandbox.movement(type, of: payment.belvoID)),
            data: #""payment_intent": "\#(payment.belvoID)", "status": "SUCCEEDED""#)
        try await harness.work()
    }

    @Test(arguments: Case.all)
    func `an attempt that was given up and has collected disputes the order that another one has paid`(
        given: Case
    ) async throws {
        try await Self.openTwo(given) { harness, shop, payments in
            if given.isToldFirst { try await Self.tellCollected(given.type, of: payments[0], harness) }
            try harness.sandbox.settle(intent: payments[1].belvoID)
            try await harness.hear(of: payments[1].belvoID)
            if !given.isToldFirst { try await Self.tellCollected(given.type, of: payments[0], harness) }
            let status: SQL = "SELECT provider_status AS line FROM payments ORDER BY id"
            #expect(try await harness.lines(status) == ["PENDING", "SUCCEEDED"])
            let alarms = try await MayBelvoStillPayTests.alarms(on: harness)
            #expect(Set(alarms) == ["contradiction", "double_paid"])
            #expect(try await MayBelvoStillPayTests.order(on: harness).string("status") == "disputed")
            #expect(try await harness.lines("SELECT payments::text AS line FROM ops.double_paid") == ["2"])
            for _ in 0..<3 { try await harness.work() }
            #expect(shop.types.count { $0 == "order.disputed" } == 1)
        }
    }

    @Test(arguments: Case.all.prefix(1))
    func `of two attempts whose money is recorded at once the second sees the first`(given: Case) async throws {
        try await Self.openTwo(given) { harness, shop, payments in
            // It was signed elsewhere.
            try await harness.database.execute(
                """
                UPDATE payments SET seen_signed_at = app_now(), next_poll_at = app_now() + interval '1 hour'
                WHERE id::text = \(payments[0].id)
                """)
            let other = try await harness.database.transaction { transaction in
                try await transaction.execute(
                    "UPDATE payments SET collected_by = 'a charge' WHERE id::text = \(payments[0].id)")
                try harness.sandbox.settle(intent: payments[1].belvoID)
                let other = harness.loop.task { try await harness.hear(of: payments[1].belvoID) }
                try await harness.awaitCondition {
                    try await transaction.standStill()
                    return try await !harness.lines(
                        """
                        SELECT 'x' AS line FROM pg_stat_activity
                        WHERE wait_event_type = 'Lock' AND datname = current_database()
                        """
                    ).isEmpty
                }
                return other
            }
            try await other.value
            #expect(try await MayBelvoStillPayTests.alarms(on: harness) == ["double_paid"])
        }
    }

    @Test(arguments: Case.all.prefix(1))
    func `an alarm that was settled does not come again when Belvo closes the attempt as FAILED`(
        given: Case
    ) async throws {
        try await Self.openTwo(given) { harness, shop, payments in
            try await Self.tellCollected(given.type, of: payments[0], harness)
            try harness.sandbox.settle(intent: payments[1].belvoID)
            try await harness.hear(of: payments[1].belvoID)
            #expect(try await MayBelvoStillPayTests.alarms(on: harness).contains("double_paid"))
            try await harness.database.execute(
                "UPDATE money_alarms SET settled_at = app_now(), settled_by = 'rosa: paid back'")
            // It goes from pending to FAILED.
            try await harness.database.execute(
                """
                UPDATE payments SET closed_at_belvo = app_now(), contradicted_at = app_now(), provider_status = 'FAILED'
                WHERE id::text = \(payments[0].id)
                """)
            #expect(try await MayBelvoStillPayTests.alarms(on: harness) == ["contradiction"])
        }
    }

    @Test(arguments: Case.all.prefix(1))
    func `two attempts that have collected are an alarm, though Belvo shows neither as paid`(given: Case) async throws {
        try await Self.openTwo(given) { harness, shop, payments in
            try await Self.tellCollected(given.type, of: payments[0], harness)
            #expect(try await MayBelvoStillPayTests.alarms(on: harness) == ["contradiction"])
            harness.sandbox.next(
                .altered([Fault.Alteration("/status", "\"PROCESSING\"")]), on: .getPaymentIntent, count: nil)
            try await Self.tellCollected(given.type, of: payments[1], harness)
            #expect(try await MayBelvoStillPayTests.alarms(on: harness) == ["contradiction", "double_paid"])
            #expect(try await MayBelvoStillPayTests.order(on: harness).string("status") == "disputed")
        }
    }

    /// A payment whose money has come after Belvo called it FAILED, as Belvo still does: only its charge shows it.
    private static func openPaidAfterFailed(
        pausing gate: Gate? = nil,
        _ body:
            @escaping @Sendable (TestHarness, AppClient, AppClient.Enrollment, _ charge: String) async throws -> Void
    ) async throws {
        let sandbox = gate.map { SandboxConfiguration.test(pausingAt: $0) } ?? .test()
        try await TestHarness.open(sandbox: sandbox) { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            try await TakenBackTests.failed(harness, &client, payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            harness.sandbox.next(
                .altered([Fault.Alteration("/status", #""FAILED""#), Fault.Alteration("/charges", "[]")]),
                on: .getPaymentIntent, count: nil)
            let charge = try #require(harness.sandbox.movement("CHARGES", of: payment.belvoID))
            try await body(harness, client, enrollment, charge)
        }
    }

    /// A webhook of a charge that names nothing else, as old as one has to be to be read.
    private static func tell(_ charges: String..., on harness: TestHarness) async throws {
        for charge in charges { try await harness.tell("CHARGES", of: charge, data: #""status": "SUCCEEDED""#) }
        try await harness.advance(by: .seconds(3))
    }

    @Test func `what a charge's first reading shows holds the reference while it is read again`() async throws {
        let gate = Gate()
        try await Self.openPaidAfterFailed(pausing: gate) { harness, client, enrollment, charge in
            try await Self.tell(charge, on: harness)
            harness.sandbox.next(.altered([]), on: .getCharge)
            harness.sandbox.next(.delayAnswer(.seconds(6)), on: .getCharge)
            var arrivals = harness.sandbox.arrivals().makeAsyncIterator()
            let work = harness.loop.task { try await harness.work() }
            for _ in 1...2 { while let call = await arrivals.next(), call.endpoint != .getCharge {} }
            let other = try await client.requestPayment(enrollment, key: "tap-2")
            gate.open()
            try await work.value
            #expect(other.status >= 400, "\(other.text)")
            #expect(try await MayBelvoStillPayTests.alarms(on: harness).contains("contradiction"))
        }
    }

    @Test func `what one reading has shown of a charge is not forgotten by another one that names no intent`()
        async throws
    {
        try await Self.openPaidAfterFailed { harness, client, enrollment, charge in
            try await Self.tell(charge, on: harness)
            // A true reading, one that fails, and one that says less.
            harness.sandbox.next(.altered([]), on: .getCharge)
            harness.sandbox.next(.refused(500, code: "away"), on: .getCharge)
            harness.sandbox.next(.altered([Fault.Alteration("/payment_intent", "null")]), on: .getCharge)
            try await harness.work()
            try await harness.advance(by: .seconds(5))
            try await harness.work()
            let other = try await client.requestPayment(enrollment, key: "tap-2")
            #expect(other.status >= 400, "\(other.text)")
            try await harness.advance(by: .seconds(10))
            try await harness.work()
            #expect(try await MayBelvoStillPayTests.alarms(on: harness).contains("contradiction"))
        }
    }

    /// The next webhook of a charge whose intent was read for an earlier one.
    @Test(arguments: [nil, UUID()])
    func `the intent that one webhook of a charge has led to holds its reference when the next one comes`(
        other: UUID?
    ) async throws {
        try await Self.openPaidAfterFailed { harness, client, enrollment, charge in
            harness.sandbox.next(.altered([Fault.Alteration("/status", #""FAILED""#)]), on: .getCharge)
            try await harness.tell("CHARGES", of: charge, data: #""status": "FAILED""#)
            try await harness.pass(.seconds(3))
            #expect(
                try await harness.lines("SELECT outcome AS line FROM webhook_receipts WHERE webhook_type = 'CHARGES'")
                    == ["done"])
            try await harness.tell("CHARGES", of: charge, data: #""status": "SUCCEEDED""#)
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 503)
            // Its first reading names no intent, or another one.
            let shown = other.map { "\"\($0)\"" } ?? "null"
            harness.sandbox.next(.altered([Fault.Alteration("/payment_intent", shown)]), on: .getCharge)
            try await harness.pass(.seconds(3))
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 503)
            for _ in 1...2 { try await harness.pass(.seconds(10)) }
            #expect(try await MayBelvoStillPayTests.alarms(on: harness) == ["contradiction"])
        }
    }

    @Test func `a charge that one reading alone names a payment for holds its reference for an hour`() async throws {
        try await Self.openPaidAfterFailed { harness, client, enrollment, charge in
            harness.sandbox.clearFaults()
            harness.sandbox.next(.altered([]), on: .getCharge)
            harness.sandbox.next(
                .altered([Fault.Alteration("/payment_intent", "null")]), on: .getCharge, count: nil)
            harness.sandbox.next(.refused(500, code: "away"), on: .getPaymentIntent)
            harness.sandbox.next(
                .altered([Fault.Alteration("/status", #""FAILED""#), Fault.Alteration("/charges", "[]")]),
                on: .getPaymentIntent, count: nil)
            try await Self.tell(charge, on: harness)
            for _ in 1...3 { try await harness.pass(.seconds(600)) }
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 503)
            for _ in 1...3 { try await harness.pass(.seconds(1_200)) }
            #expect(harness.log.holds("payment.collected_without_intent"))
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 201)
        }
    }

    @Test(arguments: ["PROCESSING", "SCHEDULED"])
    func `a charge that was told as collected, and reads as under way, is read again`(status: String) async throws {
        try await Self.openPaidAfterFailed { harness, client, enrollment, charge in
            harness.sandbox.next(.altered([Fault.Alteration("/status", "\"\(status)\"")]), on: .getCharge)
            try await Self.tell(charge, on: harness)
            try await harness.work()
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 503)
            for _ in 1...2 { try await harness.pass(.seconds(3)) }
            #expect(try await MayBelvoStillPayTests.alarms(on: harness) == ["contradiction"])
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "payment_in_doubt")
        }
    }

    @Test func `a declined payment is free at once, though its charge reads as under way`() async throws {
        try await Self.openPaidAfterFailed { harness, client, enrollment, charge in
            harness.sandbox.next(
                .altered([Fault.Alteration("/status", #""PROCESSING""#)]), on: .getCharge, count: nil)
            try await harness.tell("CHARGES", of: charge, data: #""status": "FAILED""#)
            try await harness.pass(.seconds(3))
            try await harness.work()
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 201)
        }
    }

    @Test(arguments: ["PROCESSING", "PENDING"])
    func `a charge that was told as collected is read again while it shows neither that nor its intent`(
        status: String
    ) async throws {
        try await Self.openPaidAfterFailed { harness, client, enrollment, charge in
            harness.sandbox.next(
                .altered([
                    Fault.Alteration("/status", "\"\(status)\""), Fault.Alteration("/payment_intent", "null"),
                ]), on: .getCharge)
            try await Self.tell(charge, on: harness)
            for _ in 1...3 { try await harness.pass(.seconds(3)) }
            #expect(try await MayBelvoStillPayTests.alarms(on: harness) == ["contradiction"])
        }
    }

    /// A webhook may say nothing but what it is about.
    @Test(arguments: [#""status": "SUCCEEDED""#, ""])
    func `the second reading of a pass holds what it shows, too, where the first one was of another payment`(
        data: String
    ) async throws {
        try await Self.openPaidAfterFailed { harness, client, enrollment, charge in
            let other = try await client.openPayment(enrollment, reference: "order-2", key: "tap-other")
            harness.sandbox.next(
                .altered([Fault.Alteration("/payment_intent", "\"\(other.belvoID)\"")]), on: .getCharge)
            harness.sandbox.next(.altered([]), on: .getCharge)
            harness.sandbox.next(.refused(500, code: "away"), on: .getCharge, count: nil)
            try await harness.tell("CHARGES", of: charge, data: data)
            try await harness.pass(.seconds(3))
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 503)
        }
    }

    @Test func `a charge that was read to be of another payment first holds the reference of the one it is of`()
        async throws
    {
        try await Self.openPaidAfterFailed { harness, client, enrollment, charge in
            harness.sandbox.next(
                .altered([Fault.Alteration("/payment_intent", "\"\(UUID())\"")]), on: .getCharge)
            harness.sandbox.next(.refused(500, code: "away"), on: .getCharge)
            harness.sandbox.next(.altered([]), on: .getCharge)
            harness.sandbox.next(.refused(500, code: "away"), on: .getCharge, count: nil)
            try await Self.tell(charge, on: harness)
            let held: SQL = "SELECT outcome AS line FROM webhook_receipts WHERE webhook_code = 'READ_AS'"
            for _ in 1...20 where try await harness.lines(held).isEmpty { try await harness.pass(.seconds(5)) }
            #expect(try await harness.lines(held) == ["received"])
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 503)
        }
    }

    @Test func `a charge that Belvo is slow to show keeps none waiting that says more than a failed payment`()
        async throws
    {
        let gate = Gate()
        try await Self.openPaidAfterFailed(pausing: gate) { harness, client, enrollment, charge in
            try await Self.tell(UUID().uuidString, charge, on: harness)
            // That of the one that came first.
            harness.sandbox.next(.delayAnswer(.seconds(6)), on: .getCharge)
            let work = harness.loop.task { try await harness.work() }
            try await harness.awaitCondition {
                try await MayBelvoStillPayTests.alarms(on: harness).contains("contradiction")
            }
            let other = try await client.requestPayment(enrollment, key: "tap-2")
            gate.open()
            try await work.value
            #expect(other.status >= 400, "\(other.text)")
        }
    }
}
