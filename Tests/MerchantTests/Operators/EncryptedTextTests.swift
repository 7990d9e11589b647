import BelvoSandbox
import Postgres
import Testing

@testable import Merchant

/// What Belvo says in its own words, and what a person wrote, can be read in no table.
@Suite struct EncryptedTextTests {
    private static let cpf = "529.982.247-25"
    private static let words = "The payer \(cpf) has not enough funds."

    private struct Failed {
        let usable: Shopper.Bond
        let bond: Shopper.Bond
        let bill: Shopper.Bill
    }

    /// A payment and an enrollment that failed with words that name the payer.
    private static func fail(_ shopper: Shopper, on stage: Stage) async throws -> Failed {
        var shopper = shopper
        let bond = try await shopper.enroll()
        let bill = try await shopper.bill(bond)
        try stage.sandbox.fail(intent: bill.belvoID, message: words)
        let other = try await shopper.startEnrollment()
        try stage.sandbox.fail(enrollment: other.belvoID, message: words)
        for (kind, id) in [("PAYMENT_INTENTS", bill.belvoID), ("ENROLLMENTS", other.belvoID)] {
            try await stage.tell(kind, of: id)
        }
        try await stage.work()
        return Failed(usable: bond, bond: other, bill: bill)
    }

    @Test func `Belvo's words reach the app that they are about, and no table has them in plain`() async throws {
        try await Stage.open { stage in
            let shopper = try await Shopper.arrive(on: stage)
            let failed = try await Self.fail(shopper, on: stage)
            #expect(try await shopper.payment(failed.bill).string("failure_message") == Self.words)
            #expect(try await shopper.enrollment(failed.bond).string("status_reason_message") == Self.words)
            let refusing = Fault.refused(422, code: "invalid_\(Self.cpf)")
            stage.sandbox.next(refusing, on: .createPaymentIntent)
            _ = try await shopper.openPayment(failed.usable, reference: "order-2", key: "tap-2")
            let phone = "Ana's phone"
            #expect(try await shopper.enrollment(failed.bond).text.contains(phone))
            let found = try await stage.tablesHolding([Self.cpf, phone, "/authorize?"])
            #expect(found.isEmpty, "\(found)")
        }
    }

    @Test func `what a server of an earlier version left in plain is read, and encrypted by the retention pass`()
        async throws
    {
        try await Stage.open { stage in
            let shopper = try await Shopper.arrive(on: stage)
            let failed = try await Self.fail(shopper, on: stage)
            let older = [
                "UPDATE payments SET failure_message = 'older'", "UPDATE enrollments SET failure_message = 'older'",
                "UPDATE enrollments SET name = 'older name', redirect_url = 'https://older.example'",
                "UPDATE idempotency_keys SET response_body = 'older answer', response_status = 201",
            ]
            for statement in older { try await stage.database.execute(SQL(trusted: statement)) }
            func read() async throws -> [String] {
                let enrollment = try await shopper.enrollment(failed.bond)
                let again = try await shopper.openPayment(failed.usable, reference: "order-1", key: "tap-1")
                return [
                    try await shopper.payment(failed.bill).string("failure_message"),
                    try enrollment.string("status_reason_message"), try enrollment.string("details", "name"),
                    try enrollment.string("details", "redirect_url"), again.text,
                ]
            }
            let expected = ["older", "older", "older name", "https://older.example"]
            #expect(try await read().dropLast() == expected[...])
            #expect(try await !stage.tablesHolding(["older"]).isEmpty)
            _ = try await Retention(store: stage.merchant.world.store, log: stage.merchant.world.log).runOnce()
            #expect(try await stage.tablesHolding(["older"]).isEmpty)
            #expect(try await read().dropLast() == expected[...])
            #expect(stage.log.holds("retention.encrypted"))
        }
    }
}
