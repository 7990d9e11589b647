import BelvoSandbox
import HTTP
import Payments
import Postgres
import TestSupport
import Testing
import Transport

@testable import MerchantServer

/// Transactions that would decide about something at once decide one after the other.
@Suite(.timeLimit(.minutes(2))) struct LockTests {
    /// Writes a payment, and commits when the other task waits for it or has ended. Gives what that task gives, and
    /// whether it waited.
    private static func writing<Value: Sendable>(
        _ payment: SQL, on harness: TestHarness, while other: @escaping @Sendable () async throws -> Value
    ) async throws -> (value: Value, hasWaited: Bool) {
        let (task, hasWaited) = try await harness.database.transaction { transaction in
            try await transaction.execute(payment)
            let end = Gate()
            let task = harness.loop.task {
                defer { end.open() }
                return try await other()
            }
            let waiting: SQL = """
                SELECT 'x' AS line FROM pg_stat_activity
                WHERE wait_event_type = 'Lock' AND datname = current_database()
                """
            var hasWaited = false
            try await harness.awaitCondition {
                hasWaited = try await !harness.lines(waiting).isEmpty
                return hasWaited || end.isOpen
            }
            return (task, hasWaited)
        }
        return (try await task.value, hasWaited)
    }

    @Test func `a payment for a reference waits for one that is just being written, and is refused`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            _ = try await client.openPayment(enrollment)
            let app = client.app
            let body = client.paymentBody(enrollment, reference: "order-2")
            let payment: SQL = """
                INSERT INTO payments (id, state, reference, belvo_idempotency_key, next_poll_at, deadline_at, subject,
                    enrollment_id, amount_centavos, description, statement_description, belvo_customer_id,
                    belvo_enrollment_id, beneficiary_bank_account, created_at, updated_at)
                SELECT gen_random_uuid(), 'creating', 'order-2', gen_random_uuid(), app_now(),
                    app_now() + interval '1 hour', subject, enrollment_id, amount_centavos, description,
                    statement_description, belvo_customer_id, belvo_enrollment_id, beneficiary_bank_account,
                    created_at, updated_at
                FROM payments
                """
            let (answer, hasWaited) = try await Self.writing(payment, on: harness) {
                try await app.send(.post, "/v1/payment-intents", body, headers: ["idempotency-key": "tap-2"])
            }
            #expect(hasWaited, "two payments for one reference are decided about at once")
            #expect(answer.status == 409)
        }
    }

    @Test func `who is being erased is waited for where a payment is just beginning`() async throws {
        try await MayBelvoStillPayTests.open { harness, client, enrollment in
            let givenUp = try await client.openPayment(enrollment)
            _ = try await client.cancel(givenUp)
            // An intent of an app's SDK, which names no row that the erasure locks.
            let payment: SQL = """
                INSERT INTO payments (id, origin, state, belvo_id, next_poll_at, deadline_at, subject,
                    amount_centavos, belvo_customer_id, created_at, updated_at)
                SELECT gen_random_uuid(), 'observed', 'observed', gen_random_uuid(), app_now(),
                    app_now() + interval '1 hour', subject, amount_centavos, belvo_customer_id, created_at, updated_at
                FROM payments
                """
            let (outcome, hasWaited) = try await Self.writing(payment, on: harness) {
                do {
                    _ = try await harness.operate { try await $0.erase(try UserSubject("ana")) }
                    return "erased"
                } catch { return "\(error)" }
            }
            #expect(hasWaited, "a person is erased while a payment of theirs begins")
            #expect(outcome.contains("not at their end"))
        }
    }

    @Test func `who is being erased is waited for where an order of theirs is just read`() async throws {
        let environment = ["SHOP_TOKEN": MayBelvoStillPayTests.shopToken]
        try await TestHarness.open(environment: environment) { harness in
            _ = try await AppClient.arrive(on: harness)
            #expect(try await MayBelvoStillPayTests.place(on: harness, amount: "10.00").status == 201)
            let end = Gate()
            let erasure = try await harness.database.transaction { transaction in
                // As the creation of a payment does: the order first, and then the user.
                try await transaction.execute("SELECT reference FROM orders WHERE reference = 'order-1' FOR SHARE")
                let task = harness.loop.task {
                    defer { end.open() }
                    return try await harness.operate { try await $0.erase(try UserSubject("ana")) }
                }
                let waiting: SQL = """
                    SELECT 'x' AS line FROM pg_stat_activity
                    WHERE wait_event_type = 'Lock' AND datname = current_database()
                    """
                try await harness.awaitCondition { try await !harness.lines(waiting).isEmpty || end.isOpen }
                try await transaction.execute("SELECT lock_user('ana')")
                return task
            }
            #expect(try await erasure.value != nil)
        }
    }

    @Test func `a payment without an order is not opened beside an order that came behind the question for one`()
        async throws
    {
        let gate = Gate()
        let environment = ["SHOP_TOKEN": MayBelvoStillPayTests.shopToken]
        try await TestHarness.open(environment: environment, sandbox: .test(pausingAt: gate)) { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            // It was read too long ago, so that it is read again, behind that question.
            try await harness.advance(by: .seconds(301))
            harness.sandbox.next(.delayAnswer(.seconds(1)), on: .getEnrollment)
            let reads = harness.countCalls(.getEnrollment)
            let (app, body) = (client.app, client.paymentBody(enrollment))
            async let opened = app.send(.post, "/v1/payment-intents", body, headers: ["idempotency-key": "tap-1"])
            try await harness.awaitCondition { harness.countCalls(.getEnrollment) > reads }
            #expect(try await MayBelvoStillPayTests.place(on: harness, amount: "400.00").status == 201)
            gate.open()
            let answer = try await opened
            #expect(answer.status != 201, "\(answer.text)")
            #expect(try await harness.lines("SELECT id::text AS line FROM payments").isEmpty)
        }
    }
}
