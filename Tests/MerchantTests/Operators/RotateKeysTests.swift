import BelvoSandbox
import FoundationEssentials
import HTTP
import Payments
import Postgres
import Testing
import Transport

@testable import MerchantServer
@testable import MerchantStore

/// `merchant rotate-keys`: what is stored goes over to the first of `ENCRYPTION_KEYS` while the servers go on.
@Suite struct RotateKeysTests {
    private static func key(_ id: String, _ byte: UInt8) -> String {
        "\(id):\(Data(repeating: byte, count: 32).base64EncodedString())"
    }

    private static let both = ["ENCRYPTION_KEYS": "\(key("second", 7)),\(key("first", 1))"]
    private static let onlyNew = ["ENCRYPTION_KEYS": key("second", 7)]

    private func rotate(_ harness: TestHarness, batch: Int = 500) async throws -> [RotatedColumn] {
        let settings = try harness.settings(with: Self.both)
        return try await harness.operate(settings) { try await $0.rotateKeys(batch: batch) }
    }

    /// How many ciphertexts of each column open with the new key alone, and how many do not.
    private func counted(_ harness: TestHarness) async throws -> [String: (new: Int, old: Int)] {
        let keys = try harness.settings(with: Self.onlyNew).encryptionKeys
        let vault = Vault(encryptionKeys: keys, lookupKey: harness.settings.lookupKey)
        var counts: [String: (new: Int, old: Int)] = [:]
        for column in VaultColumn.allCases {
            let parts = column.rawValue.split(separator: ".")
            let rows = try await harness.database.rows(
                SQL(
                    trusted: """
                        SELECT \(column.place.id.text) AS id, \(parts[1]) AS bytes FROM \(parts[0])
                        WHERE \(parts[1]) IS NOT NULL
                        """))
            var count = (new: 0, old: 0)
            for row in rows {
                let isNew = (try? vault.open(row.decode("bytes"), in: column, of: row.decode("id"))) != nil
                if isNew { count.new += 1 } else { count.old += 1 }
            }
            counts[column.rawValue] = count
        }
        return counts
    }

    /// A user of whom every encrypted column has something.
    private func fill(_ harness: TestHarness) async throws -> AppClient {
        var client = try await AppClient.arrive(on: harness)
        let enrollment = try await client.enroll()
        try await harness.tell("ENROLLMENTS", of: enrollment.belvoID)
        _ = try await client.app.send(.post, "/v1/widget-token")
        _ = try await client.reachFingerprint()
        let payment = try await client.openPayment(enrollment)
        try harness.sandbox.fail(intent: payment.belvoID)
        let refused = try await client.startEnrollment()
        try harness.sandbox.fail(enrollment: refused.belvoID)
        try await harness.tell("PAYMENT_INTENTS", of: payment.belvoID)
        try await harness.tell("ENROLLMENTS", of: refused.belvoID)
        try await harness.work()
        // A redirect that Belvo has not taken yet.
        let third = try await client.startEnrollment()
        harness.sandbox.next(.tooManyRequests(retryAfter: 600), on: .completeRedirection)
        try await client.complete(client.decide(third))
        return client
    }

