import Belvo
import BelvoSandbox
import FoundationEssentials
import HTTP
import MerchantModel
import MerchantStore
import Payments
import Postgres
import TestSupport
import Testing
import Transport

@testable import MerchantServer
@testable import MerchantWorkflows

/// Money that one reading of a failed payment has shown keeps its reference until another reading has confirmed it, or
/// for seconds: the next one may be of a copy that lags.
@Suite struct MoneyShownOnceTests {
    /// A reading of an intent that has failed: it shows the money, only a charge that has collected,
    /// or neither, or it fails.
    private enum Shown { case paid, collected, collectedUnderWay, failed, nothing }

    private static func show(_ readings: [Shown], on harness: TestHarness) {
        let failed = Fault.Alteration("/status", #""FAILED""#)
        for reading in readings {
            let fault: Fault =
                switch reading {
                case .paid: .altered([])
                case .collected: .altered([failed])
                case .collectedUnderWay: .altered([Fault.Alteration("/status", #""PROCESSING""#)])
                case .failed: .altered([failed, Fault.Alteration("/charges", "[]")])
                case .nothing: .refused(500, code: "away")
                }
            harness.sandbox.next(fault, on: .getPaymentIntent)
        }
    }

    /// A payment that has failed here and was paid then, and another one of its reference that waits for its signature.
    private static func openBesideFailed(
        _ body:
            @escaping @Sendable (
                TestHarness, inout AppClient, _ failed: AppClient.OpenedPayment, _ other: AppClient.OpenedPayment
            ) async throws -> Void
    ) async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await TakenBackTests.failed(harness, &client, payment)
            show([.failed], on: harness)
            let other = try await client.openPayment(enrollment, key: "tap-2")
            try harness.sandbox.settle(intent: payment.belvoID)
            try await body(harness, &client, payment, other)
        }
    }

    @Test(arguments: [
        [Shown.paid, .failed], [.collected, .failed], [.paid, .collected, .failed], [.collected, .paid, .failed],
        [.paid, .nothing], [.collected, .nothing], [.paid, .paid, .failed], [.collectedUnderWay, .failed],
    ])
    private func `money that one reading of a failed attempt shows is looked for again before another is opened`(
        readings: [Shown]
    ) async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await TakenBackTests.failed(harness, &client, payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            Self.show(readings, on: harness)
            let answer = try await client.requestPayment(enrollment, key: "tap-2")
            #expect([409, 503].contains(answer.status), "\(answer.text)")
            harness.sandbox.clearFaults()
            try await harness.pass(.seconds(21))
            #expect(try await TakenBackTests.alarms(harness) == ["contradiction"])
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "payment_in_doubt")
        }
    }

