import BelvoSandbox
import FoundationEssentials
import HTTP
import Payments
import Postgres
import Synchronization
import TestSupport
import Testing
import Transport

@testable import MerchantModel
@testable import MerchantServer
@testable import MerchantStore
@testable import MerchantWorkflows

/// The cost of polling a record again and again, and which part of the work survives a server.
@Suite struct PolledWorkflowTests {
    /// The columns of a payment's row that a poll may change.
    private struct Line: Equatable {
        let version: Int64
        let history: Int64
        let isLeased: Bool
        /// Seconds until the next poll.
        let wait: Double
    }

    private static func line(_ payment: AppClient.OpenedPayment, on harness: TestHarness) async throws -> Line {
        let belvoID = try #require(UUID(uuidString: payment.belvoID))
        let row = try #require(
            try await harness.database.rows(
                """
                SELECT version, leased_until IS NOT NULL AS is_leased,
                    extract(epoch FROM next_poll_at - app_now())::float8 AS wait,
                    (SELECT count(*) FROM state_history WHERE record_id = payments.id) AS history
                FROM payments WHERE belvo_id = \(belvoID)
                """
            ).first)
        return Line(
            version: try row.decode("version"), history: try row.decode("history"),
            isLeased: try row.decode("is_leased"), wait: try row.decode("wait"))
    }

    /// A payment that Belvo has the signature of.
    private static func authorized(
        on harness: TestHarness, reference: String = "order-1"
    ) async throws -> (payment: AppClient.OpenedPayment, client: AppClient) {
        var client = try await AppClient.arrive(on: harness)
        let enrollment = try await client.enroll()
        let payment = try await client.openPayment(enrollment, reference: reference)
        try await client.authorize(payment)
        // What Belvo says about it for the first time is news.
        try await harness.poll()
        return (payment, client)
    }

    @Test func `a look that finds nothing new ends the lease, and writes no history`() async throws {
        try await TestHarness.open { harness in
            let (payment, _) = try await Self.authorized(on: harness)
            let before = try await Self.line(payment, on: harness)
            let polls = harness.countCalls(.getPaymentIntent)
            try await harness.poll()
            let after = try await Self.line(payment, on: harness)
            #expect(harness.countCalls(.getPaymentIntent) == polls + 1)
            #expect(after.history == before.history)
            // The claim and the look.
            #expect(after.version == before.version + 2)
            #expect(!after.isLeased)
            #expect(after.wait > 0 && after.wait <= 2)
        }
    }

    @Test func `the looks of one pass that find nothing new are recorded by one statement`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            for number in 1...5 {
                try await client.authorize(
                    try await client.openPayment(enrollment, reference: "order-\(number)", key: "tap-\(number)"))
            }
            try await harness.poll()
            try await harness.poll()
            // A statement leaves its transaction's number on each row that it writes: the same on all that one
            // statement wrote.
            let writers = try await harness.database.rows(
                "SELECT DISTINCT xmin::text AS writer FROM payments WHERE leased_until IS NULL")
            #expect(writers.count == 1)
        }
    }

    @Test func `neither a claim nor Belvo's taking the signature moves the moment at which a payment is due`()
        async throws
    {
        try await TestHarness.open { harness in
            try await harness.database.execute(all: [
                "CREATE TABLE moments (state text, version bigint, due timestamptz)",
                """
                CREATE FUNCTION note_moment() RETURNS trigger LANGUAGE plpgsql
                AS 'BEGIN INSERT INTO moments VALUES (NEW.state, NEW.version, NEW.next_poll_at); RETURN NULL; END'
                """,
                "CREATE TRIGGER noted AFTER UPDATE ON payments FOR EACH ROW EXECUTE FUNCTION note_moment()",
            ])
            var client = try await AppClient.arrive(on: harness)
            try await client.authorize(client.openPayment(client.enroll()))
            try await harness.advance(by: .seconds(3))
            let store = harness.merchant.dependencies.store
            #expect(try await store.claimDuePayments(limit: 8, lease: .seconds(25)).count == 1)
            #expect(try await store.claimDuePayments(limit: 8, lease: .seconds(25)).isEmpty)
            let moments = try await harness.lines(
                "SELECT count(*) || ' ' || count(DISTINCT due) AS line FROM moments WHERE state = 'authorizing'")
            #expect(moments == ["3 1"])
        }
    }

    @Test func `what a paused server records too late is lost to whoever looked meanwhile`() async throws {
        try await TestHarness.open { harness in
            let (payment, _) = try await Self.authorized(on: harness)
            let store = harness.merchant.dependencies.store
            try await harness.advance(by: .seconds(3))
            let late = try #require(try await store.claimDuePayments(limit: 8, lease: .seconds(25)).first)
            try await harness.advance(by: .seconds(26))
            try await harness.work()
            let before = try await Self.line(payment, on: harness)
            try await store.reschedule(
                [Reschedule(id: late.record.id.uuid, version: late.version, wait: .seconds(3_600))], in: .payments)
            let after = try await Self.line(payment, on: harness)
            #expect(after.version == before.version)
            #expect(after.wait <= 2)
        }
    }

    @Test func `what a server held that died is looked at by another one after the lease, not before`() async throws {
        try await TestHarness.open { harness in
            let (payment, client) = try await Self.authorized(on: harness)
            try await harness.advance(by: .seconds(3))
            _ = try await harness.merchant.dependencies.store.claimDuePayments(limit: 8, lease: .seconds(25))
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.withAnotherInstance { other in
                try await harness.advance(by: .seconds(15))
                try await other.work()
                #expect(try await client.payment(payment).string("status") == "PENDING")
                try await harness.advance(by: .seconds(10))
                try await other.work()
                #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
            }
        }
    }

    @Test func `what was in flight when the server went down is found out when one starts again`() async throws {
        try await TestHarness.open { harness in
            let (payment, client) = try await Self.authorized(on: harness)
            _ = try await harness.merchant.dependencies.store.claimDuePayments(limit: 8, lease: .seconds(25))
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.advance(by: .seconds(3 * 86_400))
            // This one works without being told.
            try await harness.withAnotherInstance(work: .byItself) { _ in
                try await harness.awaitCondition { try await client.payment(payment).string("status") == "SUCCEEDED" }
            }
        }
    }

    @Test func `a payment in doubt is looked at ever less often, and after a week with an alarm`() async throws {
        try await TestHarness.open { harness in
            let (payment, _) = try await Self.authorized(on: harness)
            try await harness.pass(.seconds(121))
            var sinceDeadline = Duration.seconds(1)
            for (age, pause) in [
                (30, 10), (600, 60), (1_800, 120), (3_500, 120), (3_700, 900), (86_400, 900), (6 * 86_400, 900),
                (8 * 86_400, 3_600), (30 * 86_400, 3_600),
            ] {
                #expect(!harness.log.holds("payment.in_doubt_for_long") || age > 8 * 86_400)
                try await harness.pass(.seconds(age) - sinceDeadline)
                sinceDeadline = .seconds(age)
                let wait = try await Self.line(payment, on: harness).wait
                #expect(abs(wait - Double(pause)) < 2, "\(age) s after the deadline: \(wait) s")
            }
            #expect(harness.log.holds("payment.in_doubt_for_long"))
        }
    }

    @Test func `an enrollment whose creation is not known is polled behind one for which its user waits`() async throws
    {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let known = try await client.keyed(client.enrollmentBody)
            let other = try await AppClient.arrive(on: harness, as: "bia", taxID: "111.444.777-35")
            harness.sandbox.variants.listLagMilliseconds = 3_600_000
            harness.sandbox.next(.dropAnswer, on: .createEnrollment, count: 2)
            #expect(try await other.keyed(other.enrollmentBody).status == 202)
            try await harness.database.execute(
                """
                UPDATE enrollments SET
                    leased_until = NULL,
                    next_poll_at = app_now() - CASE state WHEN 'creating' THEN interval '2 s' ELSE interval '1 s' END
                """)
            let claimed = try await harness.merchant.dependencies.store.claimDueEnrollments(
                limit: 1, lease: .seconds(25))
            #expect(claimed.map { "\($0.record.id)" } == [try known.string("id")])
        }
    }

    @Test func `the most urgent enrollments are polled first: late for their pause, and the latest step of their user`()
        async throws
    {
        try await TestHarness.open { harness in
            var ids: [Enrollment.ID] = []
            let people = [("ana", "529.982.247-25", 1), ("bia", "111.444.777-35", 1), ("eva", "123.456.789-09", 3)]
            for (name, taxID, count) in people {
                let client = try await AppClient.arrive(on: harness, as: name, taxID: taxID)
                for _ in 1...count {
                    let opened = try await client.app.send(.post, "/v1/enrollments", client.enrollmentBody)
                    ids.append(try #require(Enrollment.ID(try opened.string("id"))))
                }
            }
            let store = harness.merchant.dependencies.store
            /// Sets how many seconds ago the last step and the due poll of each were; gives the order of the claims.
            func order(_ rows: [(step: Double, due: Double)], hastening hastened: Int? = nil) async throws -> [Int] {
                for (id, row) in zip(ids, rows) {
                    try await harness.database.execute(
                        """
                        UPDATE enrollments SET leased_until = NULL,
                            updated_at = app_now() - \(row.step) * interval '1 s',
                            next_poll_at = app_now() - \(row.due) * interval '1 s'
                        WHERE id = \(id)
                        """)
                }
                if let hastened { try await store.hasten(enrollment: ids[hastened]) }
                var order: [Int] = []
                while let next = try await store.claimDueEnrollments(limit: 1, lease: .seconds(25)).first {
                    order.append(try #require(ids.firstIndex(of: next.record.id)))
                }
                return order
            }
            let later = (step: 1.0, due: -60.0)
            // Ana's was read many times, Bia's is to be read for the first time.
            let fresh = try await order([(step: 90, due: 15), (step: 1.5, due: 1), later, later, later])
            #expect(fresh == [1, 0])
            let late = try await order([(step: 90, due: 30), (step: 1.5, due: 1), later, later, later])
            #expect(late == [0, 1])
            // A webhook tells that there is something new.
            let told = try await order([(step: 90, due: 1), (step: 1.5, due: 1), later, later, later], hastening: 0)
            #expect(told == [0, 1])
            // Eva has three that are as late; the one of the latest step is as urgent as Bia's.
            let many = try await order(
                [later, (step: 2.1, due: 1.6), (step: 2.2, due: 1.7), (step: 2, due: 1.5), (step: 2.3, due: 1.8)])
            #expect(many == [1, 3, 2, 4])
        }
    }

    @Test func `an enrollment of which a webhook tells while it is read is read once more, each time`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let id = try #require(Enrollment.ID(enrollment.id))
            let store = harness.merchant.dependencies.store
            try await store.hasten(enrollment: id)
            for isTold in [true, true, false] {
                let claimed = try #require(
                    try await store.claimDueEnrollments(limit: 1, lease: .seconds(25)).first)
                if isTold { try await store.hasten(enrollment: id) }
                try await store.reschedule(
                    [Reschedule(id: id.uuid, version: claimed.version, wait: .seconds(60), due: claimed.due)],
                    in: .enrollments)
            }
            let left = try await store.claimDueEnrollments(limit: 1, lease: .seconds(25))
            #expect(left.isEmpty)
        }
    }

    @Test func `what is asked for by hand of a payment that is over is looked at once`() async throws {
        try await TestHarness.open { harness in
            let (payment, client) = try await Self.authorized(on: harness)
            try harness.sandbox.fail(intent: payment.belvoID)
            try await harness.poll()
            let id = try #require(UUID(uuidString: payment.id))
            _ = try await harness.merchant.dependencies.store.requeue(.payment, id)
            let polls = harness.countCalls(.getPaymentIntent)
            for _ in 1...3 { try await harness.poll() }
            #expect(harness.countCalls(.getPaymentIntent) == polls + 1)
            #expect(try await client.payment(payment).string("status") == "FAILED")
        }
    }

    @Test func `finished rows cost neither a claim nor the question what is due anything`() async throws {
        try await TestHarness.open { harness in
            let (_, _) = try await Self.authorized(on: harness)
            try await harness.database.execute(
                """
                INSERT INTO payments (
                    id, subject, enrollment_id, state, belvo_idempotency_key, holds_reference, amount_centavos,
                    description, statement_description, belvo_customer_id, belvo_enrollment_id,
                    beneficiary_bank_account, failure_code, failure_authority, created_at, updated_at)
                SELECT gen_random_uuid(), subject, enrollment_id, 'failed', gen_random_uuid(), false, amount_centavos,
                    description, statement_description, belvo_customer_id, belvo_enrollment_id,
                    beneficiary_bank_account, 'timed_out', 'merchant', created_at, updated_at
                FROM payments, generate_series(1, 20000)
                """)
            try await harness.database.execute("ANALYZE payments")
            let store = harness.merchant.dependencies.store
            for statement in [
                store.claiming(in: .payments, limit: 128, lease: .seconds(25), giving: "id"),
                store.askingWhatIsDue(in: [.payments]),
            ] {
                let plan = try await harness.database.execute("EXPLAIN \(fragment: statement)")
                    .map { try $0.decode("QUERY PLAN", as: String.self) }.joined(separator: "\n")
                #expect(plan.contains("payments_due"), "\(plan)")
                #expect(!plan.contains("Seq Scan on payments"), "\(plan)")
            }
        }
    }
}