    @Test func `every column goes over to the new key, and then the old one can be taken out`() async throws {
        try await TestHarness.open { harness in
            let client = try await fill(harness)
            let before = try await counted(harness)
            #expect(before.values.allSatisfy { $0.new == 0 && $0.old > 0 }, "\(before)")
            let done = try await rotate(harness)
            #expect(done.map(\.name) == VaultColumn.allCases.map(\.rawValue))
            for column in done {
                #expect(column.encrypted == before[column.name]?.old, "\(column.name)")
                #expect(column.left == 0)
            }
            #expect(try await counted(harness).values.allSatisfy { $0.old == 0 && $0.new > 0 })
            #expect(try await rotate(harness).allSatisfy { $0.encrypted == 0 && $0.left == 0 })

            try await harness.withAnotherInstance(environment: Self.onlyNew) { other in
                let app = try await other.app(of: "ana")
                #expect(try await app.send(.get, "/v1/customer").status == 200)
                let list = try await app.send(.get, "/v1/enrollments")
                #expect(try list.each("id", in: "results").count == 4)
                #expect(list.text.contains("payer"))
                #expect(
                    try await app.send(.get, "/v1/enrollments?device_id=\(client.deviceID)")
                        .each("id", in: "results").count == 4)
                #expect(try await app.send(.post, "/v1/widget-token").status == 201)
                try await other.pass(.seconds(700))
                #expect(!other.log.holds("store.unreadable_row"))
            }
            let taken = try await harness.lines(
                "SELECT outcome AS line FROM redirect_receipts WHERE outcome <> 'taken'")
            #expect(taken.isEmpty, "\(taken)")
        }
    }

    @Test func `rows that change meanwhile keep their change, and end under the new key as well`() async throws {
        try await TestHarness.open { harness in
            for number in 0..<40 {
                _ = try await harness.app(of: "user-\(number)").send(.put, "/v1/customer", AppClient.customerBody())
            }
            try await harness.withAnotherInstance(environment: Self.both) { other in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { _ = try await rotate(harness, batch: 3) }
                    group.addTask {
                        for number in 0..<40 {
                            // Some are ahead of the rotation and some behind it.
                            let user = try await other.app(of: "user-\((number * 17) % 40)")
                            let body = AppClient.customerBody().replacing("Ana Souza", with: "Ana \(number)")
                            #expect(try await user.send(.put, "/v1/customer", body).status < 300)
                        }
                    }
                    try await group.waitForAll()
                }
                let count = try await counted(harness)["customers.person_ciphertext"]
                #expect(count?.old == 0)
                #expect(count?.new == 40)
                for number in 0..<40 {
                    let user = try await other.app(of: "user-\((number * 17) % 40)")
                    #expect(try await user.send(.get, "/v1/customer").status == 200)
                }
            }
        }
    }

    @Test func `a row that somebody changes between being read and being written keeps that change`() async throws {
        try await TestHarness.open { harness in
            _ = try await harness.app(of: "ana").send(.put, "/v1/customer", AppClient.customerBody())
            let id: UUID = try await harness.database.rows("SELECT id FROM customers")[0].decode("id")
            let keys = try harness.settings(with: Self.both).encryptionKeys
            let vault = Vault(encryptionKeys: keys, lookupKey: harness.settings.lookupKey)
            let change = vault.seal(Array("changed".utf8), in: .customersPerson, of: id)
            let rotation = try await harness.database.transaction { transaction in
                try await transaction.execute("UPDATE customers SET person_ciphertext = \(change)")
                let rotation = harness.loop.task { try await rotate(harness) }
                // It has read the row as it was, and waits to write it.
                try await harness.awaitCondition {
                    try await !harness.database.rows(
                        """
                        SELECT pid FROM pg_stat_activity
                        WHERE datname = current_database() AND wait_event_type = 'Lock'
                        """
                    ).isEmpty
                }
                return rotation
            }
            let done = try #require(try await rotation.value.first { $0.name == "customers.person_ciphertext" })
            #expect(done == RotatedColumn(name: "customers.person_ciphertext", encrypted: 0, left: 0))
            let kept: [UInt8] = try await harness.database.rows("SELECT person_ciphertext FROM customers")[0]
                .decode("person_ciphertext")
            #expect(kept == change)
        }
    }

    @Test func `ended in the middle it goes on where it was`() async throws {
        try await TestHarness.open { harness in
            for number in 0..<90 {
                try await harness.tell("CHARGES", of: "0b3a1c7e-90d4-4f26-8a51-0d6c2e9b7f\(10 + number)")
            }
            let rotation = harness.loop.task { try await rotate(harness, batch: 1) }
            try await harness.awaitCondition {
                try await counted(harness)["webhook_receipts.body_ciphertext"].map { $0.new > 0 } ?? false
            }
            rotation.cancel()
            await #expect(throws: CancellationError.self) { try await rotation.value }
            let middle = try #require(try await counted(harness)["webhook_receipts.body_ciphertext"])
            #expect(middle.new > 0)
            #expect(middle.old > 0)
            let done = try #require(try await rotate(harness).first { $0.name == "webhook_receipts.body_ciphertext" })
            #expect(done.encrypted == middle.old)
            #expect(done.left == 0)
        }
    }

    @Test func `a ciphertext that does not open is left and counted, and the others are not held up`() async throws {
        try await TestHarness.open { harness in
            for user in ["ana", "ben", "eva"] {
                _ = try await harness.app(of: user).send(.put, "/v1/customer", AppClient.customerBody())
            }
            try await harness.database.execute(
                """
                UPDATE customers SET
                    person_ciphertext = set_byte(person_ciphertext, 30, 255 - get_byte(person_ciphertext, 30))
                WHERE subject = 'ben'
                """)
            let done = try #require(try await rotate(harness).first { $0.name == "customers.person_ciphertext" })
            #expect(done == RotatedColumn(name: "customers.person_ciphertext", encrypted: 2, left: 1))
            #expect(harness.log.all.contains { $0.contains("customers.person_ciphertext") })
        }
    }
}
