import BelvoSandbox
import HTTP
import Postgres
import Testing

/// With an order, the shop alone sets the price.
@Suite struct OrderedPaymentTests {
    private static func open(
        orders: String = "required",
        _ body: @escaping @Sendable (TestHarness, inout AppClient, AppClient.Enrollment) async throws -> Void
    ) async throws {
        try await TestHarness.open(environment: ["SHOP_TOKEN": OrderTests.token, "ORDERS": orders]) { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            try await body(harness, &client, enrollment)
        }
    }

    private static func place(
        on harness: TestHarness, _ reference: String = "order-1", subject: String = "ana", amount: String = "19.90",
        more: String = ""
    ) async throws -> Answer {
        try await App(client: harness.client, token: OrderTests.token).send(
            .put, "/orders/\(reference)",
            #"{"subject": "\#(subject)", "amount": "\#(amount)", "description": "Two coffees"\#(more)}"#)
    }

    private static func order(on harness: TestHarness, _ reference: String = "order-1") async throws -> Answer {
        try await App(client: harness.client, token: OrderTests.token).send(.get, "/orders/\(reference)")
    }

    private static func pay(
        _ client: AppClient, _ enrollment: AppClient.Enrollment, key: String = "tap-1", _ members: String
    ) async throws -> Answer {
        try await client.app.send(
            .post, "/v1/payment-intents", #"{"enrollment": "\#(enrollment.id)"\#(members)}"#,
            headers: ["idempotency-key": key])
    }

    @Test func `a payment takes its price and texts from the order, which follows it to the end`() async throws {
        try await Self.open { harness, client, enrollment in
            _ = try await Self.place(on: harness, more: #", "statement_description": "CAFE""#)
            let answer = try await Self.pay(client, enrollment, #", "reference": "order-1""#)
            #expect(answer.status == 201)
            #expect(try answer.string("amount") == "19.90")
            #expect(try answer.string("description") == "Two coffees")
            #expect(try answer.string("statement_description") == "CAFE")
            let payment = AppClient.OpenedPayment(
                id: try answer.string("id"), belvoID: try answer.string("belvo_id"), answer: answer)
            let live = try await Self.order(on: harness)
            #expect(try live.string("status") == "live")
            #expect(try live.string("payment_intent") == payment.id)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.poll()
            let paid = try await Self.order(on: harness)
            #expect(try paid.string("status") == "paid")
            let again = try await Self.pay(client, enrollment, key: "tap-2", #", "reference": "order-1""#)
            #expect(again.status == 409)
            #expect(try again.string("code") == "already_paid")
        }
    }

    @Test func `an app that names another price is refused, whatever else is wrong`() async throws {
        try await Self.open { harness, client, enrollment in
            _ = try await Self.place(on: harness)
            let cheap = try await Self.pay(client, enrollment, #", "reference": "order-1", "amount": "0.01""#)
            #expect(cheap.status == 400)
            #expect(try cheap.string("code") == "amount_differs")
            let texts = try await Self.pay(client, enrollment, #", "reference": "order-1", "description": "Tea""#)
            #expect(texts.status == 400)
            #expect(try texts.each("field", in: "errors").compactMap { $0 } == ["/description"])
            let same = try await Self.pay(
                client, enrollment, #", "reference": "order-1", "amount": 19.9, "description": "Two coffees""#)
            #expect(same.status == 201)
            #expect(harness.countCalls(.createPaymentIntent) == 1)
        }
    }

    @Test func `without an order, or with somebody else's, nothing is paid`() async throws {
        try await Self.open { harness, client, enrollment in
            _ = try await Self.place(on: harness, subject: "bia")
            let own = #", "amount": "1.00", "description": "x""#
            let none = try await Self.pay(client, enrollment, own)
            #expect(none.status == 409)
            #expect(try none.string("code") == "order_required")
            for reference in ["order-1", "order-2"] {
                let answer = try await Self.pay(client, enrollment, #", "reference": "\#(reference)""# + own)
                #expect(answer.status == 400)
                #expect(
                    try answer.raw("errors")
                        == #"[{"field":"/reference","code":"not_found","message":"There is no such order."}]"#)
            }
            #expect(harness.countCalls(.createPaymentIntent) == 0)
        }
    }

    @Test func `where orders are optional one that is there still rules, and what is missing is named`() async throws {
        try await Self.open(orders: "optional") { harness, client, enrollment in
            _ = try await Self.place(on: harness)
            let cheap = try await Self.pay(
                client, enrollment, #", "reference": "order-1", "amount": "1.00", "description": "x""#)
            #expect(try cheap.string("code") == "amount_differs")
            let bare = try await Self.pay(client, enrollment, #", "reference": "order-2""#)
            #expect(bare.status == 400)
            #expect(try bare.each("field", in: "errors").compactMap { $0 } == ["/amount", "/description"])
            let own = try await Self.pay(
                client, enrollment, #", "reference": "order-2", "amount": "1.00", "description": "x""#)
            #expect(own.status == 201)
        }
    }

    @Test func `an order whose time is over is not paid`() async throws {
        try await Self.open { harness, client, enrollment in
            _ = try await Self.place(on: harness, more: #", "expires_at": "2000-01-01T00:00:00Z""#)
            let expired = try await Self.order(on: harness)
            #expect(try expired.string("status") == "expired")
            let late = try await Self.pay(client, enrollment, #", "reference": "order-1""#)
            #expect(late.status == 409)
            #expect(try late.string("code") == "order_expired")
        }
    }

    @Test func `an order that somebody is paying stays as it is, for the shop and for SQL`() async throws {
        try await Self.open { harness, client, enrollment in
            _ = try await Self.place(on: harness)
            let answer = try await Self.pay(client, enrollment, #", "reference": "order-1""#)
            let payment = AppClient.OpenedPayment(
                id: try answer.string("id"), belvoID: try answer.string("belvo_id"), answer: answer)
            for change in ["live", "authorized", "paid"] {
                if change == "authorized" { try await client.authorize(payment) }
                if change == "paid" {
                    try harness.sandbox.settle(intent: payment.belvoID)
                    try await harness.poll()
                }
                let dearer = try await Self.place(on: harness, amount: "20.00")
                #expect(dearer.status == 409, "\(change)")
                #expect(try dearer.string("code") == "order_in_use", "\(change)")
                #expect(try dearer.string("payment_intent") == payment.id, "\(change)")
                // The shop that lost its answer says the same again.
                #expect(try await Self.place(on: harness).status == 200, "\(change)")
                await #expect(throws: (any Error).self, "\(change)") {
                    try await harness.database.execute(
                        "UPDATE orders SET amount_centavos = 1 WHERE reference = 'order-1'")
                }
                await #expect(throws: (any Error).self, "\(change)") {
                    try await harness.database.execute("DELETE FROM orders WHERE reference = 'order-1'")
                }
            }
        }
    }

    @Test func `a new price and a payment at the old one never both win`() async throws {
        try await Self.open { harness, client, enrollment in
            for round in 0..<10 {
                _ = try await Self.place(on: harness, "order-\(round)")
                async let dearer = Self.place(on: harness, "order-\(round)", amount: "20.00")
                async let paid = Self.pay(
                    client, enrollment, key: "tap-\(round)", #", "reference": "order-\#(round)""#)
                let (change, payment) = try await (dearer, paid)
                guard payment.status == 201 else {
                    #expect(change.status == 200)
                    continue
                }
                let order = try await Self.order(on: harness, "order-\(round)")
                #expect(try order.string("amount") == payment.string("amount"), "\(round)")
            }
        }
    }

    @Test func `an enrollment that the bank has taken back is noticed before the payment`() async throws {
        try await Self.open(orders: "optional") { harness, client, enrollment in
            try harness.sandbox.revoke(enrollment: enrollment.belvoID)
            // What Belvo showed minutes ago counts no more.
            try await harness.advance(by: .seconds(301))
            let refused = try await client.requestPayment(enrollment)
            #expect(refused.status == 409)
            #expect(try refused.string("code") == "enrollment_not_usable")
            #expect(try await client.enrollment(enrollment).string("next_action", "reason") == "enroll_again")
            #expect(harness.countCalls(.createPaymentIntent) == 0)
        }
    }
}
