import FoundationEssentials
import MerchantModel
import Postgres
import Testing
import Transport

@testable import MerchantServer
@testable import MerchantStore
@testable import MerchantWorkflows

/// A webhook that cannot be stored does not keep the others from being stored.
@Suite struct WebhookIntakeTests {
    /// Stores a webhook about an object of its own, as the API does.
    private static func insert(_ number: UInt8, on harness: TestHarness) -> Task<Void, any Error> {
        let dependencies = harness.merchant.dependencies
        return harness.loop.task {
            try await dependencies.webhookIntake.insert(
                NewWebhook(
                    id: UUID(), digest: [number], type: "PAYMENT_INTENTS", code: "STATUS_UPDATE", object: UUID(),
                    outcome: .received, body: []),
                into: dependencies.store, lease: .seconds(30))
        }
    }

    private static func count(_ harness: TestHarness) async throws -> Int {
        try await harness.database.rows("SELECT count(*) AS count FROM webhook_receipts")[0].decode("count")
    }

    @Test func `those that wait behind a lock are refused together, and none waits for the lock once more`()
        async throws
    {
        try await TestHarness.open { harness in
            var refusals = 0
            var others: [Task<Void, any Error>] = []
            try await harness.database.transaction { transaction in
                try await transaction.standStill()
                try await transaction.execute("LOCK TABLE webhook_receipts IN ACCESS EXCLUSIVE MODE")
                let first = Self.insert(1, on: harness)
                let waiting: SQL = """
                    SELECT count(*) AS count FROM pg_locks WHERE NOT granted AND relation = 'webhook_receipts'::regclass
                    """
                while try await harness.database.rows(waiting)[0].decode("count", as: Int.self) == 0 {
                    try await harness.loop.sleep(for: .milliseconds(5))
                }
                others = (2...9).map { Self.insert($0, on: harness) }
                if case .failure = await first.result { refusals += 1 }
            }
            // The lock is free since the first one was refused: who asked for it once more would get it.
            for other in others {
                if case .failure = await other.result { refusals += 1 }
            }
            #expect(refusals == 9)
            #expect(try await Self.count(harness) == 0)
            try await Self.insert(1, on: harness).value
            #expect(try await Self.count(harness) == 1)
        }
    }

    @Test func `a webhook that is in each other's way with the worker is stored at the second try`() async throws {
        try await TestHarness.open { harness in
            for statement: SQL in [
                "CREATE SEQUENCE tries",
                """
                CREATE FUNCTION get_in_the_way() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    IF nextval('tries') = 1 THEN RAISE EXCEPTION 'deadlock' USING ERRCODE = 'deadlock_detected'; END IF;
                    RETURN NEW;
                END
                $$
                """,
                """
                CREATE TRIGGER get_in_the_way BEFORE INSERT ON webhook_receipts
                    FOR EACH ROW EXECUTE FUNCTION get_in_the_way()
                """,
            ] { try await harness.database.execute(statement) }
            try await Self.insert(1, on: harness).value
            #expect(try await Self.count(harness) == 1)
            #expect(try await harness.database.rows("SELECT last_value AS count FROM tries")[0].decode("count") == 2)
        }
    }
}