    @Test func `money that one reading shows keeps the reference while the second one is under way`() async throws {
        let gate = Gate()
        try await TestHarness.open(sandbox: .test(pausingAt: gate)) { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            try await TakenBackTests.failed(harness, &client, payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            harness.sandbox.next(.altered([]), on: .getPaymentIntent)
            harness.sandbox.next(.delayAnswer(.seconds(1)), on: .getPaymentIntent)
            harness.sandbox.next(
                .altered([Fault.Alteration("/status", #""FAILED""#), Fault.Alteration("/charges", "[]")]),
                on: .getPaymentIntent, count: nil)
            var arrivals = harness.sandbox.arrivals().makeAsyncIterator()
            let device = client
            let slow = harness.loop.task { try await device.requestPayment(enrollment, key: "tap-2") }
            for _ in 1...2 { while await arrivals.next()?.endpoint != .getPaymentIntent {} }
            #expect(try await client.requestPayment(enrollment, key: "tap-3").status == 503)
            gate.open()
            _ = try await slow.value
        }
    }

    @Test func `money that two readings show at different steps is looked for again when a third one does not`()
        async throws
    {
        try await Self.openBesideFailed { harness, client, payment, other in
            Self.show([.collected, .paid, .failed], on: harness)
            try await harness.hear(of: payment.belvoID)
            try await harness.pass(.seconds(2))
            #expect(try await client.authorize(other).status >= 400)
            for _ in 1...2 { try await harness.pass(.seconds(21)) }
            #expect(try await TakenBackTests.alarms(harness) == ["contradiction"])
        }
    }

    @Test func `money that one reading alone has shown keeps the reference for seconds`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await TakenBackTests.failed(harness, &client, payment)
            harness.sandbox.next(.altered([Fault.Alteration("/status", #""SUCCEEDED""#)]), on: .getPaymentIntent)
            harness.sandbox.next(
                .altered([Fault.Alteration("/status", #""FAILED""#)]), on: .getPaymentIntent, count: nil)
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 503)
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 503)
            try await harness.pass(.seconds(21))
            #expect(try await TakenBackTests.alarms(harness).isEmpty)
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 201)
        }
    }

    /// The lines of what the server has to read that one reading has shown.
    private static let held: SQL =
        "SELECT outcome AS line FROM webhook_receipts WHERE webhook_code LIKE '%_PAID'"

    @Test(arguments: [
        [Shown.paid, .nothing], [.collected, .nothing], [.collectedUnderWay, .nothing], [.paid, .failed],
    ])
    private func `money that the reading for a webhook has shown keeps the reference when the next one shows none`(
        readings: [Shown]
    ) async throws {
        try await Self.openBesideFailed { harness, client, payment, other in
            Self.show(readings + [.failed], on: harness)
            try await harness.tell("PAYMENT_INTENTS", of: payment.belvoID, data: #""status": "FAILED""#)
            try await harness.work()
            try await harness.pass(.seconds(2))
            #expect(try await client.authorize(other).status >= 400)
            try await harness.pass(.seconds(21))
            #expect(try await TakenBackTests.alarms(harness) == ["contradiction"])
        }
    }

    @Test(arguments: [[Shown.collected, .nothing], [.collected, .failed]])
    private func `money that one reading of a payment under way has shown keeps the reference when it then fails`(
        readings: [Shown]
    ) async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            Self.show(readings + [.failed, .failed, .failed, .failed], on: harness)
            for _ in 1...3 { try await harness.pass(.seconds(3)) }
            #expect(try await client.payment(payment).string("status") == "FAILED")
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 503)
            harness.sandbox.clearFaults()
            try await harness.pass(.seconds(21))
            #expect(try await TakenBackTests.alarms(harness) == ["contradiction"])
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "payment_in_doubt")
        }
    }

    @Test func `money that is shown again when it is looked for keeps the reference anew`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await TakenBackTests.failed(harness, &client, payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            Self.show([.paid, .failed, .paid, .nothing, .failed, .failed], on: harness)
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 503)
            try await harness.pass(.seconds(21))
            try await harness.pass(.seconds(12))
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 503)
            harness.sandbox.clearFaults()
            try await harness.pass(.seconds(9))
            #expect(try await TakenBackTests.alarms(harness) == ["contradiction"])
        }
    }

    @Test func `money that a poll has read while a webhook closed the payment as failed keeps the reference`()
        async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            let workflow = PaymentWorkflow(dependencies: harness.merchant.dependencies)
            let id = try #require(Payment.ID(payment.id))
            let before = try #require(try await workflow.dependencies.store.payment(id))
            try await TakenBackTests.hearFailure(harness, of: payment.belvoID)
            try harness.sandbox.settle(intent: payment.belvoID)
            _ = try await workflow.poll(before)
            Self.show([.failed, .failed], on: harness)
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 503)
            harness.sandbox.clearFaults()
            try await harness.pass(.seconds(21))
            #expect(try await TakenBackTests.alarms(harness) == ["contradiction"])
        }
    }

    @Test func `money that the reading of a charge has shown keeps the reference when the next one fails`() async throws
    {
        try await Self.openBesideFailed { harness, client, payment, other in
            let charge = try #require(harness.sandbox.movement("CHARGES", of: payment.belvoID))
            Self.show([.failed, .failed], on: harness)
            harness.sandbox.next(.altered([]), on: .getCharge)
            harness.sandbox.next(.refused(500, code: "away"), on: .getCharge)
            harness.sandbox.next(.altered([Fault.Alteration("/status", #""FAILED""#)]), on: .getCharge)
            try await harness.tell("CHARGES", of: charge, data: #""status": "FAILED""#)
            for _ in 1...3 { try await harness.pass(.seconds(3)) }
            #expect(try await client.authorize(other).status >= 400)
            harness.sandbox.clearFaults()
            try await harness.pass(.seconds(21))
            #expect(try await TakenBackTests.alarms(harness) == ["contradiction"])
        }
    }

    @Test func `money that one reading has shown keeps the reference while Belvo denies to have the intent`()
        async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await TakenBackTests.failed(harness, &client, payment)
            harness.sandbox.next(.altered([Fault.Alteration("/status", #""SUCCEEDED""#)]), on: .getPaymentIntent)
            Self.show([.failed], on: harness)
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 503)
            harness.sandbox.next(.refused(404, code: "not_found"), on: .getPaymentIntent, count: nil)
            for _ in 1...6 { try await harness.pass(.seconds(21)) }
            harness.sandbox.clearFaults()
            #expect(try await harness.lines(Self.held) == ["received"])
            harness.sandbox.next(
                .altered([Fault.Alteration("/status", #""FAILED""#)]), on: .getPaymentIntent, count: nil)
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 503)
            try await harness.pass(.seconds(121))
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 201)
        }
    }

    @Test func `money of a twin that one reading has shown holds its payment while Belvo denies to have the twin`()
        async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let (payment, twin) = try await client.openPaymentTwice(enrollment)
            harness.sandbox.next(.altered([Fault.Alteration("/status", #""SUCCEEDED""#)]), on: .getPaymentIntent)
            harness.sandbox.next(.refused(404, code: "not_found"), on: .getPaymentIntent, count: nil)
            try await harness.tell("PAYMENT_INTENTS", of: twin)
            for _ in 1...5 { try await harness.pass(.seconds(21)) }
            #expect(try await harness.lines(Self.held) == ["received"])
            #expect([409, 503].contains(try await client.authorize(payment).status))
        }
    }

    @Test func `money that is contradicted already is not kept by a row as well`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await TakenBackTests.failed(harness, &client, payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            let ended = #"[{"id": "\#(UUID())", "status": "FAILED"}]"#
            harness.sandbox.next(.altered([Fault.Alteration("/charges", ended)]), on: .getPaymentIntent, count: nil)
            try await harness.hear(of: payment.belvoID)
            for _ in 1...3 { try await harness.pass(.seconds(21)) }
            #expect(try await TakenBackTests.alarms(harness).contains("contradiction"))
            #expect(try await harness.lines(Self.held).allSatisfy { $0 == "done" })
        }
    }

    @Test func `money that two readings have shown is recorded and not looked for any more`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await TakenBackTests.failed(harness, &client, payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 409)
            #expect(try await harness.lines(Self.held) == ["done"])
        }
    }
}
