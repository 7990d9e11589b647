import BelvoSandbox
import HTTP
import Postgres
import Testing
import Transport

/// May Belvo still pay this attempt? What comes between two steps of the answer: a token, another user, an order, an
/// older server.
@Suite struct MayBelvoStillPayRaceTests {
    @Test func `a token that is given out while a payment is being given up is not forgotten`() async throws {
        try await MayBelvoStillPayTests.open { stage, shopper, bond in
            let bill = try await shopper.bill(bond)
            // The cancel has read the row and waits for Belvo, while the token is given out.
            stage.sandbox.next(.delayAnswer(.milliseconds(600)), on: .getPaymentIntent)
            let looks = stage.countCalls(.getPaymentIntent)
            async let canceled = shopper.cancel(bill)
            try await stage.awaitCondition { stage.countCalls(.getPaymentIntent) > looks }
            #expect(try await shopper.app.send(.post, "/v1/widget-token").status == 201)
            _ = try await canceled
            try stage.sandbox.turn(intent: bill.belvoID, to: "PROCESSING")
            let second = try await shopper.openPayment(bond, key: "tap-2")
            #expect(try second.string("code") == "payment_in_doubt")
        }
    }

    @Test(arguments: [503, 404])
    func `a token that ends while nobody can read frees nothing`(status: Int) async throws {
        try await MayBelvoStillPayTests.open { stage, shopper, bond in
            let bill = try await shopper.bill(bond)
            #expect(try await shopper.app.send(.post, "/v1/widget-token").status == 201)
            _ = try await shopper.cancel(bill)
            try stage.sandbox.turn(intent: bill.belvoID, to: "PROCESSING")
            stage.sandbox.next(.refused(status, code: "away"), on: .getPaymentIntent, count: nil)
            for _ in 0..<4 { try await stage.pass(.seconds(300)) }
            #expect(try await shopper.openPayment(bond, key: "tap-2").status != 201)
            stage.sandbox.clearFaults()
            try await stage.pass(.seconds(130))
            #expect(try await shopper.openPayment(bond, key: "tap-3").string("code") == "payment_in_doubt")
        }
    }

    @Test func `an order is not paid by two users, whoever it was for before`() async throws {
        try await MayBelvoStillPayTests.open(orders: "required") { stage, shopper, bond in
            _ = try await MayBelvoStillPayTests.place(on: stage, amount: "10.00")
            let bill = try await MayBelvoStillPayTests.ordered(shopper, bond)
            _ = try await shopper.cancel(bill)
            let other = try await App(client: stage.client, token: MayBelvoStillPayTests.shopToken).send(
                .put, "/orders/order-1", #"{"subject": "bia", "amount": "10.00", "description": "Two coffees"}"#)
            #expect(other.status == 409)
            #expect(try other.string("code") == "order_in_use")
            // Its own user's price may change: nobody signed anything.
            #expect(try await MayBelvoStillPayTests.place(on: stage, amount: "11.00").status == 200)
        }
    }

    @Test func `what shows another payment is no reading of the one that is given up`() async throws {
        try await MayBelvoStillPayTests.open { stage, shopper, bond in
            let bill = try await shopper.bill(bond)
            stage.sandbox.next(.altered([Fault.Alteration("/amount", #""400.00""#)]), on: .getPaymentIntent, count: nil)
            #expect(try await shopper.cancel(bill).string("next_action", "type") == "poll")
            #expect(try await shopper.openPayment(bond, key: "tap-2").string("code") == "payment_in_doubt")
            stage.sandbox.clearFaults()
            #expect(try await shopper.openPayment(bond, key: "tap-2").status == 201)
        }
    }

    @Test func `a payment without an order is not opened beside one that has just come`() async throws {
        try await MayBelvoStillPayTests.open { stage, shopper, bond in
            for round in 0..<6 {
                let (app, reference, key) = (shopper.app, "order-\(round)", "tap-\(round)")
                let body = shopper.paymentBody(bond, reference: reference, amount: #""0.01""#)
                let shop = App(client: stage.client, token: MayBelvoStillPayTests.shopToken)
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
        try await MayBelvoStillPayTests.open(orders: "required") { stage, shopper, bond in
            _ = try await MayBelvoStillPayTests.place(on: stage, amount: "10.00")
            let bill = try await MayBelvoStillPayTests.ordered(shopper, bond)
            try stage.sandbox.fail(intent: bill.belvoID)
            try await stage.tell("PAYMENT_INTENTS", of: bill.belvoID)
            try await stage.work()
            let columns = """
                subject, enrollment_id, reference, amount_centavos, description, statement_description,
                belvo_customer_id, belvo_enrollment_id, beneficiary_bank_account, created_at, updated_at
                """
            try await stage.database.execute(
                SQL(
                    trusted: """
                        INSERT INTO payments (id, state, holds_reference, belvo_idempotency_key, next_poll_at,
                            deadline_at, \(columns))
                        SELECT gen_random_uuid(), 'creating', true, gen_random_uuid(), app_now(), app_now(), \(columns)
                        FROM payments
                        """))
            let shown = try await stage.lines(
                "SELECT priced_by_order::text AS line FROM payments WHERE state = 'creating'")
            #expect(shown == ["true"])
            // Its guard for a second one is the same word.
            await #expect(throws: (any Error).self) {
                try await stage.database.execute(
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
}
