import BelvoSandbox
import HTTP
import Testing

/// Operators see where a refused or failed request came from, and no more of it.
@Suite struct RefusalLogTests {
    @Test(arguments: [("", "127.0.0.1"), ("127.0.0.0/8", "203.0.113.7")])
    func `a refusal is logged with the client's address, which only a trusted proxy may tell`(
        proxies: String, client: String
    ) async throws {
        let clock = HandClock()
        let environment = proxies.isEmpty ? [:] : ["TRUSTED_PROXIES": proxies]
        try await TestHarness.open(environment: environment, clock: clock.intervals) { harness in
            let stranger = App(client: harness.client, token: "no.such.token")
            let answer = try await stranger.send(
                .get, "/v1/enrollments?device_id=secret-device",
                headers: ["x-forwarded-for": "198.51.100.1, 203.0.113.7", "x-request-id": "r-1"])
            #expect(answer.status == 401)
            #expect(
                harness.troubles == [
                    "request.refused client=\(client) code=unauthorized method=GET path=/v1/enrollments "
                        + "reason=the token is no JSON Web Token in compact form request_id=r-1 status=401"
                ])
        }
    }

    @Test func `a failure is logged with the client's address`() async throws {
        try await TestHarness.open(environment: ["TRUSTED_PROXIES": "127.0.0.1"]) { harness in
            harness.sandbox.next(.refused(500, code: "unexpected"), on: .listInstitutions)
            let app = try await harness.app(of: "ana")
            let answer = try await app.send(.get, "/v1/institutions", headers: ["x-forwarded-for": "203.0.113.7"])
            #expect(answer.status == 503)
            let lines = harness.troubles
            #expect(lines.count == 1)
            #expect(lines.allSatisfy { $0.hasPrefix("request.failed client=203.0.113.7 code=belvo_unavailable") })
        }
    }

    @Test func `one client's refusals fill no log, and hide nobody else's`() async throws {
        let clock = HandClock()
        try await TestHarness.open(environment: ["TRUSTED_PROXIES": "127.0.0.1"], clock: clock.intervals) { harness in
            let stranger = App(client: harness.client, token: nil)
            func lines() -> Int { harness.log.all.filter { $0.hasPrefix("request.refused") }.count }
            for _ in 0..<50 { #expect(try await stranger.send(.get, "/v1/customer").status == 401) }
            #expect(lines() == 2)
            _ = try await stranger.send(.get, "/v1/customer", headers: ["x-forwarded-for": "203.0.113.7"])
            #expect(lines() == 3)
            clock.advance(by: .seconds(1))
            for _ in 0..<50 { _ = try await stranger.send(.get, "/v1/customer") }
            #expect(lines() == 4)
            // All addresses of one IPv6 network are one client's.
            for number in 1...9 {
                let address = "2001:db8::\(number):1"
                _ = try await stranger.send(.get, "/v1/customer", headers: ["x-forwarded-for": address])
            }
            #expect(lines() == 6)
        }
    }

    @Test func `what is nobody's trial is not logged`() async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            #expect(try await app.send(.get, "/v1/nothing").status == 404)
            #expect(try await app.send(.put, "/v1/customer", "{}").status == 400)
            #expect(try await app.send(.delete, "/v1/customer").status == 405)
            #expect(harness.troubles.isEmpty)
        }
    }
}

extension TestHarness {
    /// The log's lines about requests that failed.
    fileprivate var troubles: [String] {
        log.all.filter { $0.hasPrefix("request.") && !$0.hasPrefix("request.answered") }
    }
}
