import BelvoSandbox
import HTTP
import Postgres
import Testing

/// Each view of `ops` answers the question in its comment, of rows that flows made.
@Suite struct ViewTests {
    @Test func `open and in doubt: what is not at its end is shown with when it is looked at`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            #expect(try await harness.texts("SELECT * FROM ops.payments_open").isEmpty)
            #expect(try await harness.texts("SELECT * FROM ops.in_doubt").isEmpty)
            let payment = try await client.openPayment(enrollment)
            let waiting = try await client.startEnrollment()
            let open = """
                SELECT id, state, amount, in_doubt, next_look_in > '0' AS has_next_look, deadline_in > '0' AS has_time,
                    is_being_looked_at
                FROM ops.payments_open
                """ as SQL
            #expect(
                try await harness.texts(open) == [
                    """
                    {"id":"\(payment.id)","state":"awaiting_signature","amount":19.90,"in_doubt":false,\
                    "has_next_look":true,"has_time":true,"is_being_looked_at":null}
                    """
                ])
            #expect(
                try await harness.lines("SELECT concat_ws(' ', id, state, platform) AS line FROM ops.enrollments_open")
                    == ["\(waiting.id) at_bank IOS"])
            try await client.authorize(payment)
            try await harness.pass(.seconds(121))
            try await harness.advance(by: .seconds(60))
            #expect(
                try await harness.lines(
                    """
                    SELECT concat_ws(' ', id, reference, amount, in_doubt_for BETWEEN '60 s' AND '70 s') AS line
                    FROM ops.in_doubt
                    """) == ["\(payment.id) order-1 19.90 t"])
        }
    }

    @Test func `orphans: there are none, and one would be seen`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            _ = try await client.startEnrollment()
            try await harness.tell("PAYMENT_INTENTS", of: payment.belvoID)
            let orphans = "SELECT record_type || ' ' || id AS line FROM ops.orphans" as SQL
            #expect(try await harness.lines(orphans).isEmpty)
            try await harness.database.execute(all: [
                "ALTER TABLE payments DROP CONSTRAINT no_orphaned_payment, DROP CONSTRAINT what_may_be_paid_is_polled",
                "ALTER TABLE payments DISABLE TRIGGER payments_are_authorized_alone",
                "UPDATE payments SET next_poll_at = NULL",
            ])
            #expect(try await harness.lines(orphans) == ["payment \(payment.id)"])
        }
    }

    @Test func `overdue and workload: what no server looks at is seen after a minute`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            try await harness.tell("PAYMENT_INTENTS", of: payment.belvoID)
            let overdue = "SELECT record_type || ' ' || state AS line FROM ops.overdue ORDER BY line" as SQL
            #expect(try await harness.lines(overdue).isEmpty)
            try await harness.advance(by: .seconds(450))
            let late = try await harness.lines(overdue)
            #expect(late == ["payment awaiting_signature", "webhook received"])
            let workload = """
                SELECT concat_ws(' ', what, pending, in_doubt, oldest_pending > '3 min', most_overdue > '1 min') AS line
                FROM ops.workload WHERE pending > 0 ORDER BY what
                """ as SQL
            let shown = try await harness.lines(workload)
            #expect(shown == ["payments 1 0 t t", "webhooks 1 t t"])
            #expect(
                try await harness.lines("SELECT what AS line FROM ops.workload ORDER BY what")
                    == ["customers", "enrollments", "events", "payments", "redirects", "webhooks"])
            try await harness.work()
            #expect(try await harness.lines(overdue).isEmpty)
        }
    }

    @Test func `late corrections: what changed after its end is shown with who changed it`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let payment = try await client.openPayment(enrollment)
            try await harness.pass(.seconds(361))
            #expect(try await harness.texts("SELECT * FROM ops.late_corrections").isEmpty)
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.tell("PAYMENT_INTENTS", of: payment.belvoID)
            try await harness.advance(by: .milliseconds(1))
            try await harness.work()
            #expect(
                try await harness.lines(
                    """
                    SELECT concat_ws(' ', record_type, record_id, state_before, state_after, caused_by) AS line
                    FROM ops.late_corrections
                    """) == ["payment \(payment.id) failed succeeded webhook"])
            let history = try await harness.lines("SELECT record_type AS line FROM ops.history")
            let all = try await harness.lines("SELECT count(*)::text AS line FROM state_history")
            #expect(["\(history.count)"] == all)
        }
    }

    @Test func `webhooks and redirects: what was told and not worked on yet`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            harness.sandbox.next(.tooManyRequests(retryAfter: 1), on: .completeRedirection)
            try await client.complete(client.decide(enrollment))
            for _ in 0..<2 { try await harness.tell("ENROLLMENTS", of: enrollment.belvoID) }
            #expect(
                try await harness.lines(
                    """
                    SELECT concat_ws(' ', webhook_type, object_id, received_count) AS line
                    FROM ops.webhooks_unprocessed
                    """
                ) == ["ENROLLMENTS \(enrollment.belvoID) 2"])
            #expect(
                try await harness.lines(
                    "SELECT concat_ws(' ', enrollment_id, outcome) AS line FROM ops.redirects_unsettled")
                    == ["\(enrollment.id) received"])
            try await harness.pass(.seconds(60))
            #expect(try await harness.texts("SELECT * FROM ops.webhooks_unprocessed").isEmpty)
            #expect(try await harness.texts("SELECT * FROM ops.redirects_unsettled").isEmpty)
        }
    }

    @Test func `events: what the shop has not been told, and why`() async throws {
        try await ShopDouble.serving { shop in
            try await TestHarness.open(environment: shop.environment) { harness in
                shop.isAway = true
                var client = try await AppClient.arrive(on: harness)
                let enrollment = try await client.enroll()
                try await harness.pass(.seconds(6))
                #expect(
                    try await harness.lines(
                        """
                        SELECT concat_ws(' ', type, record_id, last_problem, next_attempt_in > '0') AS line
                        FROM ops.events_undelivered
                        """) == ["enrollment.succeeded \(enrollment.id) status 503 t"])
                shop.isAway = false
                try await harness.pass(.seconds(3_600))
                #expect(try await harness.texts("SELECT * FROM ops.events_undelivered").isEmpty)
            }
        }
    }

    @Test func `figures: how many came to each step, at which bank, and for how much`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            // Another one that its user refuses at the bank, and one that is still there.
            let refused = try await client.startEnrollment()
            try await client.complete(client.decide(refused, .refuse(error: "access_denied", description: "No.")))
            _ = try await client.startEnrollment()
            let paid = try await client.openPayment(enrollment)
            try await client.authorize(paid)
            try harness.sandbox.settle(intent: paid.belvoID)
            let failed = try await client.openPayment(enrollment, reference: "order-2", key: "tap-2")
            try await client.authorize(failed)
            try harness.sandbox.fail(intent: failed.belvoID)
            _ = try await client.openPayment(enrollment, reference: "order-3", key: "tap-3")
            try await harness.poll()
            #expect(
                try await harness.lines(
                    """
                    SELECT concat_ws(' ', begun, approved, registered, approved_percent, registered_percent,
                        median_at_bank BETWEEN '0' AND '1 min') AS line FROM ops.enrollment_figures_per_day
                    """) == ["3 1 1 33.3 33.3 t"])
            #expect(
                try await harness.lines(
                    """
                    SELECT concat_ws(' ', begun, signed, paid, signed_percent, paid_percent, payers, revenue,
                        mean_amount) AS line FROM ops.payment_figures_per_day
                    """) == ["3 2 1 66.7 33.3 1 19.90 19.90"])
            #expect(
                try await harness.lines(
                    """
                    SELECT concat_ws(' ', enrollments_begun, enrollments_approved, enrollments_registered,
                        registered_percent, payments, payments_paid, paid_percent, revenue) AS line
                    FROM ops.figures_by_bank
                    """) == ["3 1 1 33.3 3 1 33.3 19.90"])
            // What is older than a month is no answer to how a bank does now.
            try await harness.advance(by: .seconds(31 * 86_400))
            #expect(try await harness.texts("SELECT * FROM ops.figures_by_bank").isEmpty)
        }
    }

    @Test func `the operations page has every view, and no other`() async throws {
        try await TestHarness.open { harness in
            let views = try await harness.lines("SELECT viewname::text AS line FROM pg_views WHERE schemaname = 'ops'")
            let page = try Guide.lines(of: "docs/operations.md")
            let shown = page.compactMap { $0.firstMatch(of: /^`ops\.(\w+)`/).map { String($0.1) } }
            #expect(Set(shown) == Set(views))
        }
    }

    @Test func `orders, totals and failures: how the day went`() async throws {
        try await TestHarness.open(environment: ["SHOP_TOKEN": OrderTests.token, "ORDERS": "required"]) { harness in
            let shop = App(client: harness.client, token: OrderTests.token)
            for (reference, amount) in [("paid", "19.90"), ("failed", "5.00"), ("live", "7.00"), ("new", "1.00")] {
                _ = try await shop.send(
                    .put, "/orders/\(reference)",
                    #"{"subject": "ana", "amount": "\#(amount)", "description": "Coffee"}"#)
            }
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            func openPayment(_ reference: String) async throws -> AppClient.OpenedPayment {
                let answer = try await client.app.send(
                    .post, "/v1/payment-intents",
                    #"{"enrollment": "\#(enrollment.id)", "reference": "\#(reference)"}"#,
                    headers: ["idempotency-key": reference])
                return AppClient.OpenedPayment(
                    id: try answer.string("id"), belvoID: try answer.string("belvo_id"), answer: answer)
            }
            let paid = try await openPayment("paid")
            try await client.authorize(paid)
            try harness.sandbox.settle(intent: paid.belvoID)
            let failed = try await openPayment("failed")
            try await client.authorize(failed)
            try harness.sandbox.fail(intent: failed.belvoID)
            try await harness.poll()
            _ = try await openPayment("live")
            #expect(
                try await harness.lines(
                    "SELECT concat_ws(' ', reference, status, amount) AS line FROM ops.orders ORDER BY reference")
                    == ["failed open 5.00", "live live 7.00", "new open 1.00", "paid paid 19.90"])
            #expect(
                try await harness.lines(
                    "SELECT concat_ws(' ', status, payments, amount) AS line FROM ops.totals_per_day ORDER BY status")
                    == ["FAILED 1 5.00", "PENDING 1 7.00", "SUCCEEDED 1 19.90"])
            #expect(
                try await harness.lines(
                    """
                    SELECT concat_ws(' ', record_type, failure_code, failure_authority, records) AS line
                    FROM ops.failures_per_day
                    """)
                    == ["payment insufficient_funds belvo 1"])
        }
    }
}
