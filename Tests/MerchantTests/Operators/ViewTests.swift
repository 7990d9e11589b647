import BelvoSandbox
import HTTP
import Postgres
import Testing

@testable import Merchant

/// Each view of `ops` answers the question in its comment, of rows that journeys made.
@Suite struct ViewTests {
    @Test func `open and in doubt: what is not at its end is shown with when it is looked at`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.enroll()
            #expect(try await stage.texts("SELECT * FROM ops.payments_open").isEmpty)
            #expect(try await stage.texts("SELECT * FROM ops.in_doubt").isEmpty)
            let bill = try await shopper.bill(bond)
            let waiting = try await shopper.startEnrollment()
            let open = """
                SELECT id, state, amount, in_doubt, next_look_in > '0' AS has_next_look, deadline_in > '0' AS has_time,
                    is_being_looked_at
                FROM ops.payments_open
                """ as SQL
            #expect(
                try await stage.texts(open) == [
                    """
                    {"id":"\(bill.id)","state":"awaiting_signature","amount":19.90,"in_doubt":false,\
                    "has_next_look":true,"has_time":true,"is_being_looked_at":null}
                    """
                ])
            #expect(
                try await stage.lines("SELECT concat_ws(' ', id, state, platform) AS line FROM ops.enrollments_open")
                    == ["\(waiting.id) at_bank IOS"])
            try await shopper.authorize(bill)
            try await stage.pass(.seconds(121))
            try await stage.advance(by: .seconds(60))
            #expect(
                try await stage.lines(
                    """
                    SELECT concat_ws(' ', id, reference, amount, in_doubt_for BETWEEN '60 s' AND '70 s') AS line
                    FROM ops.in_doubt
                    """) == ["\(bill.id) order-1 19.90 t"])
        }
    }

    @Test func `orphans: there are none, and one would be seen`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bill = try await shopper.bill(shopper.enroll())
            _ = try await shopper.startEnrollment()
            try await stage.tell("PAYMENT_INTENTS", of: bill.belvoID)
            let orphans = "SELECT record_type || ' ' || id AS line FROM ops.orphans" as SQL
            #expect(try await stage.lines(orphans).isEmpty)
            try await stage.database.execute(all: [
                "ALTER TABLE payments DROP CONSTRAINT no_orphaned_payment, DROP CONSTRAINT what_may_be_paid_is_polled",
                "ALTER TABLE payments DISABLE TRIGGER payments_are_authorized_alone",
                "UPDATE payments SET next_poll_at = NULL",
            ])
            #expect(try await stage.lines(orphans) == ["payment \(bill.id)"])
        }
    }

    @Test func `overdue and workload: what no server looks at is seen after a minute`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bill = try await shopper.bill(shopper.enroll())
            try await stage.tell("PAYMENT_INTENTS", of: bill.belvoID)
            let overdue = "SELECT record_type || ' ' || state AS line FROM ops.overdue ORDER BY line" as SQL
            #expect(try await stage.lines(overdue).isEmpty)
            try await stage.advance(by: .seconds(450))
            let late = try await stage.lines(overdue)
            #expect(late == ["payment awaiting_signature", "webhook received"])
            let workload = """
                SELECT concat_ws(' ', what, pending, in_doubt, oldest_pending > '3 min', most_overdue > '1 min') AS line
                FROM ops.workload WHERE pending > 0 ORDER BY what
                """ as SQL
            let shown = try await stage.lines(workload)
            #expect(shown == ["payments 1 0 t t", "webhooks 1 t t"])
            #expect(
                try await stage.lines("SELECT what AS line FROM ops.workload ORDER BY what")
                    == ["customers", "enrollments", "events", "payments", "redirects", "webhooks"])
            try await stage.work()
            #expect(try await stage.lines(overdue).isEmpty)
        }
    }

    @Test func `late corrections: what changed after its end is shown with who changed it`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.enroll()
            let bill = try await shopper.bill(bond)
            try await stage.pass(.seconds(361))
            #expect(try await stage.texts("SELECT * FROM ops.late_corrections").isEmpty)
            try stage.sandbox.settle(intent: bill.belvoID)
            try await stage.tell("PAYMENT_INTENTS", of: bill.belvoID)
            try await stage.advance(by: .milliseconds(1))
            try await stage.work()
            #expect(
                try await stage.lines(
                    """
                    SELECT concat_ws(' ', record_type, record_id, state_before, state_after, caused_by) AS line
                    FROM ops.late_corrections
                    """) == ["payment \(bill.id) failed succeeded webhook"])
            let history = try await stage.lines("SELECT record_type AS line FROM ops.history")
            let all = try await stage.lines("SELECT count(*)::text AS line FROM state_history")
            #expect(["\(history.count)"] == all)
        }
    }

    @Test func `webhooks and redirects: what was told and not worked on yet`() async throws {
        try await Stage.open { stage in
            let shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.startEnrollment()
            stage.sandbox.next(.tooManyRequests(retryAfter: 1), on: .completeRedirection)
            try await shopper.complete(shopper.decide(bond))
            for _ in 0..<2 { try await stage.tell("ENROLLMENTS", of: bond.belvoID) }
            #expect(
                try await stage.lines(
                    """
                    SELECT concat_ws(' ', webhook_type, object_id, received_count) AS line
                    FROM ops.webhooks_unprocessed
                    """
                ) == ["ENROLLMENTS \(bond.belvoID) 2"])
            #expect(
                try await stage.lines(
                    "SELECT concat_ws(' ', enrollment_id, outcome) AS line FROM ops.redirects_unsettled")
                    == ["\(bond.id) received"])
            try await stage.pass(.seconds(60))
            #expect(try await stage.texts("SELECT * FROM ops.webhooks_unprocessed").isEmpty)
            #expect(try await stage.texts("SELECT * FROM ops.redirects_unsettled").isEmpty)
        }
    }

    @Test func `events: what the shop has not been told, and why`() async throws {
        try await ShopDouble.serving { shop in
            try await Stage.open(environment: shop.environment) { stage in
                shop.isAway = true
                var shopper = try await Shopper.arrive(on: stage)
                let bond = try await shopper.enroll()
                try await stage.pass(.seconds(6))
                #expect(
                    try await stage.lines(
                        """
                        SELECT concat_ws(' ', type, record_id, last_problem, next_attempt_in > '0') AS line
                        FROM ops.events_undelivered
                        """) == ["enrollment.succeeded \(bond.id) status 503 t"])
                shop.isAway = false
                try await stage.pass(.seconds(3_600))
                #expect(try await stage.texts("SELECT * FROM ops.events_undelivered").isEmpty)
            }
        }
    }

    @Test func `orders, totals and failures: how the day went`() async throws {
        try await Stage.open(environment: ["SHOP_TOKEN": OrderTests.token, "ORDERS": "required"]) { stage in
            let shop = App(client: stage.client, token: OrderTests.token)
            for (reference, amount) in [("paid", "19.90"), ("failed", "5.00"), ("live", "7.00"), ("new", "1.00")] {
                _ = try await shop.send(
                    .put, "/orders/\(reference)",
                    #"{"subject": "ana", "amount": "\#(amount)", "description": "Coffee"}"#)
            }
            var shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.enroll()
            func bill(_ reference: String) async throws -> Shopper.Bill {
                let answer = try await shopper.app.send(
                    .post, "/v1/payment-intents",
                    #"{"enrollment": "\#(bond.id)", "reference": "\#(reference)"}"#,
                    headers: ["idempotency-key": reference])
                return Shopper.Bill(
                    id: try answer.string("id"), belvoID: try answer.string("belvo_id"), answer: answer)
            }
            let paid = try await bill("paid")
            try await shopper.authorize(paid)
            try stage.sandbox.settle(intent: paid.belvoID)
            let failed = try await bill("failed")
            try await shopper.authorize(failed)
            try stage.sandbox.fail(intent: failed.belvoID)
            try await stage.poll()
            _ = try await bill("live")
            #expect(
                try await stage.lines(
                    "SELECT concat_ws(' ', reference, status, amount) AS line FROM ops.orders ORDER BY reference")
                    == ["failed open 5.00", "live live 7.00", "new open 1.00", "paid paid 19.90"])
            #expect(
                try await stage.lines(
                    "SELECT concat_ws(' ', status, payments, amount) AS line FROM ops.totals_per_day ORDER BY status")
                    == ["FAILED 1 5.00", "PENDING 1 7.00", "SUCCEEDED 1 19.90"])
            #expect(
                try await stage.lines(
                    """
                    SELECT concat_ws(' ', record_type, failure_code, failure_authority, records) AS line
                    FROM ops.failures_per_day
                    """)
                    == ["payment insufficient_funds belvo 1"])
        }
    }
}
