import BelvoSandbox
import HTTP
import Postgres
import Testing

/// The history of a record in the database, and the data that it leaves out.
@Suite struct HistoryTests {
    @Test func `every change of state has a line that says who caused it`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            _ = try await harness.browser().follow(client.decide(enrollment))
            try await client.awaitOptions(of: enrollment)
            try await client.confirm(enrollment)
            try harness.sandbox.settle(enrollment: enrollment.belvoID)
            try await harness.poll()
            let payment = try await client.openPayment(enrollment)
            try await client.authorize(payment)
            try await harness.pass(.seconds(121))
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.pass(.seconds(11))

            let lines = try await harness.database.rows(
                """
                SELECT concat_ws(' ', record_type, coalesce(state_before, '-'), '>', state_after, 'by', caused_by,
                    CASE WHEN request_id IS NULL THEN 'itself' ELSE 'request' END) AS line
                FROM state_history ORDER BY id
                """
            ).map { try $0.decode("line", as: String.self) }
            #expect(
                lines == [
                    "customer - > creating by app request",
                    "customer creating > created by app request",
                    "enrollment - > creating by app request",
                    "enrollment creating > at_bank by app request",
                    "enrollment at_bank > completing by callback request",
                    "enrollment completing > awaiting_options by callback request",
                    "enrollment awaiting_options > awaiting_fingerprint by poller itself",
                    "enrollment awaiting_fingerprint > confirming by app request",
                    "enrollment confirming > succeeded by poller itself",
                    "payment - > creating by app request",
                    "payment creating > awaiting_signature by app request",
                    "payment awaiting_signature > authorizing by app request",
                    "payment authorizing > in_doubt by poller itself",
                    "payment in_doubt > succeeded by poller itself",
                ])
        }
    }

    @Test func `a line names the request in which it happened, and can be neither changed nor deleted`() async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            _ = try await app.send(
                .put, "/v1/customer", AppClient.customerBody(), headers: ["x-request-id": "tap-on-customer"])
            let ids = try await harness.database.rows("SELECT request_id FROM state_history ORDER BY id")
                .map { try $0.decode("request_id", as: String?.self) }
            #expect(ids == ["tap-on-customer", "tap-on-customer"])
            for statement: SQL in ["UPDATE state_history SET caused_by = 'operator'", "DELETE FROM state_history"] {
                await #expect(throws: DatabaseError.self) { try await harness.database.execute(statement) }
            }
        }
    }

    @Test func `no row may be waiting without a next poll`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            _ = try await client.openPayment(enrollment)
            _ = try await client.startEnrollment()
            do {
                try await harness.database.execute(
                    "UPDATE enrollments SET next_poll_at = NULL WHERE status = 'PENDING'")
                Issue.record("enrollments took an orphan")
            } catch let error as DatabaseError {
                #expect("\(error)".contains("no_orphaned_enrollment"))
            }
            // What may be paid gets one from the database itself, where a server left it out.
            try await harness.database.execute("UPDATE payments SET next_poll_at = NULL WHERE status = 'PENDING'")
            let orphans: SQL = "SELECT id::text AS line FROM payments WHERE next_poll_at IS NULL"
            #expect(try await harness.lines(orphans).isEmpty)
        }
    }
}
