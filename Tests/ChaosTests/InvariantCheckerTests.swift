import HTTP
import JSON
import Postgres
import Testing

@testable import Chaos

/// The invariant checker of `./dev chaos` finds violations: each test corrupts a site on purpose, and it has to notice
/// just that.
@Suite(.serialized, .inSession) struct InvariantCheckerTests {
    @Test func `a site on which nothing was done is called good`() async throws {
        try await ChaosHarness.session { harness in
            _ = try await harness.buy("honest")
            let report = try await harness.check()
            #expect(report.isGood, "\(report.findings)")
            #expect(report.payments > 0 && report.paid > 0)
        }
    }

    @Test func `a second intent that is paid for one purchase is called double`() async throws {
        try await ChaosHarness.session { harness in
            let payment = try await harness.buy("twice")
            try await SecondIntent(beside: payment, in: harness).pay()
            let report = try await harness.check()
            #expect(
                report.double == [
                    "2 intents for payment \(payment)", "the creation of \(payment) was sent 2 times",
                    "user-0/twice was paid 2 times",
                ])
            #expect(!report.isGood)
        }
    }

    @Test func `two payments for one purchase are called double`() async throws {
        try await ChaosHarness.session { harness in
            _ = try await harness.buy("once")
            let second = try await harness.buy("once-more")
            // Where the unique index would have to be got round.
            try await harness.tamper(
                "UPDATE payments SET reference = 'once' WHERE id::text = \(second)")
            let report = try await harness.check()
            #expect(
                report.double == [
                    "payment \(second) was authorized when user-0/once had been paid",
                    "user-0/once was paid 2 times",
                ])
            #expect(!report.isGood)
        }
    }

    @Test func `a signature that is sent twice is called double`() async throws {
        try await ChaosHarness.session { harness in
            let intent = try await harness.intent(of: try await harness.buy("signed-twice"))
            // That Belvo does not take it is not to the server's credit.
            #expect(try await harness.authorize(intent, Array("{}".utf8)).status.code >= 400)
            let report = try await harness.check()
            #expect(report.double == ["/payments/br/payment-intents/\(intent)/authorize/ was called 2 times"])
            #expect(!report.isGood)
        }
    }

    @Test func `a key that makes two payments is called double`() async throws {
        try await ChaosHarness.session { harness in
            let first = try await harness.buy("forgotten-key")
            try await harness.tamper(
                "UPDATE payments SET reference = 'put-aside' WHERE id::text = \(first)",
                "DELETE FROM idempotency_keys WHERE key = 'forgotten-key-1'")
            let second = try await harness.buy("forgotten-key")
            let report = try await harness.check()
            #expect(
                report.double == ["key user-0 /v1/payment-intents forgotten-key-1 made \(first) and \(second)"])
            #expect(!report.isGood)
        }
    }

    @Test func `a payment that was answered and is deleted is called lost`() async throws {
        try await ChaosHarness.session { harness in
            let payment = try await harness.buy("deleted")
            let intent = try await harness.intent(of: payment)
            let before = try await harness.check()
            #expect(before.isGood, "\(before.findings)")
            try await harness.tamper("DELETE FROM payments WHERE id::text = \(payment)")
            let report = try await harness.check()
            #expect(
                report.lost
                    == [
                        "intent \(intent) was opened and never remembered",
                        "payment \(payment) was answered and is not there",
                        "payment \(payment): the signature was taken and is not there",
                    ].sorted())
            #expect(report.forgotten == before.forgotten + 2)
            // The intent, and its charge.
            #expect(report.differences > 0)
            #expect(!report.isGood)
        }
    }

    @Test func `a payment that was taken back here is called lost, and its history wrong`() async throws {
        try await ChaosHarness.session { harness in
            let payment = try await harness.buy("taken-back")
            try await harness.tamper(
                """
                UPDATE payments SET state = 'failed', failure_code = 'taken_back', failure_authority = 'belvo'
                WHERE id::text = \(payment)
                """)
            let report = try await harness.check()
            #expect(report.lost == ["payment \(payment) is paid at Belvo and failed here"])
            #expect(report.wrong == ["payment \(payment) is failed; the history: succeeded"])
            #expect(report.differences > 0)
            #expect(!report.isGood)
        }
    }

    @Test func `a signature that was taken and is gone is called lost`() async throws {
        try await ChaosHarness.session { harness in
            let payment = try await harness.buy("unsigned")
            try await harness.tamper(
                "UPDATE payments SET assertion_digest = NULL, authorize_sent_at = NULL WHERE id::text = \(payment)")
            let report = try await harness.check()
            #expect(
                report.lost == [
                    "payment \(payment) was authorized, and its signature is not remembered",
                    "payment \(payment): the signature was taken and is not there",
                ])
            #expect(!report.isGood)
        }
    }

    @Test func `a payment whose next look never comes is called stuck, and one without any an orphan`() async throws {
        try await ChaosHarness.session { harness in
            try await harness.settle("when_told")
            let purchase = Loop.task { await harness.user.buy("asleep") }
            let payment = try await harness.payment(of: "asleep")
            let intent = try await harness.intent(ofSigned: payment)
            // With a new version, so that a poll that is under way finds that it is late.
            try await harness.tamper(
                "UPDATE payments SET next_poll_at = 'infinity', version = version + 1 WHERE id::text = \(payment)")
            var report = try await harness.check()
            #expect(
                report.stuck == ["payment \(payment) is authorizing", "purchase asleep is not paid for the app"])
            #expect(!report.isGood)

            try await harness.tamper(
                "ALTER TABLE payments DROP CONSTRAINT no_orphaned_payment, DROP CONSTRAINT what_may_be_paid_is_polled",
                "ALTER TABLE payments DISABLE TRIGGER payments_are_authorized_alone",
                "UPDATE payments SET next_poll_at = NULL, version = version + 1 WHERE id::text = \(payment)")
            report = try await harness.check()
            #expect(report.stuck == ["orphan: payment \(payment)"])

            try await harness.tamper(
                "UPDATE payments SET next_poll_at = app_now() WHERE id::text = \(payment)",
                """
                ALTER TABLE payments ADD CONSTRAINT no_orphaned_payment
                CHECK (state IN ('succeeded', 'failed') OR (next_poll_at IS NOT NULL AND deadline_at IS NOT NULL))
                """)
            try await harness.steer(intent, "settle")
            _ = await purchase.result
            try await harness.settle("after_ms:50")
        }
    }

    @Test func `a customer, an enrollment, a redirect or a webhook that comes to no end is called stuck`() async throws
    {
        try await ChaosHarness.session { harness in
            try await harness.tamper(
                "UPDATE customers SET state = 'creating', next_poll_at = 'infinity', deadline_at = 'infinity'",
                "UPDATE enrollments SET state = 'confirming', next_poll_at = 'infinity', deadline_at = 'infinity'",
                "UPDATE redirect_receipts SET outcome = 'received', next_poll_at = 'infinity'",
                """
                INSERT INTO webhook_receipts (
                    id, digest, webhook_type, webhook_code, object_id, body_ciphertext, next_poll_at
                ) VALUES (gen_random_uuid(), '', '', '', gen_random_uuid(), '', 'infinity')
                """)
            let report = try await harness.check()
            let kinds = report.stuck.map { $0.split(separator: " ").enumerated().filter { $0.offset != 1 } }
                .map { $0.map { String($0.element) }.joined(separator: " ") }
            #expect(
                kinds.sorted() == [
                    "customer is creating", "enrollment is confirming", "redirect is received", "webhook is received",
                ])
            #expect(!report.isGood)
            try await harness.tamper(
                "UPDATE customers SET state = 'created', next_poll_at = NULL, deadline_at = NULL",
                "UPDATE enrollments SET state = 'succeeded', next_poll_at = NULL, deadline_at = NULL",
                "UPDATE redirect_receipts SET outcome = 'taken', next_poll_at = NULL",
                "DELETE FROM webhook_receipts WHERE next_poll_at = 'infinity'")
        }
    }

    @Test func `a payment that counts as paid and is not is called wrong`() async throws {
        try await ChaosHarness.session { harness in
            try await harness.settle("when_told")
            let purchase = Loop.task { await harness.user.buy("unpaid") }
            let payment = try await harness.payment(of: "unpaid")
            let intent = try await harness.intent(ofSigned: payment)
            // The app pays anew.
            try await harness.settle("after_ms:50")
            try await harness.steer(intent, "fail")
            _ = await purchase.result
            try await harness.tamper(
                """
                UPDATE payments SET state = 'succeeded', failure_code = NULL, failure_authority = NULL
                WHERE id::text = \(payment)
                """)
            let report = try await harness.check()
            #expect(
                report.wrong == [
                    "payment \(payment) counts as paid here and is not",
                    "payment \(payment) is succeeded; the history: failed",
                ])
            #expect(report.differences > 0)
            #expect(!report.isGood)
        }
    }

    @Test func `a payment of which Belvo knows nothing is called wrong`() async throws {
        try await ChaosHarness.session { harness in
            let payment = try await harness.buy("renamed")
            let other = "00000000-0000-7000-8000-000000000001"
            try await harness.tamper("UPDATE payments SET id = \(other)::uuid WHERE id::text = \(payment)")
            let report = try await harness.check()
            #expect(report.wrong.contains("payment \(other) is succeeded and unknown to Belvo"))
            #expect(report.lost.contains("payment \(payment) was answered and is not there"))
            #expect(!report.isGood)
        }
    }

    @Test func `an amount that is not Belvo's is a difference`() async throws {
        try await ChaosHarness.session { harness in
            let payment = try await harness.buy("cheaper")
            let before = try await harness.check()
            #expect(before.findings == [])
            try await harness.tamper("UPDATE payments SET amount_centavos = 1 WHERE id::text = \(payment)")
            let report = try await harness.check()
            // Of the intent, and of its charge.
            #expect(report.findings == [] && report.differences == 2)
            #expect(!report.isGood)
        }
    }

    @Test func `a history with a gap, or beyond its end, is called wrong`() async throws {
        try await ChaosHarness.session { harness in
            let payment = try await harness.buy("rewritten")
            let told: SQL = """
                INSERT INTO state_history (record_type, record_id, state_before, state_after, caused_by)
                VALUES ('payment', \(payment)::uuid, 'succeeded', 'authorizing', 'operator'),
                    ('payment', \(payment)::uuid, 'creating', 'succeeded', 'operator')
                """
            try await harness.tamper(told)
            let report = try await harness.check()
            #expect(
                report.wrong == [
                    "payment \(payment) left its end: succeeded became authorizing",
                    "payment \(payment) went on from creating and was authorizing",
                ])
            #expect(!report.isGood)
        }
    }

    @Test func `an app that is told that its payment is not there makes it wrong`() async throws {
        try await ChaosHarness.session { harness in
            try await harness.settle("when_told")
            let purchase = Loop.task { await harness.user.buy("vanished") }
            let payment = try await harness.payment(of: "vanished")
            _ = try await harness.intent(ofSigned: payment)
            try await harness.settle("after_ms:50")
            try await harness.tamper("DELETE FROM payments WHERE id::text = \(payment)")
            _ = await purchase.result
            let report = try await harness.check()
            #expect(report.wrong == ["payment \(payment) is not there any more"])
            #expect(!report.isGood)
        }
    }

    @Test func `calls to Belvo that nobody saw make it wrong`() async throws {
        try await ChaosHarness.session { harness in
            let last = try await harness.site.belvo.lastCall()
            // As when the sandbox has forgotten the one before.
            let later = try JSONDocument(parsing: Array("{\"number\": \(last + 2)}".utf8)).root
            harness.site.belvo.seen.update { $0.take(later) }
            // Two calls, so that the sandbox has come as far.
            for number in 1...2 { _ = try await harness.authorize("nobody-\(number)", Array("{}".utf8)) }
            let report = try await harness.check()
            #expect(report.wrong == ["1 calls to Belvo were not seen"])
            #expect(!report.isGood)
        }
    }

    @Test func `a control that loses nothing that was answered shows nothing`() {
        var control = Report("", deeds: "")
        control.isControl = true
        #expect(!control.isGood)
        control.lost = ["a row"]
        #expect(!control.isGood)
        control.forgotten = 1
        #expect(control.isGood)
    }
}
