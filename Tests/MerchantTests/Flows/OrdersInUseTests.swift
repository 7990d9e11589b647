import Belvo
import BelvoSandbox
import FoundationEssentials
import HTTP
import MerchantModel
import MerchantStore
import Payments
import Postgres
import Testing
import Transport

@testable import MerchantServer

/// An order stays what it was while a payment for it may be paid, and what happens to it after that is seen.
@Suite struct OrdersInUseTests {
    @Test func `an order that was given to another user is disputed before the shop, whoever paid it`() async throws {
        try await ShopDouble.serving { shop in
            try await MayBelvoStillPayTests.open(orders: "required", shop.environment) { harness, client, enrollment in
                _ = try await TakenBackTests.put(harness, for: "ana")
                let payment = try await MayBelvoStillPayTests.ordered(client, enrollment)
                try await TakenBackTests.failed(harness, &client, payment)
                #expect(try await TakenBackTests.put(harness, for: "bia").status == 200)
                var other = try await AppClient.arrive(on: harness, as: "bia", taxID: "111.444.777-35")
                let theirEnrollment = try await other.enroll()
                harness.sandbox.next(
                    .altered([Fault.Alteration("/status", #""FAILED""#)]), on: .getPaymentIntent)
                let theirs = try await MayBelvoStillPayTests.ordered(other, theirEnrollment)
                try await other.authorize(theirs)
                try harness.sandbox.settle(intent: theirs.belvoID)
                try await harness.hear(of: theirs.belvoID)
                #expect(try await TakenBackTests.order(harness) == "paid")
                try harness.sandbox.settle(intent: payment.belvoID)
                try await harness.hear(of: payment.belvoID)
                #expect(
                    try await TakenBackTests.alarms(harness) == ["contradiction", "double_paid", "paid_beside_order"])
                #expect(try await TakenBackTests.order(harness) == "disputed")
                for _ in 0..<3 { try await harness.work() }
                // Three alarms are one dispute.
                #expect(shop.types.count { $0 == "order.disputed" } == 1)
                #expect(try await harness.lines("SELECT payments::text AS line FROM ops.double_paid") == ["2"])
                try await TakenBackTests.settleAlarms(harness)
                // What Belvo shows to have been paid after all is not another one.
                try await harness.poll()
                #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
                for _ in 0..<3 { try await harness.work() }
                #expect(try await TakenBackTests.alarms(harness).isEmpty)
                #expect(shop.types.count { $0 == "order.disputed" } == 1)
            }
        }
    }

    @Test func `no payment of another user for an order begins beside one that may be paid, whoever writes it`()
        async throws
    {
        try await MayBelvoStillPayTests.open(orders: "required") { harness, client, enrollment in
            _ = try await TakenBackTests.put(harness, for: "ana")
            let payment = try await MayBelvoStillPayTests.ordered(client, enrollment)
            try await TakenBackTests.failed(harness, &client, payment)
            #expect(try await TakenBackTests.put(harness, for: "bia").status == 200)
            let columns: SQL = """
                enrollment_id, amount_centavos, description, statement_description, belvo_customer_id,
                belvo_enrollment_id, beneficiary_bank_account, created_at, updated_at
                """
            func begin() async throws {
                try await harness.database.execute(
                    """
                    INSERT INTO payments (id, subject, state, reference, priced_by_order, belvo_idempotency_key,
                        next_poll_at, deadline_at, \(fragment: columns))
                    SELECT gen_random_uuid(), 'bia', 'creating', reference, true, gen_random_uuid(), app_now(),
                        app_now(), \(fragment: columns)
                    FROM payments WHERE subject = 'ana'
                    """)
            }
            // Belvo takes the end back.
            try harness.sandbox.turn(intent: payment.belvoID, to: "PROCESSING")
            try await harness.hear(of: payment.belvoID)
            #expect(try await TakenBackTests.alarms(harness).contains("contradiction"))
            await #expect(throws: DatabaseError.self) { try await begin() }
            #expect(try await harness.lines("SELECT subject AS line FROM payments") == ["ana"])
            var other = try await AppClient.arrive(on: harness, as: "bia", taxID: "111.444.777-35")
            let theirs = try await other.app.send(
                .post, "/v1/payment-intents",
                #"{"enrollment": "\#(try await other.enroll().id)", "reference": "order-1"}"#,
                headers: ["idempotency-key": "tap-1"])
            #expect(theirs.status == 409)
            #expect(!theirs.text.contains(payment.id), "a user learns the id of another user's payment")
        }
    }

    @Test func `an order whose payer is erased stays paid, without an alarm`() async throws {
        try await MayBelvoStillPayTests.open(orders: "required") { harness, client, enrollment in
            _ = try await TakenBackTests.put(harness, for: "ana")
            let payment = try await MayBelvoStillPayTests.ordered(client, enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.hear(of: payment.belvoID)
            _ = try await harness.operate { try await $0.erase(UserSubject("ana")) }
            #expect(try await TakenBackTests.order(harness) == "paid")
            #expect(try await TakenBackTests.alarms(harness).isEmpty)
        }
    }

    @Test func `an order keeps its name once a payment was opened for it`() async throws {
        try await MayBelvoStillPayTests.open(orders: "required") { harness, client, enrollment in
            _ = try await TakenBackTests.put(harness, for: "ana")
            let payment = try await MayBelvoStillPayTests.ordered(client, enrollment)
            try await TakenBackTests.failed(harness, &client, payment)
            await #expect(throws: DatabaseError.self) {
                try await harness.database.execute("UPDATE orders SET reference = 'order-2'")
            }
        }
    }

    @Test func `a twin that nobody can sign keeps no order's price, as it keeps no payment from being begun`()
        async throws
    {
        try await MayBelvoStillPayTests.open(orders: "required") { harness, client, enrollment in
            _ = try await TakenBackTests.put(harness, for: "ana")
            let sandbox = harness.sandbox
            sandbox.variants.listLagMilliseconds = 3_600_000
            sandbox.variants.keyReuse = .forgotten
            sandbox.next(.dropAnswer, on: .createPaymentIntent)
            let payment = try await MayBelvoStillPayTests.ordered(client, enrollment)
            let twin = try #require(sandbox.intentIDs(externalID: payment.id).first { $0 != payment.belvoID })
            try await harness.hear(of: twin)
            try sandbox.fail(intent: payment.belvoID)
            try await harness.hear(of: payment.belvoID)
            let states = "SELECT state AS line FROM payments ORDER BY state" as SQL
            #expect(try await harness.lines(states) == ["failed", "observed"])
            #expect(try await TakenBackTests.order(harness) == "open")
            #expect(try await MayBelvoStillPayTests.place(on: harness, amount: "400.00").status == 200)
            // A token could sign it.
            #expect(try await client.app.send(.post, "/v1/widget-token").status == 201)
            #expect(try await MayBelvoStillPayTests.place(on: harness, amount: "10.00").status == 409)
            let again = try await client.app.send(
                .post, "/v1/payment-intents", #"{"enrollment": "\#(enrollment.id)", "reference": "order-1"}"#,
                headers: ["idempotency-key": "tap-2"])
            #expect(again.status == 409)
        }
    }

    @Test func `an order that is given to a user who has paid its reference before is an alarm`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.hear(of: payment.belvoID)
            #expect(try await TakenBackTests.put(harness, for: "bia").status == 201)
            #expect(try await TakenBackTests.alarms(harness).isEmpty)
            #expect(try await TakenBackTests.put(harness, for: "ana").status == 200)
            #expect(try await TakenBackTests.order(harness) == "disputed")
            #expect(try await TakenBackTests.alarms(harness) == ["paid_beside_order"])
        }
    }

    @Test func `an order whose attempt was given up a day ago may be given to another user`() async throws {
        try await MayBelvoStillPayTests.open(orders: "required") { harness, client, enrollment in
            _ = try await TakenBackTests.put(harness, for: "ana")
            let payment = try await MayBelvoStillPayTests.ordered(client, enrollment)
            #expect(try await client.cancel(payment).status == 200)
            #expect(try await TakenBackTests.put(harness, for: "bia").status == 409)
            // It lapses at Belvo, and no webhook says so.
            try await harness.advance(by: .seconds(86_500))
            #expect(try await TakenBackTests.put(harness, for: "bia").status == 200)
        }
    }

    @Test func `an order is not placed anew for another user while the first one's attempt is open at Belvo`()
        async throws
    {
        try await MayBelvoStillPayTests.open(orders: "required") { harness, client, enrollment in
            _ = try await TakenBackTests.put(harness, for: "ana")
            let payment = try await MayBelvoStillPayTests.ordered(client, enrollment)
            #expect(try await client.cancel(payment).status == 200)
            try await harness.database.execute("DELETE FROM orders")
            #expect(try await TakenBackTests.put(harness, for: "bia").string("code") == "order_in_use")
            #expect(try await TakenBackTests.put(harness, for: "ana").status == 201)
            try await harness.database.execute("DELETE FROM orders")
            // It lapses at Belvo, and no webhook says so.
            try await harness.advance(by: .seconds(86_500))
            #expect(try await TakenBackTests.put(harness, for: "bia").status == 201)
        }
    }

    @Test func `a twin paid after its order went to another user, who paid it, is paid twice and disputed`()
        async throws
    {
        try await MayBelvoStillPayTests.open(orders: "required") { harness, client, enrollment in
            _ = try await TakenBackTests.put(harness, for: "ana")
            let payment = try await MayBelvoStillPayTests.ordered(client, enrollment)
            let twin = try await client.openPaymentBySDK(
                from: enrollment.atBelvo(), named: payment.id, centavos: 1990)
            try await TakenBackTests.failed(harness, &client, payment)
            #expect(try await TakenBackTests.put(harness, for: "bia").status == 200)
            var other = try await AppClient.arrive(on: harness, as: "bia", taxID: "111.444.777-35")
            let theirEnrollment = try await other.enroll()
            harness.sandbox.next(.altered([Fault.Alteration("/status", #""FAILED""#)]), on: .getPaymentIntent)
            let theirs = try await MayBelvoStillPayTests.ordered(other, theirEnrollment)
            try await other.authorize(theirs)
            try harness.sandbox.settle(intent: theirs.belvoID)
            try await harness.hear(of: theirs.belvoID)
            #expect(try await TakenBackTests.order(harness) == "paid")
            try harness.sandbox.settle(intent: twin.description)
            try await harness.hear(of: twin.description)
            #expect(
                try await harness.lines(
                    """
                    SELECT kind AS line FROM money_alarms JOIN payments ON payments.id = payment_id
                    WHERE belvo_id = \(twin.uuid) ORDER BY kind
                    """) == ["double_paid", "paid_beside_order"])
            #expect(try await TakenBackTests.order(harness) == "disputed")
            #expect(try await harness.lines("SELECT payments::text AS line FROM ops.double_paid") == ["2"])

            // Rows from before twins counted so.
            try await harness.database.execute(
                "UPDATE payments SET priced_by_order = false WHERE belvo_id = \(twin.uuid)")
            try await harness.database.execute("DELETE FROM money_alarms")
            #expect(try await TakenBackTests.order(harness) == "paid")
            try await harness.database.execute("DELETE FROM schema_migrations WHERE name >= '0052'")
            #expect(try await !Migrator(.merchant, of: harness.database).migrate().isEmpty)
            #expect(try await TakenBackTests.alarms(harness) == ["double_paid", "paid_beside_order"])
            #expect(try await TakenBackTests.order(harness) == "disputed")
        }
    }

    @Test func `a twin that another user has not signed keeps no user from paying their order`() async throws {
        try await MayBelvoStillPayTests.open(orders: "required") { harness, client, enrollment in
            _ = try await TakenBackTests.put(harness, for: "ana")
            let payment = try await MayBelvoStillPayTests.ordered(client, enrollment)
            try await TakenBackTests.failed(harness, &client, payment)
            #expect(try await TakenBackTests.put(harness, for: "bia").status == 200)
            #expect(try await client.app.send(.post, "/v1/widget-token").status == 201)
            let twin = try await client.openPaymentBySDK(
                from: enrollment.atBelvo(), named: payment.id, centavos: 1990)
            try await harness.hear(of: twin.description)
            #expect(
                try await harness.lines(
                    """
                    SELECT priced_by_order || ' ' || takes_reference(payments) AS line FROM payments
                    WHERE belvo_id = \(twin.uuid)
                    """) == ["true true"])
            #expect(try await TakenBackTests.order(harness) == "open")
            var other = try await AppClient.arrive(on: harness, as: "bia", taxID: "111.444.777-35")
            let theirEnrollment = try await other.enroll()
            harness.sandbox.next(.altered([Fault.Alteration("/status", #""FAILED""#)]), on: .getPaymentIntent)
            let theirs = try await MayBelvoStillPayTests.ordered(other, theirEnrollment)
            try await other.authorize(theirs)
            try harness.sandbox.settle(intent: theirs.belvoID)
            try await harness.hear(of: theirs.belvoID)
            #expect(try await TakenBackTests.order(harness) == "paid")
        }
    }

    @Test func `what a user pays under the name of another user's order is not paid twice`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.hear(of: payment.belvoID)
            #expect(try await TakenBackTests.put(harness, for: "bia").status == 201)
            var other = try await AppClient.arrive(on: harness, as: "bia", taxID: "111.444.777-35")
            let theirs = try await MayBelvoStillPayTests.ordered(other, other.enroll())
            try await other.authorize(theirs)
            try harness.sandbox.settle(intent: theirs.belvoID)
            try await harness.hear(of: theirs.belvoID)
            #expect(try await TakenBackTests.order(harness) == "paid")
            #expect(try await TakenBackTests.alarms(harness).isEmpty)
            #expect(try await harness.lines("SELECT reference AS line FROM ops.double_paid").isEmpty)
        }
    }

    @Test(arguments: ["REPEATABLE READ", "SERIALIZABLE"])
    func `an order is not written by a transaction that sees an old state of the payments`(level: String) async throws {
        try await MayBelvoStillPayTests.open { harness, _, _ in
            _ = try await TakenBackTests.put(harness, for: "ana")
            await #expect(throws: DatabaseError.self) {
                try await harness.database.transaction { transaction in
                    try await transaction.execute(
                        "SET TRANSACTION ISOLATION LEVEL \(fragment: SQL(stringLiteral: level))")
                    try await transaction.execute("UPDATE orders SET amount_centavos = 40000")
                }
            }
        }
    }
}
