import BelvoSandbox
import HTTP
import JSON
import Postgres
import Testing

/// No personal datum and no secret of a flow can be read in the tables, or stands in the log.
@Suite struct SecrecyTests {
    @Test func `who a user is and what a phone signed stand in no table and no log`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            // Of a keyed request the digest is kept, and what it is made of is not.
            #expect(try await client.keyed(client.enrollmentBody).status == 201)
            let enrollment = try await client.startEnrollment()
            let reply = try client.decide(enrollment)
            // On a bad day, when more is logged and more is kept.
            harness.sandbox.next(.tooManyRequests(retryAfter: 1), on: .completeRedirection)
            try await client.complete(reply)
            var found = try await harness.tablesHolding(oneShots(of: reply))
            #expect(found.isEmpty, "\(found)")
            try await harness.poll()
            try await client.awaitOptions(of: enrollment)
            let confirmation = try await client.confirmation(of: enrollment)
            harness.sandbox.next(.dropAnswer, on: .confirmEnrollment)
            _ = try await client.app.send(.post, "/v1/enrollments/\(enrollment.id)/confirm", confirmation)
            try harness.sandbox.settle(enrollment: enrollment.belvoID)
            try await harness.poll()
            let payment = try await client.openPayment(enrollment)
            let authorization = try client.authorization(of: payment)
            harness.sandbox.next(.forbiddenPage, on: .authorizePaymentIntent)
            for _ in 0..<2 {
                _ = try await client.app.send(.post, "/v1/payment-intents/\(payment.id)/authorize", authorization)
            }
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.poll()
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")

            var secrets =
                oneShots(of: reply) + [
                    "Ana Souza", "52998224725", "529.982.247-25", "ana@example.com", "5511987654321",
                    client.deviceID, try #require(client.app.token),
                    harness.sandbox.configuration.secretPassword, TestHarness.secret, "userTimeZoneOffset", "-23.5614",
                ]
            let (registered, signed) = (
                try JSONDocument(parsing: Array(confirmation.utf8)).root["confirmation_data"]?["response"],
                try JSONDocument(parsing: Array(authorization.utf8)).root["assertion"]?["response"]
            )
            for (value, names) in [
                (registered, ["attestationObject", "clientDataJSON"]), (signed, ["signature", "clientDataJSON"]),
            ] {
                secrets += try names.map { try #require(value?[$0]?.string) }
            }
            found = try await harness.tablesHolding(secrets)
            #expect(found.isEmpty, "\(found)")
            // The state stands in the address where the user approves, which the app is given again.
            for secret in secrets + [try #require(reply["state"])] {
                #expect(!harness.log.all.contains { $0.contains(secret) }, "the log holds \(secret)")
            }
            // The search itself finds what is there to be found.
            #expect(try await !harness.tablesHolding(["Two coffees"]).isEmpty)
        }
    }

    private func oneShots(of reply: BankReply) -> [String] {
        ["code", "id_token"].compactMap { reply[$0] }
    }
}

extension TestHarness {
    /// The places, as `table.column: text`, where one of the texts stands in the bytes of a column.
    func tablesHolding(_ texts: [String]) async throws -> [String] {
        try await tablesHolding(bytes: texts.map { ($0, Array($0.utf8)) })
    }

    /// The same for bytes, each with a name that tells which.
    func tablesHolding(bytes wanted: [(name: String, bytes: [UInt8])]) async throws -> [String] {
        let columns = try await database.rows(
            """
            SELECT table_name::text AS table_name, column_name::text AS column_name, data_type::text AS data_type
            FROM information_schema.columns
            WHERE table_schema = 'public' AND table_name NOT IN ('schema_migrations', 'test_clock')
            """)
        var places: [String] = []
        for column in columns {
            let table: String = try column.decode("table_name")
            let name: String = try column.decode("column_name")
            let isBytes = try column.decode("data_type", as: String.self) == "bytea"
            let bytes = isBytes ? name : "convert_to(\(name)::text, 'UTF8')"
            let values = try await database.rows(
                SQL(trusted: "SELECT \(bytes) AS bytes FROM \(table) WHERE \(name) IS NOT NULL")
            ).map { try $0.decode("bytes", as: [UInt8].self) }
            for (text, bytes) in wanted where values.contains(where: { $0.contains(bytes) }) {
                places.append("\(table).\(name): \(text)")
            }
        }
        return places
    }
}
