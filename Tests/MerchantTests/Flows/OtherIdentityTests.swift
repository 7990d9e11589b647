import Belvo
import BelvoSandbox
import HTTP
import Payments
import Postgres
import Testing

@testable import MerchantServer
@testable import MerchantStore

/// Belvo shows another object than the one that was asked for, or one that cannot be read: it changes nothing, and
/// an operator has to know (promises 9 and 12).
@Suite struct OtherIdentityTests {
    private static let alarms = "SELECT kind || ' ' || detail AS line FROM ops.money_alarms" as SQL

    @Test func `what may be paid and cannot be read stays open, and somebody has to know`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            // The page of something in front of Belvo says nothing about this payment.
            harness.sandbox.next(.garbageBody, on: .getPaymentIntent)
            try await harness.poll()
            #expect(try await harness.lines(Self.alarms) == [])
            harness.sandbox.next(.missingID, on: .getPaymentIntent)
            try await harness.poll()
            #expect(
                try await harness.lines(Self.alarms) == ["differs Belvo's answer cannot be read: id is no UUID"])
            #expect(try await client.payment(payment).string("status") == "PENDING")
            try await harness.poll()
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
        }
    }

    @Test(arguments: [#""status": "SUCCEEDED", "amount": "20.00""#, #""status": "FAILED""#])
    func `the shop hears of a charge that has not brought what its order asks for`(shown: String) async throws {
        try await ShopDouble.serving { shop in
            try await MayBelvoStillPayTests.open(orders: "required", shop.environment) { harness, client, enrollment in
                _ = try await MayBelvoStillPayTests.place(on: harness, amount: "19.90")
                let payment = try await MayBelvoStillPayTests.ordered(client, enrollment)
                try await client.authorize(payment)
                try harness.sandbox.settle(intent: payment.belvoID)
                let charge = try #require(harness.sandbox.movement("CHARGES", of: payment.belvoID))
                harness.sandbox.next(
                    .altered([Fault.Alteration("/charges", #"[{"id": "\#(charge)", \#(shown)}]"#)]),
                    on: .getPaymentIntent, count: nil)
                try await harness.poll()
                #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
                // A charge that has ended may be followed by one that Belvo shows a moment later.
                try await harness.pass(.seconds(21))
                #expect(try await MayBelvoStillPayTests.alarms(on: harness) == ["paid_beside_order"])
                #expect(try await MayBelvoStillPayTests.order(on: harness).string("status") == "disputed")
                for _ in 0..<3 { try await harness.work() }
                #expect(shop.types.count { $0 == "order.disputed" } == 1)
            }
        }
    }

    @Test(
        arguments: [true, false],
        [
            ("/amount", #""1.00""#, "1.00"), ("/amount", #""19,90""#, "no readable amount"),
            ("/currency", #""USD""#, "no readable amount"),
        ])
    func `a charge that has brought another amount than the payment's is an alarm, once`(
        isInIntent: Bool, odd: (member: String, value: String, said: String)
    ) async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            let charge = try #require(harness.sandbox.movement("CHARGES", of: payment.belvoID))
            if isInIntent {
                harness.sandbox.next(
                    .altered([Fault.Alteration("/charges/*\(odd.member)", odd.value)]), on: .getPaymentIntent,
                    count: nil)
            } else {
                harness.sandbox.next(
                    .altered([Fault.Alteration("/status", #""PROCESSING""#), Fault.Alteration("/charges", "[]")]),
                    on: .getPaymentIntent, count: nil)
                harness.sandbox.next(.altered([Fault.Alteration(odd.member, odd.value)]), on: .getCharge, count: nil)
                try await harness.tell("CHARGES", of: charge, data: #""status": "SUCCEEDED""#)
                try await harness.work()
            }
            for round in 0..<2 {
                try await harness.poll()
                let alarms = try await harness.lines(Self.alarms)
                #expect(alarms.count == 1 - round)
                #expect(alarms.allSatisfy { $0.hasPrefix("differs \(odd.said) collected by ") && $0.contains(charge) })
                try await harness.database.execute(
                    "UPDATE money_alarms SET settled_at = app_now(), settled_by = 'rosa: Belvo sent the rest'")
            }
        }
    }

    @Test(arguments: [true, false], [("/amount", #""20.00""#), ("/currency", #""USD""#)])
    func `one odd reading of a charge that is known to have collected disputes no order`(
        isInIntent: Bool, odd: (member: String, value: String)
    ) async throws {
        try await ShopDouble.serving { shop in
            try await MayBelvoStillPayTests.open("required", shop) { harness, client, enrollment in
                _ = try await MayBelvoStillPayTests.place(on: harness, amount: "19.90")
                let payment = try await MayBelvoStillPayTests.ordered(client, enrollment)
                try await client.authorize(payment)
                try harness.sandbox.settle(intent: payment.belvoID)
                // The charge has collected, and Belvo does not show the end yet.
                let pending = Fault.Alteration("/status", #""PROCESSING""#)
                harness.sandbox.next(.altered([pending]), on: .getPaymentIntent, count: 2)
                try await harness.poll()
                let collected: SQL = "SELECT (collected_by IS NOT NULL)::text AS line FROM payments"
                #expect(try await harness.lines(collected) == ["true"])
                if isInIntent {
                    harness.sandbox.next(
                        .altered([pending, Fault.Alteration("/charges/*\(odd.member)", odd.value)]),
                        on: .getPaymentIntent)
                } else {
                    harness.sandbox.next(.altered([Fault.Alteration(odd.member, odd.value)]), on: .getCharge)
                    let charge = try #require(harness.sandbox.movement("CHARGES", of: payment.belvoID))
                    try await harness.tell(
                        "CHARGES", of: charge,
                        data: #""payment_intent": "\#(payment.belvoID)", "status": "SUCCEEDED""#)
                }
                harness.sandbox.next(.altered([pending]), on: .getPaymentIntent)
                for _ in 1...3 { try await harness.pass(.seconds(2)) }
                #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
                #expect(try await MayBelvoStillPayTests.alarms(on: harness) == [])
                #expect(try await MayBelvoStillPayTests.order(on: harness).string("status") == "paid")
                #expect(!shop.types.contains("order.disputed"))
            }
        }
    }

    /// Belvo shows a payment as paid, and its intent names no transfer.
    private static func paidWithoutTransfer(
        _ charges: Fault.Alteration...,
        body: @escaping @Sendable (TestHarness, AppClient, AppClient.OpenedPayment) async throws -> Void
    ) async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let pointer = "/payment_method_information/open_finance_biometric_pix/end_to_end_id"
            for call in [BelvoSandbox.Endpoint.createPaymentIntent, .getPaymentIntent] {
                harness.sandbox.next(.altered([Fault.Alteration(pointer, "null")] + charges), on: call, count: nil)
            }
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.poll()
            try await body(harness, client, payment)
        }
    }

    @Test func `a transfer that Belvo fills in later is waited for, and is an alarm when it does not come`()
        async throws
    {
        try await Self.paidWithoutTransfer(Fault.Alteration("/charges", "[]")) { harness, client, payment in
            #expect(try await client.payment(payment).string("status") == "PENDING")
            #expect(try await harness.lines(Self.alarms).isEmpty)
            for _ in 1...3 { try await harness.pass(.seconds(601)) }
            #expect(try await harness.lines(Self.alarms) == ["differs SUCCEEDED with other or no end_to_end_id"])
        }
    }

    @Test(arguments: ["/external_id", "/details/customer"])
    func `an enrollment that shows another identity is not believed`(pointer: String) async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let other = #""5b1f1c54-4a1f-4a54-9d68-6a2a7f7f0001""#
            harness.sandbox.next(
                .altered([Fault.Alteration(pointer, other), Fault.Alteration("/status", #""FAILED""#)]),
                on: .getEnrollment)
            try await harness.tell("ENROLLMENTS", of: enrollment.belvoID)
            try await harness.work()
            #expect(try await client.enrollment(enrollment).string("status") == "SUCCEEDED")
            #expect(harness.log.holds("enrollment.differs"))
        }
    }

    @Test func `an order is disputed when another intent of its payment's name is paid`() async throws {
        try await ShopDouble.serving { shop in
            try await MayBelvoStillPayTests.open("required", shop) { harness, client, enrollment in
                _ = try await MayBelvoStillPayTests.place(on: harness, amount: "19.90")
                let payment = try await MayBelvoStillPayTests.ordered(client, enrollment)
                let cheaper = try await client.openPaymentBySDK(
                    from: enrollment.atBelvo(), named: payment.id, centavos: 100)
                try harness.sandbox.settle(intent: cheaper.description)
                try await harness.tell("PAYMENT_INTENTS", of: cheaper.description)
                try await harness.work()
                try await harness.work()
                let order = try await App(client: harness.client, token: MayBelvoStillPayTests.shopToken).send(
                    .get, "/orders/order-1")
                #expect(try order.string("status") == "disputed")
                #expect(try order.string("payment_intent") == payment.id)
                #expect(shop.types.contains("order.disputed"))
                // It is for a person to say what becomes of it.
                try await harness.database.execute(
                    "UPDATE money_alarms SET settled_at = app_now(), settled_by = 'rosa: paid back'")
                let settled = try await App(client: harness.client, token: MayBelvoStillPayTests.shopToken).send(
                    .get, "/orders/order-1")
                #expect(try settled.string("status") == "live")
            }
        }
    }

    @Test func `erase is refused while an unknown webhook is open`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try harness.sandbox.fail(intent: payment.belvoID)
            try await harness.tell("PAYMENT_INTENTS", of: payment.belvoID)
            try await harness.work()
            let twin = try await client.openPaymentBySDK(from: enrollment.atBelvo(), named: payment.id, centavos: 1990)
            try harness.sandbox.settle(intent: twin.description)
            harness.sandbox.next(.refused(503, code: "away"), on: .getPaymentIntent, count: nil)
            try await harness.tell("PAYMENT_INTENTS", of: twin.description)
            try await harness.work()
            func erase() async throws { _ = try await harness.operate { try await $0.erase(UserSubject("ana")) } }
            await #expect(throws: RecordsStillOpen.self) { try await erase() }
            harness.sandbox.clearFaults()
            try await harness.pass(.seconds(30))
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "already_paid")
            try await erase()
        }
    }

    @Test func `a customer who comes with another customer's id is found under its own`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let taken = try await client.customerAtBelvo()
            harness.sandbox.next(.altered([Fault.Alteration("/id", "\"\(taken)\"")]), on: .createCustomer)
            let app = try await harness.app(of: "bia")
            let answer = try await app.send(.put, "/v1/customer", AppClient.customerBody(taxID: "111.444.777-35"))
            #expect(answer.status == 201)
            let own = AppClient(harness: harness, app: app, phone: client.phone, signals: "")
            #expect(try await own.customerAtBelvo() != taken)
            #expect(harness.log.holds("customer.belvo_id_repeated"))
        }
    }

    @Test func `what Belvo writes of a person in the place of words and ids is neither kept nor logged in plain`()
        async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            let pix = "/payment_method_information/open_finance_biometric_pix"
            let person = #""Ana 529.982.247-25""#
            let places = ["/status", "\(pix)/provider", "\(pix)/consent_id", "\(pix)/external_payment_id"]
            harness.sandbox.next(
                .altered((places + ["\(pix)/provider_request_id"]).map { Fault.Alteration($0, person) }),
                on: .getPaymentIntent)
            try await harness.poll()
            harness.sandbox.next(
                .status(
                    422, body: #"[{"code": "Ana 529.982.247-25", "field": "529.982.247-25", "request_id": "Ana S."}]"#,
                    contentType: "application/json", headers: [:]), on: .getPaymentIntent)
            try await harness.poll()
            let dump = try await harness.texts("SELECT * FROM payments").joined()
            #expect(dump.contains("UNREADABLE"))
            #expect(!dump.contains("982.247"))
            let log = harness.log.all.joined(separator: "\n")
            #expect(log.contains("payment.unknown_status"))
            #expect(log.contains("payment.unreadable"))
            #expect(!log.contains("982.247"))
            #expect(!log.contains("Ana"))
        }
    }
}