/// A pass that has less time than records.
@Suite struct PollerTests {
    @Test func `a pass gives back what it had no time for, and takes less the next time`() async throws {
        try await withLoop { loop in
            let seen = Seen()
            let poller = Poller<UUID>(
                name: "tests", table: .payments, limit: 64, width: 2, log: LogRecorder().logger, gate: nil,
                window: .zero,
                claim: { limit in
                    seen.claimed(limit)
                    return (0..<limit).map { _ in Self.stored(UUID()) }
                },
                poll: { _ in .unchanged(nextPoll: .seconds(2)) }, reschedule: { seen.rested($0) }, id: { $0 })
            let passes = try await loop.task { [try await poller.runOnce(), try await poller.runOnce()] }.value
            // Two at a time begin at once, and no other after no time at all.
            #expect(passes.map(\.examined) == [2, 2])
            #expect(seen.limits == [64, 2])
            #expect(seen.reschedules.map { $0.count { $0.wait == .zero } } == [62, 0])
            #expect(seen.reschedules.map { $0.count { $0.wait == .seconds(2) } } == [2, 2])
        }
    }

    @Test(arguments: [true, false])
    func `what a pass had no time for stays due since when it was, unless its institution had as many as it may`(
        isOfOne: Bool
    ) async throws {
        try await withLoop { loop in
            let (seen, institution) = (Seen(), isOfOne ? UUID() : nil)
            let poller = Poller<UUID>(
                name: "tests", table: .enrollments, limit: 64, width: 2, log: LogRecorder().logger, gate: nil,
                window: .zero,
                claim: { limit in (0..<limit).map { _ in Self.stored(UUID(), due: .earliest) } },
                poll: { _ in .recorded },
                reschedule: { seen.rested($0) }, id: { $0 }, institution: { _ in institution })
            _ = try await loop.task { try await poller.runOnce() }.value
            let left = seen.reschedules.flatMap(\.self)
            #expect(left.count { $0.isStillDue } == (isOfOne ? 0 : 62))
            #expect(left.count { !$0.isStillDue && $0.wait == .zero } == (isOfOne ? 62 : 0))
        }
    }

    private static func stored(_ id: UUID, due: Payments.Timestamp? = nil) -> Stored<UUID> {
        Stored(
            record: id, version: 1, updatedAt: .earliest, deadline: nil, due: due,
            clock: DatabaseClock(reading: .earliest, monotonic: Monotonic.now))
    }

    /// The claims and outcomes of a poller.
    private final class Seen: Sendable {
        private let state = Mutex((limits: [Int](), reschedules: [[Reschedule]]()))

        var limits: [Int] { state.withLock { $0.limits } }
        var reschedules: [[Reschedule]] { state.withLock { $0.reschedules } }

        func claimed(_ limit: Int) { state.withLock { $0.limits.append(limit) } }
        func rested(_ reschedules: [Reschedule]) { state.withLock { $0.reschedules.append(reschedules) } }
    }
}
