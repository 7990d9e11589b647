import Belvo
import BelvoSandbox
import FoundationEssentials
import HTTP
import Payments
import Postgres
import Testing
import Transport

@testable import MerchantServer

/// One question decides about money: may Belvo still pay this attempt? Here Belvo, the network and the shop give every
/// odd answer to it that is listed here.
@Suite struct MayBelvoStillPayTests {
    static let shopToken = OrderTests.token

    static func open(
        orders: String = "optional", _ more: [String: String] = [:],
        _ body: @escaping @Sendable (TestHarness, inout AppClient, AppClient.Enrollment) async throws -> Void
    ) async throws {
        let environment = ["SHOP_TOKEN": shopToken, "ORDERS": orders].merging(more) { $1 }
        try await TestHarness.open(environment: environment) { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            try await body(harness, &client, enrollment)
        }
    }

    static func place(on harness: TestHarness, amount: String, for user: String = "ana") async throws -> Answer {
        try await App(client: harness.client, token: shopToken).send(
            .put, "/orders/order-1",
            #"{"subject": "\#(user)", "amount": "\#(amount)", "description": "Two coffees"}"#)
    }

    static func order(on harness: TestHarness) async throws -> Answer {
        try await App(client: harness.client, token: shopToken).send(.get, "/orders/order-1")
    }

    static func alarms(on harness: TestHarness) async throws -> [String] {
        try await harness.lines("SELECT kind AS line FROM ops.money_alarms ORDER BY kind")
    }

    /// Opens a payment for the order.
    static func ordered(_ client: AppClient, _ enrollment: AppClient.Enrollment) async throws -> AppClient.OpenedPayment
    {
        let answer = try await client.app.send(
            .post, "/v1/payment-intents", #"{"enrollment": "\#(enrollment.id)", "reference": "order-1"}"#,
            headers: ["idempotency-key": "tap-1"])
        return AppClient.OpenedPayment(
            id: try answer.string("id"), belvoID: try answer.string("belvo_id"), answer: answer)
    }

    @Test func `an order is not paid by a payment at a price that is not its own, and the shop hears of it`()
        async throws
    {
        try await ShopDouble.serving { shop in
            try await Self.open(orders: "required", shop.environment) { harness, client, enrollment in
                _ = try await Self.place(on: harness, amount: "10.00")
                let payment = try await Self.ordered(client, enrollment)
                _ = try await client.cancel(payment)
                #expect(try await Self.place(on: harness, amount: "400.00").status == 200)
                try harness.sandbox.settle(intent: payment.belvoID)
                try await harness.tell("PAYMENT_INTENTS", of: payment.belvoID)
                try await harness.work()
                #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
                let order = try await Self.order(on: harness)
                #expect(try order.string("status") == "disputed")
                #expect(try order.string("payment_intent") == payment.id)
                #expect(try await Self.alarms(on: harness) == ["late_success", "paid_beside_order"])
                #expect(try await harness.metrics().value("merchant_money_alarms", ["kind": "paid_beside_order"]) == 1)
                try await harness.work()
                try await harness.work()
                #expect(shop.types.contains("order.disputed"))
                // It is told once.
                try await harness.pass(.seconds(600))
                #expect(shop.types.count { $0 == "order.disputed" } == 1)
                let again = try await client.requestPayment(enrollment, key: "tap-2")
                #expect(try again.string("code") == "amount_differs")
                #expect(try await Self.place(on: harness, amount: "1.00").status == 409)
            }
        }
    }

    @Test func `an order's price stays while a signature that was turned away may have arrived`() async throws {
        try await Self.open(orders: "required") { harness, client, enrollment in
            _ = try await Self.place(on: harness, amount: "10.00")
            let payment = try await Self.ordered(client, enrollment)
            harness.sandbox.next(.statusAfter(403), on: .authorizePaymentIntent)
            _ = try await client.authorize(payment)
            #expect(try await client.cancel(payment).status == 409)
            try harness.sandbox.turn(intent: payment.belvoID, to: "PROCESSING")
            try await harness.poll()
            #expect(try await client.payment(payment).string("provider_status") == "PROCESSING")
            let dearer = try await Self.place(on: harness, amount: "400.00")
            #expect(dearer.status == 409)
            #expect(try dearer.string("code") == "order_in_use")
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.poll()
            #expect(try await Self.order(on: harness).string("status") == "paid")
        }
    }

    @Test func `an order that comes after a payment for its reference waits for it, and is not paid by it`()
        async throws
    {
        try await Self.open { harness, client, enrollment in
            let opened = try await client.app.send(
                .post, "/v1/payment-intents", client.paymentBody(enrollment, amount: #""0.01""#),
                headers: ["idempotency-key": "tap-1"])
            let payment = AppClient.OpenedPayment(
                id: try opened.string("id"), belvoID: try opened.string("belvo_id"), answer: opened)
            let early = try await Self.place(on: harness, amount: "400.00")
            #expect(early.status == 409)
            #expect(try early.string("code") == "order_in_use")
            await #expect(throws: (any Error).self) {
                try await harness.database.execute(
                    """
                    INSERT INTO orders (reference, subject, amount_centavos, description)
                    VALUES ('order-1', 'ana', 40000, 'Two coffees')
                    """)
            }
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.poll()
            #expect(try await Self.place(on: harness, amount: "400.00").status == 201)
            #expect(try await Self.order(on: harness).string("status") == "disputed")
            #expect(try await Self.alarms(on: harness) == ["paid_beside_order"])
        }
    }

    @Test(arguments: [400, 401, 403, 404, 409, 410, 422, 425, 429])
    func `no answer takes a signature back that Belvo has`(status: Int) async throws {
        try await Self.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            harness.sandbox.next(.statusAfter(status), on: .authorizePaymentIntent)
            // Belvo goes on to show it as it was, for a while.
            harness.sandbox.next(
                .altered([Fault.Alteration("/status", #""PENDING""#)]), on: .getPaymentIntent, count: nil)
            _ = try await client.authorize(payment)
            #expect(try await client.cancel(payment).status == 409)
            // Belvo may have asked for silence.
            harness.clock.advance(by: .seconds(61))
            let second = try await client.requestPayment(enrollment, key: "tap-2")
            #expect(second.status == 409)
            #expect(try second.string("code") == "payment_in_doubt")
            #expect(try second.string("payment_intent") == payment.id)
            try await harness.pass(.seconds(900))
            let overdue = try await client.payment(payment)
            #expect(try overdue.string("status") == "PENDING")
            #expect(try overdue.raw("in_doubt") == "true")
            #expect(try overdue.string("next_action", "type") == "poll")
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 409)
            #expect(try await harness.lines("SELECT id::text AS line FROM ops.in_doubt") == [payment.id])
            harness.sandbox.clearFaults()
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.pass(.seconds(121))
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
            #expect(harness.countCalls(.authorizePaymentIntent) == 1)
        }
    }

    @Test func `what was given up and is then shown as signed is polled until Belvo has closed it`() async throws {
        try await Self.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            _ = try await client.cancel(payment)
            try harness.sandbox.turn(intent: payment.belvoID, to: "PROCESSING")
            try await harness.tell("PAYMENT_INTENTS", of: payment.belvoID)
            try await harness.work()
            #expect(try await harness.lines("SELECT id::text AS line FROM ops.may_be_paid") == [payment.id])
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "payment_in_doubt")
            // The webhook of its success is lost.
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.pass(.seconds(11))
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
        }
    }

    @Test func `a deadline that passes during an outage ends nothing unread`() async throws {
        try await Self.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            harness.sandbox.next(.dropRequest, on: nil, count: nil)
            try await harness.pass(.seconds(400))
            let away = try await client.payment(payment)
            #expect(try away.string("status") == "PENDING")
            harness.sandbox.clearFaults()
            try harness.sandbox.turn(intent: payment.belvoID, to: "PROCESSING")
            try await harness.pass(.seconds(130))
            #expect(try await client.payment(payment).raw("in_doubt") == "true")
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.pass(.seconds(130))
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
        }
    }

