import BelvoSandbox
import HTTP
import Migrations
import Postgres
import TestSupport
import Testing

/// The database goes away and comes back while the server stays.
@Suite struct DatabaseAwayTests {
    @Test(arguments: [TestCluster.StopMode.fast, .immediate])
    func `without its database the server answers 503 at once, and is itself again with it`(
        mode: TestCluster.StopMode
    ) async throws {
        try await TestCluster.with { cluster in
            try await TestHarness.open(on: cluster) { harness in
                let client = try await AppClient.arrive(on: harness)
                let enrollment = try await client.startEnrollment()
                let before = try await client.enrollment(enrollment)
                let calls = harness.sandbox.calls.count
                let reply = try client.decide(enrollment)
                try await cluster.stop(mode)

                // All at once: those that come first wait for a connection, for as long as a restart may take.
                let requests: [(HTTP.Method, String, String?)] = [
                    (.get, "/v1/enrollments/\(enrollment.id)", nil),
                    (.put, "/v1/customer", AppClient.customerBody()), (.post, "/v1/enrollments", client.enrollmentBody),
                    (.post, "/v1/enrollments/complete-redirection", String(decoding: reply.body, as: UTF8.self)),
                    (.post, "/v1/payment-intents", client.paymentBody(enrollment)),
                ]
                try await withThrowingDiscardingTaskGroup { [app = client.app] group in
                    for (method, path, body) in requests {
                        group.addTask(executorPreference: harness.loop) {
                            let answer = try await app.send(method, path, body, headers: ["idempotency-key": "tap"])
                            #expect(answer.status == 503, "\(method) \(path)")
                            #expect(try answer.string("code") == "database_unavailable", "\(method) \(path)")
                            #expect(answer.response.headers["retry-after"] == "2", "\(method) \(path)")
                        }
                    }
                }
                let again = try await client.app.send(.get, "/v1/enrollments")
                #expect(again.status == 503)
                #expect(try again.string("code") == "database_unavailable")
                let page = try await harness.browser().follow(reply)
                #expect(page.status == 503 && page.text.contains("<h1>Just a moment</h1>"))
                // Nothing was asked of Belvo that could not be remembered.
                #expect(harness.sandbox.calls.count == calls)
                let detail = try await App(client: harness.admin, token: nil).send(.get, "/readyz")
                #expect(detail.text == #"{"status":"unavailable","missing":["database"],"warnings":[]}"#)
                #expect(try await App(client: harness.client, token: nil).send(.get, "/livez").status == 200)

                try await cluster.start()
                // What had been answered is still there, byte for byte.
                #expect(
                    try await eventually(on: harness) { try await client.enrollment(enrollment) }.text == before.text)
                #expect(try await eventually(on: harness) { try await client.complete(reply) }.status == 200)
                try await client.awaitOptions(of: enrollment)
                #expect(try await client.enrollment(enrollment).string("next_action", "type") == "register")
            }
        }
    }

    /// Without a word of the session's, `off` would lose the row: PostgreSQL writes its log ten seconds later then.
    @Test(arguments: ["off", "local", "on", "remote_apply"])
    func `what was answered is there after an immediate restart, whatever synchronous_commit is`(
        level: String
    ) async throws {
        let settings = "fsync = on\nwal_writer_delay = '10s'\nsynchronous_commit = \(level)"
        try await TestCluster.with(settings: settings) { cluster in
            try await TestHarness.open(on: cluster) { harness in
                let app = try await harness.app(of: "ana")
                let told = try await app.send(.put, "/v1/customer", AppClient.customerBody())
                #expect(told.status == 201)
                try await cluster.stop(.immediate)
                try await cluster.start()
                let found = try await eventually(on: harness) { try await app.send(.get, "/v1/customer") }
                #expect(found.status == 200)
                #expect(try found.string("id") == told.string("id"))
            }
        }
    }

    /// The first answer that is no 503: the server finds the database again by itself, within its own pauses.
    private func eventually(on harness: TestHarness, _ ask: () async throws -> Answer) async throws -> Answer {
        var answer = try await ask()
        try await harness.awaitCondition {
            if answer.status == 503 { answer = try await ask() }
            return answer.status != 503
        }
        return answer
    }
}
