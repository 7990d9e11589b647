import BelvoSandbox
import HTTP
import Postgres
import TestSupport
import Testing
import Transport

/// More is asked than the server may have under way: some are told to come again, and other users do not notice.
@Suite(.timeLimit(.minutes(2))) struct CrowdedTests {
    @Test func `past the number of requests under way others are told to come again, and probes are answered`()
        async throws
    {
        try await TestHarness.open(environment: ["HTTP_REQUESTS_IN_FLIGHT_MAX": "1"]) { harness in
            try await harness.withOneUnderWay { ana in
                let bia = try await harness.app(of: "bia")
                for path in ["/v1/customer", "/openapi.json", "/orders/1"] {
                    let answer = try await bia.send(.get, path)
                    #expect(answer.status == 503, "\(path)")
                    #expect(try answer.string("code") == "busy")
                    #expect(answer.response.headers["retry-after"] == "1")
                }
                #expect(try await bia.send(.get, "/livez").status == 200)
                #expect(try await bia.send(.get, "/readyz").status == 200)
            }
            #expect(try await harness.app(of: "bia").send(.get, "/v1/customer").status == 404)
        }
    }

    @Test func `past a user's share he is told to come again, and others are answered`() async throws {
        try await TestHarness.open(environment: ["HTTP_REQUESTS_IN_FLIGHT_PER_USER_MAX": "1"]) { harness in
            try await harness.withOneUnderWay { ana in
                let answer = try await ana.send(.get, "/v1/customer")
                #expect(answer.status == 429)
                #expect(try answer.string("code") == "rate_limited")
                #expect(answer.response.headers["retry-after"] == "1")
                #expect(try await harness.app(of: "bia").send(.get, "/v1/customer").status == 404)
            }
            #expect(try await harness.app(of: "ana").send(.get, "/v1/customer").status == 200)
        }
    }

    @Test func `past the number of long polls more are shed before anything is read, and the others wait on`()
        async throws
    {
        try await TestHarness.open(environment: ["HTTP_LONG_POLLS_MAX": "1"]) { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let path = "/v1/enrollments/\(enrollment.id)"
            let seen = try await client.enrollment(enrollment)
            async let waited = client.app.wait(path, unlike: seen)
            try await harness.awaitWatchers(1)
            let shed = try await client.app.wait(path, unlike: seen)
            #expect(shed.status == 503)
            #expect(try shed.string("code") == "busy")
            #expect(shed.response.headers["retry-after"] == "2")
            // Asking without waiting is what is left, and it works.
            #expect(try await client.app.send(.get, path).status == 200)
            try await client.complete(client.decide(enrollment))
            #expect(try await waited.status == 200)
            try await harness.awaitWatchers(0)
        }
    }

    @Test func `a long poll has its place among the user's requests until it is answered or given up`() async throws {
        try await TestHarness.open(environment: ["HTTP_REQUESTS_IN_FLIGHT_PER_USER_MAX": "1"]) { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let path = "/v1/enrollments/\(enrollment.id)"
            let seen = try await client.enrollment(enrollment)
            let tag = try #require(seen.tag)
            let connection = try harness.connect()
            try connection.send(
                """
                GET \(path)?wait=30 HTTP/1.1\r\nHost: a\r\nIf-None-Match: \(tag)\r
                Authorization: Bearer \(client.app.token ?? "")\r\n\r\n
                """)
            try await harness.awaitWatchers(1)
            #expect(try await client.app.send(.get, path).status == 429)
            connection.hangUp()
            try await harness.awaitWatchers(0)
            #expect(try await client.app.send(.get, path).status == 200)
            async let waited = client.app.wait(path, unlike: seen)
            try await harness.awaitWatchers(1)
            #expect(try await client.app.send(.get, path).status == 429)
            _ = try await harness.browser().follow(client.decide(enrollment))
            #expect(try await waited.status == 200)
            #expect(try await client.app.send(.get, path).status == 200)
        }
    }

    @Test func `who has waited too long is told to come again, and what was begun is done and recorded`() async throws {
        let limits = ["HTTP_HANDLER_DEADLINE_MS": "100", "BELVO_TIMEOUT_MS": "100"]
        try await TestHarness.open(environment: limits) { harness in
            let ana = try await harness.app(of: "ana")
            let told = try await harness.database.transaction { transaction in
                try await transaction.standStill()
                try await transaction.execute("LOCK TABLE customers")
                return try await ana.send(.put, "/v1/customer", AppClient.customerBody())
            }
            #expect(told.status == 503)
            #expect(try told.string("code") == "busy")
            #expect(told.response.headers["retry-after"] == "1")
            #expect(told.response.headers["connection"] == "close")
            try await harness.awaitCondition { harness.sandbox.calls.contains { $0.endpoint == .createCustomer } }
            try await harness.awaitCondition { try await ana.send(.get, "/v1/customer").status == 200 }
        }
    }

    @Test func `a connection too many is told so in the API's own words`() async throws {
        // A proxy's connection makes no room, be it idle.
        let environment = ["HTTP_CONNECTIONS_MAX": "1", "TRUSTED_PROXIES": "127.0.0.1"]
        try await TestHarness.open(environment: environment) { harness in
            let first = try harness.connect()
            try first.send("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await onThread { try first.receive(through: "}") }
            let second = try harness.connect()
            let answer = try await onThread { try second.receiveToEnd() }
            #expect(answer.hasPrefix("HTTP/1.1 503 Service Unavailable\r\n"))
            #expect(answer.contains("\r\nretry-after: 1\r\n"))
            #expect(answer.contains("\r\ncontent-type: application/problem+json\r\n"))
            #expect(answer.contains(#""code":"busy""#))
        }
    }

    @Test func `one address has its share of connections, unless it is a trusted proxy`() async throws {
        for (proxies, status) in [("10.0.0.0/8", "503"), ("127.0.0.0/8", "200")] {
            let environment = ["HTTP_CONNECTIONS_PER_ADDRESS_MAX": "1", "TRUSTED_PROXIES": proxies]
            try await TestHarness.open(environment: environment) { harness in
                let connections = try (0..<2).map { _ in try harness.connect() }
                try connections[0].send("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
                _ = try await onThread { try connections[0].receive(through: "}") }
                try connections[1].send("GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                let answer = try await onThread { try connections[1].receiveToEnd() }
                #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(proxies)")
            }
        }
    }

    @Test func `what a message may be is set from outside`() async throws {
        let environment = [
            "HTTP_REQUEST_LINE_BYTES_MAX": "50", "HTTP_HEADER_BYTES_MAX": "100", "HTTP_HEADER_COUNT_MAX": "5",
            "HTTP_BODY_BYTES_MAX": "10",
        ]
        try await TestHarness.open(environment: environment) { harness in
            for (request, status) in [
                ("GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 200),
                ("GET /\(String(repeating: "a", count: 50)) HTTP/1.1\r\nHost: a\r\n\r\n", 414),
                ("GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "a", count: 100))\r\n\r\n", 431),
                ("GET / HTTP/1.1\r\nHost: a\r\n\(String(repeating: "X: a\r\n", count: 5))\r\n", 431),
                ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n", 413),
            ] {
                let connection = try harness.connect()
                try connection.send(request)
                let answer = try await onThread { try connection.receiveToEnd() }
                #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(request)")
            }
        }
    }
}

extension TestHarness {
    /// Plays the body while ana's request to become a customer waits for Belvo.
    fileprivate func withOneUnderWay(_ body: (App) async throws -> Void) async throws {
        let ana = try await app(of: "ana")
        sandbox.next(.delayAnswer(.seconds(2)), on: .createCustomer)
        async let created = ana.send(.put, "/v1/customer", AppClient.customerBody())
        try await awaitCondition { !sandbox.calls.isEmpty }
        try await body(ana)
        #expect(try await created.status == 201)
    }
}
