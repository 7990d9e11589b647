import BelvoSandbox
import HTTP
import Postgres
import TestSupport
import Testing

/// Where banks hide the `state`, redirects invented by the hundred keep no honest one waiting for all of them.
@Suite(.timeLimit(.minutes(2))) struct StrangersTurnTests {
    private static let environment = ["TRUSTED_PROXIES": "127.0.0.1"]

    /// A browser's request from one of the addresses 203.0.113.0/24.
    private func open(_ query: String, from address: Int, on harness: TestHarness) async throws -> Answer {
        try await App(client: harness.client, token: nil).send(
            .get, "\(Browser.path)?\(query)",
            headers: ["x-forwarded-for": "203.0.113.\(address)", "accept-language": "en"])
    }

    /// Belvo asks strangers for silence, so that what they bring has to wait.
    private func silence(_ harness: TestHarness) async throws {
        harness.sandbox.next(.tooManyRequests(retryAfter: 60), on: .completeRedirection)
        #expect(try await open("state=first&code=c", from: 99, on: harness).text.contains("<h1>Almost there</h1>"))
    }

    private func rows(_ condition: SQL, on harness: TestHarness) async throws -> Int {
        try await harness.database.rows("SELECT id FROM redirect_receipts WHERE \(fragment: condition)").count
    }

    @Test func `an honest redirect waits for one of each sender's, and not for all that they have brought`()
        async throws
    {
        try await TestHarness.open(environment: Self.environment) { harness in
            harness.sandbox.variants.redirect = .pushedAuthorization
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            try await silence(harness)
            for address in 1...3 {
                for number in 0..<6 {
                    let page = try await open("state=s\(address)-\(number)&code=c", from: address, on: harness)
                    #expect(page.text.contains("<h1>Almost there</h1>"))
                }
            }
            let page = try await open(Browser.form(client.decide(enrollment)), from: 200, on: harness)
            #expect(page.status == 200 && page.text.contains("<h1>Almost there</h1>"))
            // Another server takes them in the same order: a pass has eight of the twenty.
            try await harness.withAnotherInstance { other in
                try await other.advance(by: .seconds(61))
                try await other.work()
                #expect(try await rows("outcome IN ('refused', 'taken')", on: harness) == 8)
                #expect(try await rows("outcome = 'taken'", on: harness) == 1)
            }
            try await client.awaitOptions(of: enrollment)
            #expect(try await client.enrollment(enrollment).string("next_action", "type") == "register")
        }
    }

    @Test func `while others are due a new redirect waits for its turn, brought again or not`() async throws {
        try await TestHarness.open(environment: Self.environment) { harness in
            harness.sandbox.variants.redirect = .pushedAuthorization
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            try await silence(harness)
            try await harness.advance(by: .seconds(80))
            let reply = Browser.form(try client.decide(enrollment))
            for _ in 0..<2 {
                #expect(try await open(reply, from: 200, on: harness).text.contains("<h1>Almost there</h1>"))
            }
            let body = #"{"state": "s5", "code": "c", "id_token": "t"}"#
            #expect(try await client.app.send(.post, "/v1/enrollments/complete-redirection", body).status == 202)
            #expect(harness.countCalls(.completeRedirection) == 1)
            try await harness.work()
            #expect(harness.countCalls(.completeRedirection) == 4)
            #expect(try await rows("outcome = 'taken' AND enrollment_id IS NOT NULL", on: harness) == 1)
            // Where none waits it is passed on at once.
            #expect(try await open("state=last&code=c", from: 7, on: harness).status == 422)
        }
    }

    @Test func `the more room an address has the less it gets, and a new one finds some`() async throws {
        let environment = Self.environment.merging(["UNKNOWN_REDIRECTS_MAX": "13"]) { $1 }
        try await TestHarness.open(environment: environment) { harness in
            try await silence(harness)
            func tries(from address: Int) async throws -> [Int] {
                var statuses: [Int] = []
                for number in 0..<4 {
                    statuses.append(
                        try await open("state=s\(address)-\(number)&code=c", from: address, on: harness).status)
                }
                return statuses
            }
            #expect(try await tries(from: 1) == [200, 200, 200, 503])
            #expect(try await tries(from: 2) == [200, 200, 503, 503])
            for address in 3...9 { #expect(try await tries(from: address) == [200, 503, 503, 503]) }
            #expect(try await tries(from: 10) == [503, 503, 503, 503])
        }
    }

    @Test func `who brought a redirect is kept as a digest, and only as long as it waits`() async throws {
        try await TestHarness.open(environment: Self.environment) { harness in
            try await silence(harness)
            _ = try await open("state=other&code=c", from: 99, on: harness)
            let digests = try await harness.lines(
                "SELECT DISTINCT encode(sender_lookup, 'hex') AS line FROM redirect_receipts")
            #expect(digests.count == 1 && digests[0].count == 64)
            let client = try await AppClient.arrive(on: harness)
            let body = #"{"state": "s5", "code": "c", "id_token": "t"}"#
            _ = try await client.app.send(.post, "/v1/enrollments/complete-redirection", body)
            #expect(try await rows("posted_by IS NOT NULL AND sender_lookup IS NULL", on: harness) == 1)
            try await harness.pass(.seconds(80))
            #expect(try await rows("outcome = 'refused' AND sender_lookup IS NULL", on: harness) == 3)
        }
    }

    @Test func `so many redirects of one enrollment wait, whoever has found its state`() async throws {
        try await TestHarness.open(environment: Self.environment) { harness in
            let client = try await AppClient.arrive(on: harness)
            let reply = try await client.decide(client.startEnrollment())
            let state = try #require(reply["state"])
            harness.sandbox.next(.tooManyRequests(retryAfter: 60), on: .completeRedirection)
            for number in 0..<10 {
                let page = try await open("state=\(state)&code=c\(number)", from: number, on: harness)
                #expect(page.status == 200)
            }
            let full = try await open("state=\(state)&code=c11", from: 11, on: harness)
            #expect(full.status == 429 && full.text.contains("<h1>Just a moment</h1>"))
            #expect(full.response.headers["retry-after"] == "60")
            #expect(try await open("state=\(state)&code=c1", from: 11, on: harness).status == 200)
            #expect(try await rows("enrollment_id IS NOT NULL", on: harness) == 10)
            let other = try await client.startEnrollment()
            _ = try await client.complete(client.decide(other))
            #expect(try await rows("enrollment_id IS NOT NULL", on: harness) == 11)
        }
    }

    @Test func `so many redirects of one enrollment come within a day`() async throws {
        try await TestHarness.open(environment: Self.environment) { harness in
            let client = try await AppClient.arrive(on: harness)
            let reply = try await client.decide(client.startEnrollment())
            let state = try #require(reply["state"])
            for number in 0..<20 {
                #expect(try await open("state=\(state)&code=c\(number)", from: number, on: harness).status == 422)
            }
            #expect(try await open("state=\(state)&code=c21", from: 1, on: harness).status == 429)
            let posted = try await client.complete(reply)
            #expect(posted.status == 429)
            #expect(try posted.string("code") == "rate_limited")
            #expect(harness.countCalls(.completeRedirection) == 20)
            #expect(try await rows("true", on: harness) == 20)
            try await harness.advance(by: .seconds(86_401))
            #expect(try await client.complete(reply).status == 200)
        }
    }
}
