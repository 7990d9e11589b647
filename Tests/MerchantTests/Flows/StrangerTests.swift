import BelvoSandbox
import HTTP
import Postgres
import TestSupport
import Testing

@testable import BelvoGate
@testable import MerchantServer
@testable import MerchantWorkflows

/// Clients without a token, or with a wrong one, keep no other client from being served.
@Suite(.timeLimit(.minutes(2))) struct StrangerTests {
    private func stranger(_ harness: TestHarness) -> App { App(client: harness.client, token: nil) }

    @Test func `past its rate an address is told to wait, and whoever has a good token is not`() async throws {
        let clock = HandClock()
        try await TestHarness.open(environment: ["ADDRESS_RATE": "2"], clock: clock.intervals) { harness in
            let ana = try await harness.app(of: "ana")
            for path in ["/openapi.json", "/v1/customer", "/nowhere", "/.well-known/assetlinks.json"] {
                #expect(try await stranger(harness).send(.get, path).status != 429, "\(path)")
            }
            for path in ["/openapi.json", "/v1/customer", "/nowhere", "/v1/widget-token"] {
                let answer = try await stranger(harness).send(.get, path)
                #expect(answer.status == 429, "\(path)")
                #expect(try answer.string("code") == "rate_limited")
                #expect(answer.response.headers["retry-after"] == "1")
            }
            #expect(try await ana.send(.get, "/v1/enrollments").status == 200)
            #expect(try await stranger(harness).send(.get, "/livez").status == 200)
            #expect(try await stranger(harness).send(.get, "/readyz").status == 200)
            clock.advance(by: .milliseconds(500))
            #expect(try await stranger(harness).send(.get, "/openapi.json").status == 200)
            #expect(try await stranger(harness).send(.get, "/openapi.json").status == 429)
        }
    }

    @Test(arguments: [false, true])
    func `an address's probes have a rate of their own, and a trusted proxy's have none`(isProxy: Bool) async throws {
        let clock = HandClock()
        let environment = ["ADDRESS_RATE": "20", "TRUSTED_PROXIES": isProxy ? "127.0.0.1" : "127.0.0.2"]
        try await TestHarness.open(environment: environment, clock: clock.intervals) { harness in
            var statuses: [Int] = []
            for number in 0..<202 {
                let path = number.isMultiple(of: 2) ? "/livez" : "/readyz"
                statuses.append(try await stranger(harness).send(.get, path).status)
            }
            #expect(statuses == Array(repeating: 200, count: 200) + Array(repeating: isProxy ? 200 : 429, count: 2))
            #expect(try await stranger(harness).send(.get, "/openapi.json").status == 200)
            clock.advance(by: .milliseconds(10))
            #expect(try await stranger(harness).send(.get, "/livez").status == 200)
        }
    }

    @Test func `an address past its rate that does not wait for answers is not read from`() async throws {
        let clock = HandClock()
        try await TestHarness.open(environment: ["ADDRESS_RATE": "1"], clock: clock.intervals) { harness in
            let connection = try harness.connect()
            try connection.send(String(repeating: "GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n", count: 1_000))
            _ = try await onThread { for _ in 0..<7 { try connection.receive(through: "\r\n\r\n") } }
            #expect(try await harness.app(of: "ana").send(.get, "/v1/enrollments").status == 200)
            // Five, and one more for each second that this took.
            let metrics = try await App(client: harness.admin, token: nil).send(.get, "/metrics").text
            let line = metrics.split(separator: "\n").first { $0.hasPrefix("merchant_strangers_refused_total ") }
            let refused = try #require(line?.split(separator: " ").last.flatMap { Int($0) })
            #expect((5...15).contains(refused))
        }
    }

    @Test func `an address behind a trusted proxy is the client's, and an IPv6 network is one`() async throws {
        let clock = HandClock()
        let environment = ["ADDRESS_RATE": "1", "TRUSTED_PROXIES": "127.0.0.1"]
        try await TestHarness.open(environment: environment, clock: clock.intervals) { harness in
            func status(_ address: String) async throws -> Int {
                try await stranger(harness).send(.get, "/nowhere", headers: ["x-forwarded-for": "\(address)"]).status
            }
            var statuses: [Int] = []
            for number in 1...3 { statuses.append(try await status("2001:db8::\(number):1")) }
            #expect(statuses == [404, 404, 429])
            #expect(try await status("2001:db8:0:1::1") == 404)
            #expect(try await status("203.0.113.7") == 404)
        }
    }

    @Test func `a browser that comes too often gets a page that comes again by itself`() async throws {
        let clock = HandClock()
        try await TestHarness.open(environment: ["ADDRESS_RATE": "1"], clock: clock.intervals) { harness in
            let client = try await AppClient.arrive(on: harness)
            let reply = try await client.decide(client.startEnrollment())
            for _ in 0..<3 { _ = try await stranger(harness).send(.get, "/nowhere") }
            let page = try await harness.browser().follow(reply)
            #expect(page.status == 429 && page.text.contains("<h1>Just a moment</h1>"))
            #expect(page.response.headers["retry-after"] == "1")
            #expect(page.text.contains("http-equiv=\"refresh\""))
            clock.advance(by: .seconds(1))
            #expect(try await harness.browser().follow(reply).text.contains("<h1>Bank confirmed</h1>"))
        }
    }

    @Test func `guessing at a shared token goes on at an address's rate, and locks its holder out nowhere`()
        async throws
    {
        let clock = HandClock()
        let token = "shop-token-of-the-tests"
        let environment = ["ADDRESS_RATE": "1", "SHOP_TOKEN": token, "TRUSTED_PROXIES": "127.0.0.1"]
        try await TestHarness.open(environment: environment, clock: clock.intervals) { harness in
            func ask(_ token: String, from address: String) async throws -> Int {
                try await App(client: harness.client, token: token)
                    .send(.get, "/orders/1", headers: ["x-forwarded-for": "\(address)"]).status
            }
            var guesses: [Int] = []
            for number in 0..<4 { guesses.append(try await ask("guess-\(number)", from: "203.0.113.7")) }
            #expect(guesses == [401, 401, 429, 429])
            // The right one is not even compared.
            #expect(try await ask(token, from: "203.0.113.7") == 429)
            #expect(try await ask(token, from: "203.0.113.8") == 404)
            for number in 0..<4 { _ = try await ask("guess-\(number)", from: "203.0.113.8") }
            #expect(try await ask(token, from: "203.0.113.8") == 404)
            clock.advance(by: .seconds(1))
            #expect(try await ask(token, from: "203.0.113.7") == 404)
        }
    }

    @Test func `an address brings so many new redirects, the same ones again are not counted`() async throws {
        let clock = HandClock()
        try await TestHarness.open(environment: ["ADDRESS_RATE": "1000"], clock: clock.intervals) { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let reply = try client.decide(enrollment)
            var pages: [Int] = []
            for number in 0..<22 { pages.append(try await harness.browser().open("?state=s\(number)&code=c").status) }
            #expect(pages == Array(repeating: 422, count: 20) + [429, 429])
            #expect(try await harness.browser().open("?state=s1&code=c").status == 422)
            #expect(harness.countCalls(.completeRedirection) == 20)
            // A known one is its enrollment's, and has a count of its own.
            for _ in 0..<30 { #expect(try await harness.browser().follow(reply).status == 200) }
            let state = try #require(reply["state"])
            var forged: [Int] = []
            for number in 0..<20 {
                forged.append(try await harness.browser().open("?state=\(state)&code=c\(number)").status)
            }
            #expect(forged.suffix(1) == [429] && forged.count { $0 == 429 } == 1)
        }
    }

    @Test func `however many addresses they come from, so many unknown redirects are new`() async throws {
        let clock = HandClock()
        let environment = ["ADDRESS_RATE": "1000", "TRUSTED_PROXIES": "127.0.0.1"]
        try await TestHarness.open(environment: environment, clock: clock.intervals) { harness in
            func open(_ query: String, from address: Int) async throws -> Int {
                try await stranger(harness).send(
                    .get, "/enrollments/callback?\(query)", headers: ["x-forwarded-for": "203.0.113.\(address)"]
                ).status
            }
            var pages: [Int] = []
            for number in 0..<102 { pages.append(try await open("state=s\(number)&code=c", from: number)) }
            #expect(pages.count { $0 == 422 } == 100 && pages.suffix(2) == [429, 429])
            let client = try await AppClient.arrive(on: harness)
            let reply = try await client.decide(client.startEnrollment())
            #expect(try await open(Browser.form(reply), from: 200) == 200)
            clock.advance(by: .milliseconds(50))
            #expect(try await open("state=other&code=c", from: 201) == 422)
            #expect(try await open("state=another&code=c", from: 202) == 429)
        }
    }

    @Test(arguments: [
        Fault.tooManyRequests(retryAfter: 3_600), .refused(500, code: "unexpected"), .dropAnswer,
        .refused(401, code: "authentication_failed"),
    ])
    func `what Belvo answers to made-up redirects stops nobody else`(fault: Fault) async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            harness.sandbox.next(fault, on: .completeRedirection, count: nil)
            for number in 0..<20 { _ = try await harness.browser().open("?state=s\(number)&code=c") }
            #expect(harness.countCalls(.completeRedirection) < 1 + CircuitBreaker.callsMin + 2)
            #expect(harness.merchant.dependencies.gate.isShutForStrangers)
            harness.sandbox.clearFaults()
            let payment = try await client.openPayment(enrollment)
            #expect(try await client.authorize(payment).status == 204)
            let other = try await client.startEnrollment()
            #expect(try await harness.browser().follow(client.decide(other)).text.contains("<h1>Bank confirmed</h1>"))
            #expect(!harness.log.all.contains { $0.hasPrefix("belvo.") && !$0.contains("caller=stranger") })
        }
    }

    @Test func `so many redirects of nobody's wait for Belvo, and those of known enrollments find room`() async throws {
        let environment = ["UNKNOWN_REDIRECTS_MAX": "3", "TRUSTED_PROXIES": "127.0.0.1"]
        try await TestHarness.open(environment: environment) { harness in
            func open(_ number: Int) async throws -> Answer {
                try await stranger(harness).send(
                    .get, "/enrollments/callback?state=s\(number)&code=c",
                    headers: ["x-forwarded-for": "203.0.113.\(number)", "accept-language": "en"])
            }
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            harness.sandbox.next(.tooManyRequests(retryAfter: 60), on: .completeRedirection)
            for number in 0..<3 {
                let page = try await open(number)
                #expect(page.status == 200 && page.text.contains("<h1>Almost there</h1>"))
            }
            let full = try await open(4)
            #expect(full.status == 503 && full.text.contains("<h1>Just a moment</h1>"))
            #expect(full.response.headers["retry-after"] == "10")
            #expect(try await open(1).status == 200)
            // An app's has room of its own.
            let body = #"{"state": "s5", "code": "c", "id_token": "t"}"#
            let posted = try await client.app.send(.post, "/v1/enrollments/complete-redirection", body)
            #expect(try posted.string("code") == "belvo_unavailable")
            #expect(
                try await harness.browser().follow(client.decide(enrollment)).text.contains("<h1>Bank confirmed</h1>"))
            // While their calls would be kept here nothing is written for them.
            let versions = SQL(trusted: "SELECT sum(version)::bigint AS sum FROM redirect_receipts")
            try await harness.poll()
            let before = try await harness.database.rows(versions).first?.decode("sum", as: Int64.self)
            #expect(harness.countCalls(.completeRedirection) == 2)
            try await harness.pass(.seconds(80))
            #expect(harness.countCalls(.completeRedirection) == 6)
            #expect(before != nil)
            #expect(try await open(4).status == 422)
        }
    }

    @Test func `what nobody's redirects leave is let go of after an hour`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            _ = try await harness.browser().follow(client.decide(client.startEnrollment()))
            _ = try await harness.browser().open("?state=nobodys&code=c")
            let retention = Retention(store: harness.merchant.dependencies.store, log: harness.log.logger)
            func count() async throws -> Int {
                try await harness.database.rows("SELECT id FROM redirect_receipts").count
            }
            try await harness.advance(by: .seconds(3_590))
            _ = try await retention.runOnce()
            #expect(try await count() == 2)
            try await harness.advance(by: .seconds(20))
            _ = try await retention.runOnce()
            #expect(try await count() == 1)
        }
    }

    @Test func `a flood of failures fills no log, and the log says how much it left out`() async throws {
        let clock = HandClock()
        try await TestHarness.open(clock: clock.intervals) { harness in
            harness.sandbox.next(.refused(500, code: "unexpected"), on: .createWidgetToken, count: nil)
            let ana = try await harness.app(of: "ana")
            for _ in 0..<130 { _ = try await ana.send(.post, "/v1/widget-token") }
            func lines(_ event: String) -> [String] { harness.log.all.filter { $0.hasPrefix("\(event) ") } }
            #expect(lines("request.failed").count == Int(LogThrottle.rate.burst))
            clock.advance(by: .milliseconds(100))
            _ = try await ana.send(.post, "/v1/widget-token")
            #expect(lines("request.failed").last?.contains("lines_left_out=30 ") == true)
            for _ in 0..<5 { _ = try await ana.send(.post, "/v1/widget-token") }
            harness.merchant.tellOfLinesLeftOut()
            #expect(lines("log.lines_left_out") == ["log.lines_left_out lines=5 of=request.failed"])
        }
    }
}
