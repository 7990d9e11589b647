import BelvoSandbox
import Payments
import Postgres
import Testing

@testable import MerchantServer
@testable import MerchantStore
@testable import MerchantWorkflows

/// Belvo's texts, and those that a person wrote, are readable in no table.
@Suite struct EncryptedTextTests {
    private static let cpf = "529.982.247-25"
    private static let words = "The payer \(cpf) has not enough funds."

    private struct Failed {
        let usable: AppClient.Enrollment
        let enrollment: AppClient.Enrollment
        let payment: AppClient.OpenedPayment
    }

    /// A payment and an enrollment that failed with words that name the payer.
    private static func fail(_ client: AppClient, on harness: TestHarness) async throws -> Failed {
        var client = client
        let enrollment = try await client.enroll()
        let payment = try await client.openPayment(enrollment)
        try harness.sandbox.fail(intent: payment.belvoID, message: words)
        let other = try await client.startEnrollment()
        try harness.sandbox.fail(enrollment: other.belvoID, message: words)
        for (kind, id) in [("PAYMENT_INTENTS", payment.belvoID), ("ENROLLMENTS", other.belvoID)] {
            try await harness.tell(kind, of: id)
        }
        try await harness.work()
        return Failed(usable: enrollment, enrollment: other, payment: payment)
    }

    @Test func `Belvo's words reach the app that they are about, and no table has them in plain`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let failed = try await Self.fail(client, on: harness)
            #expect(try await client.payment(failed.payment).string("failure_message") == Self.words)
            #expect(try await client.enrollment(failed.enrollment).string("status_reason_message") == Self.words)
            let refusing = Fault.refused(422, code: "invalid_\(Self.cpf)")
            harness.sandbox.next(refusing, on: .createPaymentIntent)
            _ = try await client.requestPayment(failed.usable, reference: "order-2", key: "tap-2")
            let phone = "Ana's phone"
            #expect(try await client.enrollment(failed.enrollment).text.contains(phone))
            let found = try await harness.tablesHolding([Self.cpf, phone, "/authorize?"])
            #expect(found.isEmpty, "\(found)")
        }
    }

    @Test func `erase leaves none of Belvo's words on why something failed`() async throws {
        try await TestHarness.open { harness in
            _ = try await Self.fail(AppClient.arrive(on: harness), on: harness)
            let kept = """
                SELECT 'payment' AS line FROM payments WHERE failure_message_ciphertext IS NOT NULL
                UNION ALL SELECT 'enrollment' FROM enrollments WHERE failure_message_ciphertext IS NOT NULL
                """ as SQL
            #expect(try await harness.lines(kept) == ["payment", "enrollment"])
            let erasure = try await harness.operate { try await $0.erase(try UserSubject("ana")) }
            #expect(erasure?.payments == 1)
            #expect(try await harness.lines(kept).isEmpty)
        }
    }

    @Test func `what a server of an earlier version left in plain is read, and encrypted by the retention pass`()
        async throws
    {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let failed = try await Self.fail(client, on: harness)
            let older = [
                "UPDATE payments SET failure_message = 'older'", "UPDATE enrollments SET failure_message = 'older'",
                "UPDATE enrollments SET name = 'older name', redirect_url = 'https://older.example'",
                "UPDATE idempotency_keys SET response_body = 'older answer', response_status = 201",
            ]
            for statement in older { try await harness.database.execute(SQL(trusted: statement)) }
            func read() async throws -> [String] {
                let shown = try await client.enrollment(failed.enrollment)
                let again = try await client.requestPayment(failed.usable, reference: "order-1", key: "tap-1")
                return [
                    try await client.payment(failed.payment).string("failure_message"),
                    try shown.string("status_reason_message"), try shown.string("details", "name"),
                    try shown.string("details", "redirect_url"), again.text,
                ]
            }
            let expected = ["older", "older", "older name", "https://older.example"]
            #expect(try await read().dropLast() == expected[...])
            #expect(try await !harness.tablesHolding(["older"]).isEmpty)
            _ = try await Retention(store: harness.merchant.dependencies.store, log: harness.merchant.dependencies.log)
                .runOnce()
            #expect(try await harness.tablesHolding(["older"]).isEmpty)
            #expect(try await read().dropLast() == expected[...])
            #expect(harness.log.holds("retention.encrypted"))
        }
    }
}
