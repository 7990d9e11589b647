import BelvoSandbox
import HTTP
import Postgres
import Testing

@testable import MerchantServer

/// A user who asks too often is told when to come again, and other users do not notice.
@Suite struct UserRateTests {
    @Test func `past its rate a user is told to wait, and for how long`() async throws {
        let clock = HandClock()
        try await TestHarness.open(environment: ["USER_RATE": "2"], clock: clock.intervals) { harness in
            let (ana, bia) = (try await harness.app(of: "ana"), try await harness.app(of: "bia"))
            // Whatever is asked for counts, also what there is not.
            for path in ["customer", "enrollments", "payment-intents", "payment-intents/x"] {
                #expect([200, 404].contains(try await ana.send(.get, "/v1/\(path)").status), "\(path)")
            }
            for (method, path) in [(.get, "customer"), (.post, "enrollments"), (.put, "customer")]
                as [(HTTP.Method, String)]
            {
                let answer = try await ana.send(method, "/v1/\(path)", method == .get ? nil : "{}")
                Transcript().expect(
                    answer,
                    """
                    429 Too Many Requests
                    {
                      type: "urn:merchant:problem:rate_limited"
                      title: "Too Many Requests"
                      status: 429
                      detail: "This user has made too many requests."
                      code: "rate_limited"
                      request_id: "\(answer.response.headers["x-request-id"] ?? "")"
                    }
                    """)
                // Half a second, in whole ones.
                #expect(answer.response.headers["retry-after"] == "1")
                #expect(answer.response.headers["content-type"] == "application/problem+json")
            }
            #expect(harness.sandbox.calls.isEmpty)
            #expect(try await bia.send(.get, "/v1/enrollments").status == 200)
            #expect(try await App(client: harness.client, token: nil).send(.get, "/livez").status == 200)
            clock.advance(by: .milliseconds(499))
            #expect(try await ana.send(.get, "/v1/enrollments").status == 429)
            clock.advance(by: .milliseconds(1))
            #expect(try await ana.send(.get, "/v1/enrollments").status == 200)
            #expect(try await ana.send(.get, "/v1/enrollments").status == 429)
        }
    }

    @Test func `a request counts once, also with a question mark and nothing behind it`() async throws {
        let clock = HandClock()
        try await TestHarness.open(environment: ["USER_RATE": "2"], clock: clock.intervals) { harness in
            let app = try await harness.app(of: "ana")
            for query in ["?", "?&", "?", "?"] {
                #expect(try await app.send(.get, "/v1/customer\(query)").status == 404, "\(query)")
            }
            #expect(try await app.send(.get, "/v1/customer").status == 429)
        }
    }

    @Test func `all tokens of a user count together, and bad ones not at all`() async throws {
        let clock = HandClock()
        try await TestHarness.open(environment: ["USER_RATE": "1"], clock: clock.intervals) { harness in
            let credentials = Credentials(of: harness.settings.auth)
            let claims = credentials.good("ana")
            let phones = try (1...3).map { number in
                App(client: harness.client, token: try credentials.forge().token(claims.with("jti", "\(number)")))
            }
            let forger = App(client: harness.client, token: try TokenForge.unsigned.token(claims))
            for _ in 0..<5 { #expect(try await forger.send(.get, "/v1/enrollments").status == 401) }
            var statuses: [Int] = []
            for phone in phones { statuses.append(try await phone.send(.get, "/v1/enrollments").status) }
            #expect(statuses == [200, 200, 429])
            #expect(try await forger.send(.get, "/v1/enrollments").status == 401)
        }
    }

    @Test func `a request that came too often has not used up its key`() async throws {
        let clock = HandClock()
        try await TestHarness.open(environment: ["USER_RATE": "20"], clock: clock.intervals) { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            while try await client.app.send(.get, "/v1/enrollments").status != 429 {}
            let keys = SQL(trusted: "SELECT count(*) AS count FROM idempotency_keys")
            let before = try await harness.database.rows(keys).map { try $0.decode("count", as: Int64.self) }
            #expect(try await client.requestPayment(enrollment).status == 429)
            #expect(try await harness.database.rows(keys).map { try $0.decode("count", as: Int64.self) } == before)
            clock.advance(by: .seconds(1))
            let paid = try await client.requestPayment(enrollment)
            #expect(paid.status == 201)
            #expect(paid.response.headers["idempotent-replayed"] == nil)
            // What was answered once is not answered over again for the asking.
            while try await client.app.send(.get, "/v1/enrollments").status != 429 {}
            #expect(try await client.requestPayment(enrollment).status == 429)
            clock.advance(by: .seconds(1))
            #expect(try await client.requestPayment(enrollment).response.headers["idempotent-replayed"] == "true")
        }
    }
}