    @Test func `what Belvo does not find any more may still be paid`() async throws {
        try await Self.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try harness.sandbox.turn(intent: payment.belvoID, to: "PROCESSING")
            try await harness.tell("PAYMENT_INTENTS", of: payment.belvoID)
            try await harness.work()
            harness.sandbox.next(.refused(404, code: "not_found"), on: .getPaymentIntent, count: nil)
            try await harness.pass(.seconds(2_000))
            #expect(try await client.payment(payment).string("status") == "PENDING")
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "payment_in_doubt")
            harness.sandbox.clearFaults()
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.pass(.seconds(130))
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
        }
    }

    @Test(arguments: ["/external_id", "/amount", "/currency", "/customer"])
    func `a failure of another payment frees no reference`(member: String) async throws {
        try await Self.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            let others = ["/amount": #""400.00""#, "/currency": #""USD""#]
            let other = others[member] ?? #""99999999-9999-4999-8999-999999999998""#
            harness.sandbox.next(
                .altered([Fault.Alteration("/status", #""FAILED""#), Fault.Alteration(member, other)]),
                on: .getPaymentIntent, count: nil)
            try await harness.pass(.seconds(10))
            #expect(try await client.payment(payment).string("status") == "PENDING")
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "payment_in_doubt")
            #expect(try await Self.alarms(on: harness) == ["differs"])
            harness.sandbox.clearFaults()
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.pass(.seconds(10))
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
        }
    }

    @Test func `Belvo taking its last word back leaves alarms that stay until somebody settles them`() async throws {
        try await Self.open(orders: "required") { harness, client, enrollment in
            _ = try await Self.place(on: harness, amount: "10.00")
            let first = try await Self.ordered(client, enrollment)
            try await client.authorize(first)
            harness.sandbox.next(
                .altered([Fault.Alteration("/status", #""FAILED""#)]), on: .getPaymentIntent, count: 2)
            try await harness.poll()
            #expect(try await client.payment(first).string("status") == "FAILED")
            let again = try await client.app.send(
                .post, "/v1/payment-intents", #"{"enrollment": "\#(enrollment.id)", "reference": "order-1"}"#,
                headers: ["idempotency-key": "tap-2"])
            let second = AppClient.OpenedPayment(
                id: try again.string("id"), belvoID: try again.string("belvo_id"), answer: again)
            try await client.authorize(second)
            try harness.sandbox.settle(intent: second.belvoID)
            try await harness.poll()
            #expect(try await Self.order(on: harness).string("status") == "paid")
            // The first settles late.
            try harness.sandbox.settle(intent: first.belvoID)
            try await harness.tell("PAYMENT_INTENTS", of: first.belvoID)
            try await harness.work()
            #expect(try await client.payment(first).string("status") == "FAILED")
            #expect(try await Self.alarms(on: harness) == ["contradiction", "double_paid"])
            #expect(try await Self.order(on: harness).string("status") == "disputed")
            #expect(try await harness.metrics().value("merchant_money_alarms", ["kind": "double_paid"]) == 1)
            #expect(try await harness.lines("SELECT payments::text AS line FROM ops.double_paid") == ["2"])
            try await harness.database.execute(
                "UPDATE money_alarms SET settled_at = app_now(), settled_by = 'ops: refunded by hand'")
            #expect(try await Self.alarms(on: harness).isEmpty)
            #expect(try await harness.metrics().value("merchant_money_alarms", ["kind": "double_paid"]) == 0)
            // And the other way round.
            harness.sandbox.next(
                .altered([Fault.Alteration("/status", #""FAILED""#)]), on: .getPaymentIntent, count: nil)
            try await harness.advance(by: .seconds(60))
            try await harness.tell("PAYMENT_INTENTS", of: second.belvoID)
            try await harness.work()
            #expect(try await client.payment(second).string("status") == "SUCCEEDED")
            #expect(try await Self.alarms(on: harness) == ["contradiction"])
        }
    }

    @Test func `a refused signature advises nothing that is then refused`() async throws {
        try await Self.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            harness.sandbox.next(.refused(400, code: "invalid"), on: .authorizePaymentIntent)
            #expect(try await client.authorize(payment).status == 422)
            let shown = try await client.payment(payment)
            #expect(try shown.string("status") == "PENDING")
            #expect(try shown.string("next_action", "type") == "poll")
            let second = try await client.requestPayment(enrollment, key: "tap-2")
            #expect(try second.string("payment_intent") == payment.id)
            #expect(try await harness.lines("SELECT id::text AS line FROM ops.payments_open") == [payment.id])
            // Belvo lets it lapse, and then the advice is true.
            try harness.sandbox.fail(intent: payment.belvoID)
            try await harness.pass(.seconds(11))
            #expect(try await client.payment(payment).string("next_action", "type") == "retry")
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 201)
        }
    }

    @Test func `the shop hears nothing of a creation that the app is told to repeat`() async throws {
        try await ShopDouble.serving { shop in
            try await Self.open("optional", shop) { harness, client, enrollment in
                harness.sandbox.next(.tooManyRequests(retryAfter: 1), on: .createPaymentIntent)
                #expect(try await client.requestPayment(enrollment).status == 503)
                try await harness.pass(.seconds(11))
                #expect(shop.types == ["enrollment.succeeded"])
            }
        }
    }

    static func open(
        _ orders: String, _ shop: ShopDouble,
        _ body: @escaping @Sendable (TestHarness, inout AppClient, AppClient.Enrollment) async throws -> Void
    ) async throws {
        try await open(orders: orders, shop.environment, body)
    }

    @Test func `whoever is being erased is waited for where a success is just being written`() async throws {
        try await Self.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            _ = try await client.cancel(payment)
            // A success with its event is written, and not committed before the erasure waits for it.
            let erasing = try await harness.database.transaction { transaction in
                try await transaction.execute(
                    """
                    UPDATE payments SET state = 'succeeded', failure_code = NULL, failure_authority = NULL
                    WHERE id::text = \(payment.id)
                    """)
                try await transaction.execute(
                    """
                    INSERT INTO events (id, record_type, record_id, type, body)
                    SELECT gen_random_uuid(), 'payment', id, 'payment.succeeded', '{}' FROM payments
                    WHERE id::text = \(payment.id)
                    """)
                let erasing = harness.loop.task {
                    do {
                        _ = try await harness.operate { try await $0.erase(try UserSubject("ana")) }
                        return "erased"
                    } catch { return "\(error)" }
                }
                let isWaiting: SQL = """
                    SELECT 'x' AS line FROM pg_stat_activity
                    WHERE wait_event_type = 'Lock' AND datname = current_database()
                    """
                try await harness.awaitCondition { try await !harness.lines(isWaiting).isEmpty }
                return erasing
            }
            #expect(try await erasing.value.contains("event"))
            #expect(try await harness.lines("SELECT type AS line FROM events") == ["payment.succeeded"])
        }
    }

    @Test func `a payment that begins while the shop changes its order takes the new terms`() async throws {
        try await Self.open(orders: "required") { harness, client, enrollment in
            for round in 0..<8 {
                _ = try await Self.place(on: harness, amount: "\(round + 1).00")
                let app = client.app
                let body = #"{"enrollment": "\#(enrollment.id)", "reference": "order-1"}"#
                async let paid = app.send(
                    .post, "/v1/payment-intents", body, headers: ["idempotency-key": "tap-\(round)"])
                for number in 1...5 { _ = try await Self.place(on: harness, amount: "\(round + 1).0\(number)") }
                let answer = try await paid
                #expect(answer.status == 201, "\(answer.text)")
                let order = try await Self.order(on: harness)
                #expect(try answer.string("amount") == order.string("amount"))
                _ = try await client.cancel(try answer.string("id"))
            }
        }
    }
}
