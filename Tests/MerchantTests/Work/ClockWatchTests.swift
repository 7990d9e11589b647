import BelvoSandbox
import Payments
import Postgres
import Testing

@testable import MerchantServer
@testable import MerchantStore
@testable import MerchantWorkflows

/// The clock of the database goes back: a host takes over that is behind.
@Suite struct ClockWatchTests {
    /// A payment that was authorized, and is next read in two seconds; `back` is by how much the clock goes back then.
    private static func open(
        back: SQL, _ body: @escaping @Sendable (TestHarness, AppClient, AppClient.OpenedPayment) async throws -> Void
    ) async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(client.enroll())
            try await client.authorize(payment)
            try await harness.poll()
            #expect(try await !isDue(harness))
            try await harness.database.execute("UPDATE test_clock SET ahead = ahead - \(fragment: back)")
            try harness.sandbox.settle(intent: payment.belvoID)
            try await body(harness, client, payment)
        }
    }

    /// The statement that the loop of a server's workers repeats.
    private static func isDue(_ harness: TestHarness) async throws -> Bool {
        try await harness.merchant.dependencies.dueTables(among: [.payments]).contains(.payments)
    }

    @Test func `what waits is polled at once, and not an hour later`() async throws {
        try await Self.open(back: "interval '1 hour'") { harness, client, payment in
            #expect(try await Self.isDue(harness))
            #expect(harness.log.holds("database.clock_went_back"))
            try await harness.work()
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
            // Once: from then on its time is the time.
            #expect(try await !Self.isDue(harness))
        }
    }

    @Test func `a server that starts notices that the clock went back before`() async throws {
        try await Self.open(back: "interval '1 hour'") { harness, _, _ in
            var started = harness.merchant.dependencies
            started.clockWatch = ClockWatch()
            let due = try await started.dueTables(among: [.payments])
            #expect(due.contains(.payments))
            #expect(harness.log.holds("database.clock_went_back"))
        }
    }

    @Test func `a server that starts reads the history of the newest records, and not the whole history`() async throws
    {
        try await Self.open(back: "interval '0'") { harness, _, _ in
            try await harness.database.execute(
                """
                INSERT INTO state_history (record_type, record_id, state_after, caused_by, changed_at)
                SELECT 'payment', gen_random_uuid(), 'pending', 'app', app_now() - place * interval '1 minute'
                FROM generate_series(1, 20000) AS place
                """)
            try await harness.database.execute("ANALYZE state_history")
            let store = harness.merchant.dependencies.store
            let rows = try await harness.database.rows("SELECT max(changed_at) AS newest FROM state_history")
            #expect(try await store.latestChange() == rows[0].decode("newest", as: Payments.Timestamp.self))
            let plan = try await harness.database.execute("EXPLAIN \(fragment: store.askingForTheLatestChange)")
                .map { try $0.decode("QUERY PLAN", as: String.self) }.joined(separator: "\n")
            #expect(plan.contains("history_of_a_record"), "\(plan)")
            #expect(!plan.contains("Seq Scan on state_history_first"), "\(plan)")
        }
    }

    @Test func `what another server had claimed until then is polled when its lease would have ended`() async throws {
        try await Self.open(back: "interval '1 hour'") { harness, client, payment in
            try await harness.database.execute(
                "UPDATE payments SET leased_until = app_now() + interval '1 hour 20 seconds'")
            #expect(try await Self.isDue(harness))
            try await harness.work()
            #expect(try await client.payment(payment).string("status") == "PENDING")
            try await harness.advance(by: harness.merchant.dependencies.workLease)
            try await harness.work()
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
        }
    }

    @Test func `a clock that is corrected by seconds brings nothing forward`() async throws {
        try await Self.open(back: "interval '50 seconds'") { harness, _, _ in
            let isDue = try await Self.isDue(harness)
            #expect(!isDue)
            #expect(!harness.log.holds("database.clock_went_back"))
        }
    }
}
