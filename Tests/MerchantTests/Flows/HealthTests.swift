import BelvoSandbox
import HTTP
import MerchantAPI
import Postgres
import Testing

@testable import MerchantServer

/// The endpoints for operators and load balancers.
@Suite struct HealthTests {
    @Test func `a server at work is alive and ready, and says nothing else to strangers`() async throws {
        try await TestHarness.open { harness in
            let stranger = App(client: harness.client, token: nil)
            for path in ["/livez", "/readyz"] {
                let answer = try await stranger.send(.get, path)
                #expect(answer.status == 200)
                #expect(answer.text == #"{"status":"ok"}"#)
                #expect(answer.response.headers["content-type"] == "application/json")
            }
            #expect(harness.sandbox.calls.isEmpty)
        }
    }

    @Test func `however many ask whether it is ready, the database is read once a second`() async throws {
        let clock = HandClock()
        try await TestHarness.open(clock: clock.intervals) { harness in
            let stranger = App(client: harness.client, token: nil)
            #expect(try await stranger.send(.get, "/readyz").status == 200)
            try await harness.database.execute("ALTER TABLE schema_migrations RENAME TO elsewhere")
            clock.advance(by: .milliseconds(999))
            #expect(try await stranger.send(.get, "/readyz").status == 200)
            clock.advance(by: .milliseconds(1))
            #expect(try await stranger.send(.get, "/readyz").status == 503)
        }
    }

    @Test func `operators are told what is missing, on their own address only`() async throws {
        try await TestHarness.open { harness in
            let operators = App(client: harness.admin, token: nil)
            let detail = try await operators.send(.get, "/readyz")
            #expect(detail.status == 200)
            #expect(detail.text == #"{"status":"ok","missing":[],"warnings":[]}"#)
            #expect(try await operators.send(.get, "/livez").text == #"{"status":"ok"}"#)

            // A schema without its own record is none.
            try await harness.database.execute("ALTER TABLE schema_migrations RENAME TO elsewhere")
            let missing = try await operators.send(.get, "/readyz")
            #expect(missing.status == 503)
            #expect(missing.text == #"{"status":"unavailable","missing":["database"],"warnings":[]}"#)
            let plain = try await App(client: harness.client, token: nil).send(.get, "/readyz")
            #expect(plain.status == 503)
            #expect(plain.text == #"{"status":"unavailable"}"#)
            #expect(try await operators.send(.get, "/livez").status == 200)
        }
    }

    @Test func `a server that is about to end is alive, and not ready`() async throws {
        try await TestHarness.open { harness in
            harness.merchant.health.drain()
            let operators = App(client: harness.admin, token: nil)
            let detail = try await operators.send(.get, "/readyz")
            #expect(detail.status == 503)
            #expect(detail.text == #"{"status":"unavailable","missing":["draining"],"warnings":[]}"#)
            #expect(try await App(client: harness.client, token: nil).send(.get, "/readyz").status == 503)
            #expect(try await operators.send(.get, "/livez").status == 200)
        }
    }

    @Test func `the operators' address knows nothing else`() async throws {
        try await TestHarness.open { harness in
            let operators = App(client: harness.admin, token: nil)
            #expect(try await operators.send(.get, "/v1/customer").status == 404)
            #expect(try await operators.send(.get, "/").status == 404)
            let post = try await operators.send(.post, "/readyz")
            #expect(post.status == 405)
            #expect(post.response.headers["allow"] == "GET, HEAD")
        }
    }
}
