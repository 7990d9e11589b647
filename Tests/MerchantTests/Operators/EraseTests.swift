import BelvoSandbox
import HTTP
import Payments
import Postgres
import Testing

@testable import MerchantServer
@testable import MerchantStore
@testable import MerchantWorkflows

/// `merchant erase`: a person asks to be forgotten (LGPD, article 18).
@Suite struct EraseTests {
    private static let subject = "user-7731-ana"
    private static let taxID = "529.982.247-25"

    /// A user who has been everywhere that a user can be, with words of his own wherever the shop may put some.
    private func live(
        on harness: TestHarness, as subject: String, taxID: String, order: String, note: String
    ) async throws -> (client: AppClient, belvoIDs: [String]) {
        let shop = App(client: harness.client, token: OrderTests.token)
        _ = try await shop.send(
            .put, "/orders/\(order)", #"{"subject": "\#(subject)", "amount": "19.90", "description": "Two coffees"}"#)
        var client = try await AppClient.arrive(on: harness, as: subject, taxID: taxID)
        let metadata = #", "metadata": {"note": "\#(note)"}}"#
        let started = try await client.app.send(
            .post, "/v1/enrollments", String(client.enrollmentBody.dropLast()) + metadata)
        let enrollment = AppClient.Enrollment(id: try started.string("id"), belvoID: try started.string("belvo_id"))
        _ = try await harness.browser().follow(client.decide(enrollment))
        try await client.awaitOptions(of: enrollment)
        try await client.confirm(enrollment)
        try harness.sandbox.settle(enrollment: enrollment.belvoID)
        try await harness.tell("ENROLLMENTS", of: enrollment.belvoID)
        try await harness.poll()
        _ = try await client.app.send(.post, "/v1/widget-token")
        let opened = try await client.app.send(
            .post, "/v1/payment-intents",
            String(client.paymentBody(enrollment, reference: order).dropLast()) + metadata,
            headers: ["idempotency-key": "tap-1"])
        let payment = AppClient.OpenedPayment(
            id: try opened.string("id"), belvoID: try opened.string("belvo_id"), answer: opened)
        try await client.authorize(payment)
        try harness.sandbox.settle(intent: payment.belvoID)
        try await harness.tell("PAYMENT_INTENTS", of: payment.belvoID)
        try await harness.poll()
        #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
        return (client, [enrollment.belvoID, payment.belvoID])
    }

    /// The ciphertexts that hold any of these when they are opened, as `column: what it holds`.
    private func ciphertextsHolding(
        _ wanted: [(name: String, bytes: [UInt8])], on harness: TestHarness
    ) async throws -> [String] {
        var places: [String] = []
        for column in VaultColumn.allCases {
            let parts = column.rawValue.split(separator: ".")
            let rows = try await harness.database.rows(
                SQL(
                    trusted: """
                        SELECT \(column.place.id.text) AS id, \(parts[1]) AS bytes FROM \(parts[0])
                        WHERE \(parts[1]) IS NOT NULL
                        """))
            for row in rows {
                let text = try harness.merchant.dependencies.store.vault
                    .open(row.decode("bytes"), in: column, of: row.decode("id"))
                places += wanted.filter { text.contains($0.bytes) }.map { "\(column.rawValue): \($0.name)" }
            }
        }
        return places
    }

    private func erase(_ subject: String, on harness: TestHarness) async throws -> Erasure? {
        try await harness.operate { try await $0.erase(try UserSubject(subject)) }
    }

    private func rows(of subject: String, on harness: TestHarness) async throws -> [String] {
        var rows: [String] = []
        for table in ["customers", "enrollments", "payments", "orders", "idempotency_keys", "widget_tokens"] {
            rows += try await harness.texts(
                SQL(trusted: "SELECT * FROM \(table) WHERE subject = '\(subject)' ORDER BY 1"))
        }
        return rows
    }

    @Test func `every trace of the person goes, what was paid stays, and others stay as they are`() async throws {
        try await ShopDouble.serving { shop in
            let environment = shop.environment.merging(["SHOP_TOKEN": OrderTests.token, "ORDERS": "required"]) { $1 }
            try await TestHarness.open(environment: environment) { harness in
                let (ana, belvoIDs) = try await live(
                    on: harness, as: Self.subject, taxID: Self.taxID, order: "order-a", note: "for Ana's birthday")
                _ = try await live(
                    on: harness, as: "user-8842-ben", taxID: "111.444.777-35", order: "order-b", note: "for Ben")
                try await harness.poll()
                // Erasing is refused while she may hold a token for the SDK: an intent signed with it is not known yet.
                await #expect(throws: RecordsStillOpen.self) { try await erase(Self.subject, on: harness) }
                try await harness.pass(.seconds(725))
                let totals = try await harness.texts("SELECT * FROM ops.totals_per_day")
                let others = try await rows(of: "user-8842-ben", on: harness)
                #expect(others.count >= 6)
                let vault = harness.merchant.dependencies.store.vault
                let states = try await harness.database.rows(
                    "SELECT redirect_state_lookup FROM enrollments WHERE subject = \(Self.subject)"
                ).map { try $0.decode("redirect_state_lookup", as: [UInt8].self) }
                let traces: [(name: String, bytes: [UInt8])] = [
                    ("subject", Array(Self.subject.utf8)), ("name", Array("Ana Souza".utf8)),
                    ("CPF", Array("52998224725".utf8)), ("device", Array(ana.deviceID.utf8)),
                    ("the CPF's digest", vault.lookup("52998224725", for: .taxID)),
                    ("the device's digest", vault.lookup(ana.deviceID, for: .device)),
                    ("the state's digest", try #require(states.first)), ("metadata", Array("birthday".utf8)),
                ]
                let sealed = traces + belvoIDs.map { ("an id at Belvo", Array($0.utf8)) }
                let before = try await harness.tablesHolding(bytes: traces)
                #expect(before.contains { $0.hasSuffix("the CPF's digest") })
                #expect(before.contains { $0.hasSuffix("the device's digest") })
                #expect(before.count { $0.hasSuffix("subject") } >= 6, "\(before)")
                #expect(before.contains("enrollments.redirect_state_lookup: the state's digest"), "\(before)")
                #expect(before.contains("redirect_receipts.state_lookup: the state's digest"), "\(before)")
                for table in ["enrollments", "payments"] {
                    #expect(before.contains("\(table).metadata: metadata"), "\(before)")
                }
                let sealedBefore = try await ciphertextsHolding(sealed, on: harness)
                #expect(sealedBefore.contains("customers.person_ciphertext: name"))
                #expect(sealedBefore.count { $0 == "webhook_receipts.body_ciphertext: an id at Belvo" } >= 2)

                let erasure = try #require(try await erase(Self.subject, on: harness))
                #expect(erasure.payments == 1)
                #expect(erasure.enrollments == 1)
                let after = try await harness.tablesHolding(bytes: traces)
                #expect(after.isEmpty, "\(after)")
                let sealedAfter = try await ciphertextsHolding(sealed, on: harness)
                // Ben is called as Ana is, and his rows are as many as hers were.
                #expect(sealedAfter.allSatisfy { $0.hasSuffix(": name") }, "\(sealedAfter)")
                #expect(sealedAfter.count * 2 == sealedBefore.count { $0.hasSuffix(": name") }, "\(sealedBefore)")
                let kept = try await harness.lines(
                    """
                    SELECT concat_ws(' ', 'customer', person_ciphertext IS NULL, erased_at IS NOT NULL) AS line
                    FROM customers WHERE subject = \(erasure.pseudonym)
                    UNION ALL
                    SELECT concat_ws(' ', 'enrollment', device_ciphertext IS NULL,
                        payer_information_ciphertext IS NULL, name_ciphertext IS NULL, metadata IS NULL)
                    FROM enrollments WHERE subject = \(erasure.pseudonym)
                    UNION ALL
                    SELECT concat_ws(' ', 'payment', status, amount_centavos, reference) FROM payments
                    WHERE subject = \(erasure.pseudonym)
                    ORDER BY line
                    """)
                #expect(kept == ["customer t t", "enrollment t t t t", "payment SUCCEEDED 1990 order-a"])
                #expect(try await harness.texts("SELECT * FROM ops.totals_per_day") == totals)
                #expect(try await rows(of: "user-8842-ben", on: harness) == others)
                #expect(try await erase(Self.subject, on: harness) == nil)
            }
        }
    }

    @Test func `what Belvo tells afterwards brings nothing back, and the user may come again as anybody may`()
        async throws
    {
        try await TestHarness.open { harness in
            var ana = try await AppClient.arrive(on: harness, as: Self.subject, taxID: Self.taxID)
            let enrollment = try await ana.enroll()
            #expect(try await erase(Self.subject, on: harness) != nil)
            #expect(try await ana.enrollment(enrollment).status == 404)
            #expect(try await ana.app.send(.get, "/v1/customer").status == 404)
            try await harness.tell("ENROLLMENTS", of: enrollment.belvoID)
            try harness.sandbox.revoke(enrollment: enrollment.belvoID)
            try await harness.advance(by: .seconds(60))
            try await harness.tell("ENROLLMENTS", of: enrollment.belvoID)
            try await harness.poll()
            let kept = try await harness.lines(
                """
                SELECT concat_ws(' ', state, payer_information_ciphertext IS NULL, redirect_url IS NULL,
                    registration_options_ciphertext IS NULL) AS line FROM enrollments
                """)
            #expect(kept == ["failed t t t"])
            #expect(!harness.log.holds("store.unreadable_row"))
            var again = try await AppClient.arrive(on: harness, as: Self.subject, taxID: Self.taxID)
            _ = try await again.enroll()
            #expect(try await again.app.send(.get, "/v1/enrollments").each("id", in: "results").count == 1)
        }
    }

    @Test func `while a payment, an enrollment or the shop's event is under way nobody is forgotten`() async throws {
        try await ShopDouble.serving { shop in
            try await TestHarness.open(environment: shop.environment) { harness in
                func refused() async throws -> String {
                    do {
                        _ = try await erase(Self.subject, on: harness)
                        return ""
                    } catch let error as RecordsStillOpen {
                        return "\(error)"
                    }
                }
                shop.isAway = true
                var ana = try await AppClient.arrive(on: harness, as: Self.subject, taxID: Self.taxID)
                let enrollment = try await ana.reachFingerprint()
                #expect(try await refused().contains("enrollment \(enrollment.id)"))
                try await ana.confirm(enrollment)
                try harness.sandbox.settle(enrollment: enrollment.belvoID)
                try await harness.poll()
                let payment = try await ana.openPayment(enrollment)
                #expect(try await refused().contains("payment \(payment.id)"))
                try await harness.pass(.seconds(361))
                #expect(try await refused().contains("event "))
                #expect(try await ana.payment(payment).string("status") == "FAILED")
                shop.isAway = false
                for _ in 0..<3 { try await harness.pass(.seconds(3_601)) }
                #expect(shop.types == ["enrollment.succeeded", "payment.failed"])
                #expect(try await erase(Self.subject, on: harness) != nil)
            }
        }
    }
}
