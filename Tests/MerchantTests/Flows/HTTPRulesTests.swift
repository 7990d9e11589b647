import BelvoSandbox
import HTTP
import Testing

@testable import MerchantModel

/// How the API keeps to HTTP: paths, methods, sizes, parameters and request ids.
@Suite struct HTTPRulesTests {
    @Test func `what does not exist is 404, with a problem document`() async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            for path in [
                "/", "/v1", "/v1/customers", "/v1/enrollments//confirm", "/v2/customer", "/v1/customer/x", "//",
            ] {
                let answer = try await app.send(.get, path)
                #expect(answer.status == 404, "\(path)")
                #expect(try answer.string("code") == "not_found", "\(path)")
                #expect(try answer.string("request_id") == answer.response.headers["x-request-id"], "\(path)")
            }
        }
    }

    @Test func `a method that a path does not know is 405, and the answer names those that it knows`() async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            let allowed = [
                "/v1/widget-token": "POST", "/v1/institutions": "GET, HEAD", "/v1/customer": "GET, HEAD, PUT",
                "/v1/enrollments": "GET, HEAD, POST", "/v1/enrollments/x": "GET, HEAD",
                "/v1/enrollments/complete-redirection": "POST", "/v1/enrollments/x/confirm": "POST",
                "/v1/enrollments/x/fido-registration-options": "GET, HEAD", "/v1/payment-intents": "GET, HEAD, POST",
                "/v1/payment-intents/x": "GET, HEAD", "/v1/payment-intents/x/authorize": "POST",
                "/enrollments/callback": "GET, HEAD, POST", "/livez": "GET, HEAD", "/readyz": "GET, HEAD",
                "/.well-known/apple-app-site-association": "GET, HEAD", "/.well-known/assetlinks.json": "GET, HEAD",
                "/openapi.json": "GET, HEAD",
            ]
            for (path, methods) in allowed {
                let answer = try await app.send(.delete, path)
                #expect(answer.status == 405, "\(path)")
                #expect(answer.response.headers["allow"] == methods, "\(path)")
            }
        }
    }

    @Test func `a trailing slash means the same as none`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            for path in ["/v1/customer", "/v1/enrollments", "/v1/enrollments/\(enrollment.id)", "/livez"] {
                let (plain, slashed) = (
                    try await client.app.send(.get, path), try await client.app.send(.get, path + "/")
                )
                #expect(slashed.status == 200 && slashed.text == plain.text, "\(path)")
            }
        }
    }

    @Test func `a body past 64 KiB is 413, and one of exactly 64 KiB is read`() async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            let head = #"{"name": "Ana", "padding": ""#
            let fits = head + String(repeating: "x", count: 65_536 - head.utf8.count - 2) + #""}"#
            #expect(try await app.send(.put, "/v1/customer", fits).status == 400)
            let large = try await app.send(.put, "/v1/customer", fits + " ")
            #expect(large.status == 413)
            #expect(try large.string("code") == "body_too_large")
        }
    }

    @Test func `a query parameter that nobody knows is refused, as is one that comes twice`() async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            for (query, field, code) in [
                ("colour=red", "?colour", "unknown_parameter"), ("limit=1&limit=2", "?limit", "repeated"),
                ("limit=0", "?limit", "out_of_range"), ("limit=101", "?limit", "out_of_range"),
                ("limit=-1", "?limit", "out_of_range"), ("limit=%2B1", "?limit", "out_of_range"),
                ("limit=", "?limit", "out_of_range"), ("limit=99999999999999999999", "?limit", "out_of_range"),
                ("cursor=x", "?cursor", "malformed"), ("status=pending", "?status", "not_allowed"),
            ] {
                for path in ["/v1/enrollments", "/v1/payment-intents"] {
                    let answer = try await app.send(.get, "\(path)?\(query)")
                    #expect(answer.status == 400, "\(path)?\(query)")
                    #expect(try answer.each("field", in: "errors") == [field], "\(path)?\(query)")
                    #expect(try answer.each("code", in: "errors") == [code], "\(path)?\(query)")
                }
            }
            for (path, message) in [
                ("/v1/customer", "Known parameters: wait."), ("/v1/institutions", "Known parameters: cursor, limit."),
            ] {
                let answer = try await app.send(.get, "\(path)?colour=red")
                #expect(answer.status == 400, "\(path)")
                #expect(try answer.each("message", in: "errors") == [message], "\(path)")
            }
            #expect(try await app.send(.get, "/v1/enrollments?belvo_id=7").status == 400)
            #expect(try await app.send(.get, "/v1/enrollments?limit=%zz").status == 400)
        }
    }

    @Test func `where no query parameter is known, that is what is said`() async throws {
        try await TestHarness.open(environment: ["SHOP_TOKEN": OrderTests.token]) { harness in
            let shop = App(client: harness.client, token: OrderTests.token)
            let answer = try await shop.send(.get, "/orders/order-1?colour=red")
            #expect(answer.status == 400)
            #expect(try answer.each("message", in: "errors") == ["There are no parameters here."])
        }
    }

    @Test func `many unknown parameters are a bounded answer, and no problem is kept or guessed at by a cache`()
        async throws
    {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            let query = (0..<900).map { "p\($0)=" }.joined(separator: "&")
            let answer = try await app.send(.get, "/v1/enrollments?\(query)")
            #expect(answer.status == 400)
            #expect(try answer.each("field", in: "errors").count == 50)
            #expect(answer.response.body.count < 10_000)
            for answer in [answer, try await app.send(.get, "/v1/nothing")] {
                #expect(answer.response.headers["cache-control"] == "no-store")
                #expect(answer.response.headers["x-content-type-options"] == "nosniff")
            }
        }
    }

    @Test func `a made request id is hexadecimal and tells nothing of how many came before`() {
        let ids = (0..<1_000).map { _ in RequestID.made() }
        let digits = Set("0123456789abcdef")
        #expect(Set(ids).count == 1_000 && ids.allSatisfy { $0.utf8.count == 32 })
        // Each digit is among 32,000.
        #expect(Set(ids.joined()) == digits)
        // Neither half goes up, or stays as it is.
        for half in [{ (id: String) in id.prefix(16) }, { $0.suffix(16) }] {
            let numbers = ids.compactMap { UInt64(half($0), radix: 16) }
            #expect(Set(numbers).count == 1_000)
            let rising = zip(numbers, numbers.dropFirst()).count { $0 < $1 }
            #expect((300...700).contains(rising))
        }
    }

    @Test func `a sane request id is kept, and any other is replaced`() async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            let kept = try await app.send(.get, "/livez", headers: ["x-request-id": "tap-1_A.b"])
            #expect(kept.response.headers.values("x-request-id") == ["tap-1_A.b"])
            var made: Set<String> = []
            for wrong in ["", "a b", "a\"b", "<script>", "ü", String(repeating: "x", count: 129)] {
                let answer = try await app.send(.get, "/v1/nothing", headers: ["x-request-id": wrong])
                let ids = answer.response.headers.values("x-request-id")
                #expect(ids.count == 1 && ids != [wrong], "\(wrong)")
                #expect(try answer.string("request_id") == ids.first)
                made.formUnion(ids)
            }
            #expect(made.count == 6)
        }
    }
}
