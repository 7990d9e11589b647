import Belvo
import BelvoSandbox
import FoundationEssentials
import HTTP
import MerchantModel
import Payments
import Postgres
import Testing
import Transport

@testable import MerchantServer
@testable import MerchantStore
@testable import MerchantWorkflows

/// May Belvo still pay this attempt? What comes between two steps of the answer: a token, another user, an order, an
/// older server.
@Suite struct MayBelvoStillPayRaceTests {
    @Test func `a token that is given out while a payment is being given up is not forgotten`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            // The cancel has read the row and waits for Belvo, while the token is given out.
            harness.sandbox.next(.delayAnswer(.milliseconds(600)), on: .getPaymentIntent)
            let looks = harness.countCalls(.getPaymentIntent)
            async let canceled = client.cancel(payment)
            try await harness.awaitCondition { harness.countCalls(.getPaymentIntent) > looks }
            #expect(try await client.app.send(.post, "/v1/widget-token").status == 201)
            _ = try await canceled
            try harness.sandbox.turn(intent: payment.belvoID, to: "PROCESSING")
            let second = try await client.requestPayment(enrollment, key: "tap-2")
            #expect(try second.string("code") == "payment_in_doubt")
        }
    }

    @Test(arguments: [503, 404])
    func `a token that ends while nobody can read frees nothing`(status: Int) async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            #expect(try await client.app.send(.post, "/v1/widget-token").status == 201)
            _ = try await client.cancel(payment)
            try harness.sandbox.turn(intent: payment.belvoID, to: "PROCESSING")
            harness.sandbox.next(.refused(status, code: "away"), on: .getPaymentIntent, count: nil)
            for _ in 0..<4 { try await harness.pass(.seconds(300)) }
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status != 201)
            harness.sandbox.clearFaults()
            try await harness.pass(.seconds(130))
            #expect(try await client.requestPayment(enrollment, key: "tap-3").string("code") == "payment_in_doubt")
        }
    }

    @Test func `an order is not paid by two users, whoever it was for before`() async throws {
        try await MayBelvoStillPayTests.open(orders: "required") { harness, client, enrollment in
            _ = try await MayBelvoStillPayTests.place(on: harness, amount: "10.00")
            let payment = try await MayBelvoStillPayTests.ordered(client, enrollment)
            _ = try await client.cancel(payment)
            let other = try await App(client: harness.client, token: MayBelvoStillPayTests.shopToken).send(
                .put, "/orders/order-1", #"{"subject": "bia", "amount": "10.00", "description": "Two coffees"}"#)
            #expect(other.status == 409)
            #expect(try other.string("code") == "order_in_use")
            // Its own user's price may change: nothing was signed.
            #expect(try await MayBelvoStillPayTests.place(on: harness, amount: "11.00").status == 200)
        }
    }

    @Test func `what shows another payment is no reading of the one that is given up`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            harness.sandbox.next(
                .altered([Fault.Alteration("/amount", #""400.00""#)]), on: .getPaymentIntent, count: nil)
            #expect(try await client.cancel(payment).string("next_action", "type") == "poll")
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "payment_in_doubt")
            harness.sandbox.clearFaults()
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 201)
        }
    }

    @Test func `a payment without an order is not opened beside one that has just come`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            for round in 0..<6 {
                let (app, reference, key) = (client.app, "order-\(round)", "tap-\(round)")
                let body = client.paymentBody(enrollment, reference: reference, amount: #""0.01""#)
                let shop = App(client: harness.client, token: MayBelvoStillPayTests.shopToken)
                async let placed = shop.send(
                    .put, "/orders/\(reference)",
                    #"{"subject": "ana", "amount": "400.00", "description": "Two coffees"}"#)
                async let opened = app.send(.post, "/v1/payment-intents", body, headers: ["idempotency-key": key])
                let (order, payment) = try await (placed, opened)
                #expect((order.status == 201) != (payment.status == 201), "\(order.status), \(payment.status)")
            }
        }
    }

    @Test func `a server of the version before opens payments for orders as it did`() async throws {
        try await MayBelvoStillPayTests.open(orders: "required") { harness, client, enrollment in
            _ = try await MayBelvoStillPayTests.place(on: harness, amount: "10.00")
            let payment = try await MayBelvoStillPayTests.ordered(client, enrollment)
            try harness.sandbox.fail(intent: payment.belvoID)
            try await harness.tell("PAYMENT_INTENTS", of: payment.belvoID)
            try await harness.work()
            let columns = """
                subject, enrollment_id, reference, amount_centavos, description, statement_description,
                belvo_customer_id, belvo_enrollment_id, beneficiary_bank_account, created_at, updated_at
                """
            try await harness.database.execute(
                SQL(
                    trusted: """
                        INSERT INTO payments (id, state, holds_reference, belvo_idempotency_key, next_poll_at,
                            deadline_at, \(columns))
                        SELECT gen_random_uuid(), 'creating', true, gen_random_uuid(), app_now(), app_now(), \(columns)
                        FROM payments
                        """))
            let shown = try await harness.lines(
                "SELECT priced_by_order::text AS line FROM payments WHERE state = 'creating'")
            #expect(shown == ["true"])
            // An old server's second insert hits a constraint of the same name.
            await #expect(throws: (any Error).self) {
                try await harness.database.execute(
                    SQL(
                        trusted: """
                            INSERT INTO payments (id, state, holds_reference, belvo_idempotency_key, next_poll_at,
                                deadline_at, \(columns))
                            SELECT gen_random_uuid(), 'creating', true, gen_random_uuid(), app_now(), app_now(),
                                \(columns)
                            FROM payments LIMIT 1
                            """))
            }
        }
    }

    @Test(arguments: [400, 401, 403, 422, 425, 429])
    func `a creation that was refused and made all the same is watched while a token could sign it`(status: Int)
        async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            #expect(try await client.app.send(.post, "/v1/widget-token").status == 201)
            harness.sandbox.next(.statusAfter(status), on: .createPaymentIntent)
            #expect(try await client.requestPayment(enrollment, key: "tap-1").status >= 400)
            let id = try #require(try await harness.lines("SELECT id::text AS line FROM payments").first)
            let intent = try #require(harness.sandbox.intentIDs(externalID: id).first)
            // Signed by the SDK, and the webhook is lost.
            try harness.sandbox.turn(intent: intent, to: "PROCESSING")
            try await harness.pass(.seconds(700))
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "payment_in_doubt")
            try harness.sandbox.settle(intent: intent)
            try await harness.pass(.seconds(300))
            #expect(try await client.requestPayment(enrollment, key: "tap-3").string("code") == "already_paid")
        }
    }

    @Test(arguments: [400, 401, 403, 404, 422])
    func `a token given out after a refusal has the refused creation looked for`(status: Int) async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            harness.sandbox.next(.statusAfter(status), on: .createPaymentIntent)
            #expect(try await client.requestPayment(enrollment, key: "tap-1").status >= 400)
            let id = try #require(try await harness.lines("SELECT id::text AS line FROM payments").first)
            let intent = try #require(harness.sandbox.intentIDs(externalID: id).first)
            #expect(try await client.app.send(.post, "/v1/widget-token").status == 201)
            try harness.sandbox.turn(intent: intent, to: "PROCESSING")
            try await harness.poll()
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "payment_in_doubt")
        }
    }

    @Test func `a token given out while a creation is under way is seen by whatever ends it`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            harness.sandbox.next(.dropAnswer, on: .createPaymentIntent)
            harness.sandbox.next(.refused(503, code: "away"), on: .listPaymentIntents, count: nil)
            #expect(try await client.requestPayment(enrollment, key: "tap-1").status == 202)
            let store = harness.merchant.dependencies.store
            let id = try #require(try await harness.lines("SELECT id::text AS line FROM payments").first)
            let own = try #require(Payment.ID(id))
            let readBefore = try #require(try await store.payment(own))
            #expect(try await client.app.send(.post, "/v1/widget-token").status == 201)
            let workflow = PaymentWorkflow(dependencies: harness.merchant.dependencies)
            _ = try await workflow.recordEvent(.refused(.notLetIn), on: readBefore, cause: .poller)
            #expect(try await harness.lines("SELECT state AS line FROM payments") == ["failed"])
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "payment_in_doubt")
            harness.sandbox.clearFaults()
            let intent = try #require(harness.sandbox.intentIDs(externalID: id).first)
            try harness.sandbox.settle(intent: intent)
            try await harness.pass(.seconds(60))
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "already_paid")
        }
    }

    @Test func `another intent of a payment's name is noticed whenever it is paid`() async throws {
        try await MayBelvoStillPayTests.open(orders: "required") { harness, client, enrollment in
            _ = try await MayBelvoStillPayTests.place(on: harness, amount: "19.90")
            let payment = try await MayBelvoStillPayTests.ordered(client, enrollment)
            let cheaper = try await client.openPaymentBySDK(
                from: enrollment.atBelvo(), named: payment.id, centavos: 100)
            try await harness.hear(of: cheaper.description)
            let alarms = "SELECT kind AS line FROM ops.money_alarms ORDER BY kind" as SQL
            #expect(try await harness.lines(alarms) == ["created_twice"])
            try harness.sandbox.settle(intent: cheaper.description)
            try await harness.pass(.seconds(60))
            #expect(try await harness.lines(alarms) == ["created_twice", "paid_beside_order"])
        }
    }

    @Test func `another intent of a payment's name that is paid after FAILED is noticed when that is found to be true`()
        async throws
    {
        try await MayBelvoStillPayTests.open(orders: "required") { harness, client, enrollment in
            _ = try await MayBelvoStillPayTests.place(on: harness, amount: "19.90")
            let payment = try await MayBelvoStillPayTests.ordered(client, enrollment)
            let cheaper = try await client.openPaymentBySDK(
                from: enrollment.atBelvo(), named: payment.id, centavos: 100)
            harness.sandbox.next(
                .altered([Fault.Alteration("/status", #""FAILED""#)]), on: .getPaymentIntent, count: nil)
            for _ in 0..<2 { try await harness.hear(of: cheaper.description) }
            harness.sandbox.clearFaults()
            try harness.sandbox.settle(intent: cheaper.description)
            try await harness.hear(of: cheaper.description)
            let alarms = "SELECT kind AS line FROM ops.money_alarms ORDER BY kind" as SQL
            #expect(try await harness.lines(alarms) == ["contradiction", "created_twice"])
            try await harness.database.execute(
                """
                UPDATE money_alarms SET settled_at = app_now(), settled_by = 'rosa: it is true'
                WHERE kind = 'contradiction'
                """)
            try await harness.poll()
            #expect(try await harness.lines(alarms).contains("paid_beside_order"))
            #expect(try await MayBelvoStillPayTests.order(on: harness).string("status") == "disputed")
        }
    }

    @Test func `what Belvo calls FAILED again rests once an operator has settled it, and is read ever less often`()
        async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.fail(intent: payment.belvoID)
            try await harness.hear(of: payment.belvoID)
            let onward = Fault.altered([Fault.Alteration("/status", #""PROCESSING""#)])
            harness.sandbox.next(onward, on: .getPaymentIntent, count: nil)
            try await harness.hear(of: payment.belvoID)
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "payment_in_doubt")
            try await harness.pass(.seconds(86_400))
            let pauses = "SELECT (next_poll_at - app_now() > interval '1 minute')::text AS line FROM payments" as SQL
            #expect(try await harness.lines(pauses) == ["true"])
            harness.sandbox.clearFaults()
            try await harness.pass(.seconds(3_700))
            // One reading may lag: it frees nothing.
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "payment_in_doubt")
            #expect(try await harness.lines("SELECT kind AS line FROM ops.money_alarms") == ["contradiction"])
            try await harness.database.execute(
                "UPDATE money_alarms SET settled_at = app_now(), settled_by = 'rosa: Belvo says FAILED'")
            // What Belvo shows from now on is true.
            for _ in 0..<2 { try await harness.pass(.seconds(6)) }
            #expect(try await harness.lines("SELECT 'due' AS line FROM payments WHERE next_poll_at IS NOT NULL") == [])
            #expect(try await client.requestPayment(enrollment, key: "tap-2").status == 201)
        }
    }

    @Test func `money that bears a payment's name counts also after its person was forgotten`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.hear(of: payment.belvoID)
            let twin = try await Self.makeTwin(of: payment, client, enrollment)
            _ = try await harness.operate { try await $0.erase(UserSubject("ana")) }
            try harness.sandbox.settle(intent: twin)
            try await harness.hear(of: twin)
            #expect(try await harness.lines("SELECT kind AS line FROM ops.money_alarms").contains("double_paid"))
            let texts = "SELECT description AS line FROM payments WHERE origin = 'observed' AND metadata IS NULL" as SQL
            #expect(try await harness.texts(texts).count == 1)
            #expect(try await !harness.texts(texts).joined().contains("teas"))
        }
    }

    @Test func `what an order has from another user is in the way, and is nobody else's to see`() async throws {
        try await MayBelvoStillPayTests.open(orders: "required") { harness, client, enrollment in
            _ = try await MayBelvoStillPayTests.place(on: harness, amount: "19.90")
            harness.sandbox.next(.statusAfter(403), on: .createPaymentIntent)
            let refused = try await client.app.send(
                .post, "/v1/payment-intents", #"{"enrollment": "\#(enrollment.id)", "reference": "order-1"}"#,
                headers: ["idempotency-key": "tap-1"])
            #expect(refused.status == 502)
            let moved = try await App(client: harness.client, token: MayBelvoStillPayTests.shopToken).send(
                .put, "/orders/order-1", #"{"subject": "bia", "amount": "19.90", "description": "Two coffees"}"#)
            #expect(moved.status == 200)
            #expect(try await client.app.send(.post, "/v1/widget-token").status == 201)
            var other = try await AppClient.arrive(on: harness, as: "bia", taxID: "111.444.777-35")
            let theirs = try await other.enroll()
            let answer = try await other.app.send(
                .post, "/v1/payment-intents", #"{"enrollment": "\#(theirs.id)", "reference": "order-1"}"#,
                headers: ["idempotency-key": "tap-1"])
            #expect(try answer.string("code") == "payment_in_doubt")
            #expect(!answer.text.contains("payment_intent\""))
        }
    }

    @Test func `nobody is forgotten of whom Belvo has told and that has not been read yet`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            _ = try await client.cancel(payment)
            harness.sandbox.next(.refused(503, code: "away"), on: .getPaymentIntent, count: nil)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.hear(of: payment.belvoID)
            func erase() async throws { _ = try await harness.operate { try await $0.erase(UserSubject("ana")) } }
            await #expect(throws: RecordsStillOpen.self) { try await erase() }
            harness.sandbox.clearFaults()
            try await harness.pass(.seconds(30))
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
            try await erase()
        }
    }

    @Test func `the row of a token that may still sign is not deleted`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, _ in
            #expect(try await client.app.send(.post, "/v1/widget-token").status == 201)
            await #expect(throws: DatabaseError.self) {
                try await harness.database.execute("DELETE FROM widget_tokens")
            }
            try await harness.pass(.seconds(800))
            try await harness.database.execute("DELETE FROM widget_tokens")
        }
    }

    @Test(arguments: ["PROCESSING", "SUCCEEDED"])
    func `what goes on after Belvo called it FAILED keeps its reference, whatever it shows`(status: String) async throws
    {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.fail(intent: payment.belvoID)
            try await harness.hear(of: payment.belvoID)
            let changes = [Fault.Alteration("/status", "\"\(status)\""), Fault.Alteration("/amount", "\"400.00\"")]
            harness.sandbox.next(.altered(changes), on: .getPaymentIntent, count: nil)
            try await harness.hear(of: payment.belvoID)
            #expect(harness.log.holds("payment.contradiction"))
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "payment_in_doubt")
        }
    }

    @Test func `a twin holds the reference of its payment as soon as it may be paid`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            let twin = try await Self.makeTwin(of: payment, client, enrollment)
            try await harness.hear(of: twin)
            #expect(harness.log.holds("payment.created_twice"))
            // No app has its options, and no user a token: another attempt may begin.
            try harness.sandbox.fail(intent: payment.belvoID)
            try await harness.hear(of: payment.belvoID)
            let second = try await client.openPayment(enrollment, key: "tap-2")
            try harness.sandbox.turn(intent: twin, to: "PROCESSING")
            try await harness.hear(of: twin)
            let signed = try client.authorization(of: second)
            let path = "/v1/payment-intents/\(second.id)/authorize"
            #expect(try await client.app.send(.post, path, signed).string("code") == "payment_in_doubt")
            try harness.sandbox.settle(intent: twin)
            try await harness.hear(of: twin)
            #expect(try await client.app.send(.post, path, signed).string("code") == "already_paid")
            #expect(try await client.requestPayment(enrollment, key: "tap-3").string("code") == "already_paid")
        }
    }

    @Test(arguments: [true, false])
    func `a twin that a token could sign holds the reference until it was read after the token's end`(
        isSigned: Bool
    ) async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            #expect(try await client.app.send(.post, "/v1/widget-token").status == 201)
            let twin = try await Self.makeTwin(of: payment, client, enrollment)
            try await harness.hear(of: twin)
            try harness.sandbox.fail(intent: payment.belvoID)
            try await harness.hear(of: payment.belvoID)
            let held = try await harness.lines(
                "SELECT extract(epoch FROM held_until - app_now())::integer::text AS line FROM widget_tokens")
            if isSigned { try harness.sandbox.turn(intent: twin, to: "PROCESSING") }
            // Signed in its last moments, and not read since.
            try await harness.advance(by: .seconds(#require(held.first.flatMap { Int($0) }) + 1))
            #expect(try await client.requestPayment(enrollment, key: "tap-2").string("code") == "payment_in_doubt")
            try await harness.pass(.seconds(960))
            let late = try await client.requestPayment(enrollment, key: "tap-3")
            #expect(late.status == (isSigned ? 409 : 201))
        }
    }

    @Test(arguments: [true, false])
    func `a payment and its twin that are both paid raise the loudest alarm`(isHeardBefore: Bool) async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            let twin = try await Self.makeTwin(of: payment, client, enrollment)
            if isHeardBefore { try await harness.hear(of: twin) }
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.hear(of: payment.belvoID)
            try harness.sandbox.settle(intent: twin)
            try await harness.hear(of: twin)
            #expect(harness.log.holds("payment.double_paid"))
            #expect(try await harness.lines("SELECT kind AS line FROM ops.money_alarms").contains("double_paid"))
        }
    }

    @Test func `a creation that is answered with another payment's id is found under its own`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            let wrong = Fault.altered([Fault.Alteration("/id", "\"\(payment.belvoID)\"")])
            harness.sandbox.next(wrong, on: .createPaymentIntent)
            let other = try await client.requestPayment(enrollment, reference: "order-2", key: "tap-2")
            #expect(other.status == 201)
            #expect(try other.string("belvo_id") != payment.belvoID)
            #expect(harness.log.holds("payment.differs"))
        }
    }

    /// Another intent that bears the payment's name.
    private static func makeTwin(
        of payment: AppClient.OpenedPayment, _ client: AppClient, _ enrollment: AppClient.Enrollment
    ) async throws -> String {
        let payer = Belvo.Enrollment.ID(try #require(UUID(uuidString: enrollment.belvoID)))
        return try await client.openPaymentBySDK(from: payer, named: payment.id, centavos: 1990).description
    }
}

extension TestHarness {
    /// Belvo sends a webhook about an intent, and the server reads it.
    func hear(of intent: String) async throws {
        try await tell("PAYMENT_INTENTS", of: intent)
        try await work()
    }
}
