import BelvoSandbox
import HTTP
import Postgres
import Testing

/// What the database tells about a life afterwards, and what it keeps to itself.
@Suite struct HistoryTests {
    @Test func `every change of state has a line that says who caused it`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.startEnrollment()
            _ = try await stage.browser().follow(shopper.decide(bond))
            try await shopper.awaitOptions(of: bond)
            try await shopper.confirm(bond)
            try stage.sandbox.settle(enrollment: bond.belvoID)
            try await stage.poll()
            let bill = try await shopper.bill(bond)
            try await shopper.authorize(bill)
            try await stage.pass(.seconds(121))
            try stage.sandbox.settle(intent: bill.belvoID)
            try await stage.pass(.seconds(11))

            let lines = try await stage.database.rows(
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
        try await Stage.open { stage in
            let app = try await stage.app(of: "ana")
            _ = try await app.send(
                .put, "/v1/customer", Shopper.customerBody(), headers: ["x-request-id": "tap-on-customer"])
            let ids = try await stage.database.rows("SELECT request_id FROM state_history ORDER BY id")
                .map { try $0.decode("request_id", as: String?.self) }
            #expect(ids == ["tap-on-customer", "tap-on-customer"])
            for statement: SQL in ["UPDATE state_history SET caused_by = 'operator'", "DELETE FROM state_history"] {
                await #expect(throws: DatabaseError.self) { try await stage.database.execute(statement) }
            }
        }
    }

    @Test func `no row may be waiting without a next look`() async throws {
        try await Stage.open { stage in
            var shopper = try await Shopper.arrive(on: stage)
            let bond = try await shopper.enroll()
            _ = try await shopper.bill(bond)
            _ = try await shopper.startEnrollment()
            do {
                try await stage.database.execute("UPDATE enrollments SET next_poll_at = NULL WHERE status = 'PENDING'")
                Issue.record("enrollments took an orphan")
            } catch let error as DatabaseError {
                #expect("\(error)".contains("no_orphaned_enrollment"))
            }
            // What may be paid gets one from the database itself, whoever forgot it.
            try await stage.database.execute("UPDATE payments SET next_poll_at = NULL WHERE status = 'PENDING'")
            let orphans: SQL = "SELECT id::text AS line FROM payments WHERE next_poll_at IS NULL"
            #expect(try await stage.lines(orphans).isEmpty)
        }
    }
}
