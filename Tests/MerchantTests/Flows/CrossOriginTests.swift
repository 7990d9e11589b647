import BelvoSandbox
import HTTP
import Testing

@testable import MerchantAPI

/// Pages of the origins that are configured may use the API as an app does; all others get nothing out of it.
@Suite struct CrossOriginTests {
    private static let ours = "https://shop.example"
    private static let origins = ["CORS_ORIGINS": "\(ours), http://localhost:5173"]

    /// The preflight request of a browser.
    private static func question(from origin: String) -> KeyValuePairs<HeaderName, String> {
        [
            "origin": origin, "access-control-request-method": "POST",
            "access-control-request-headers": "authorization,content-type,idempotency-key",
        ]
    }

    @Test(arguments: [ours, "http://localhost:5173"])
    func `a page is told what it may send where, without a token`(origin: String) async throws {
        try await TestHarness.open(environment: Self.origins) { harness in
            let page = App(client: harness.client, token: nil)
            let methods = Dictionary(grouping: Operation.allCases.filter { $0.access == .user }) { "\($0.path)" }
                .mapValues { operations in
                    let names = Set(operations.map(\.method.rawValue))
                    return names.union(names.contains("GET") ? ["HEAD"] : []).sorted().joined(separator: ", ")
                }
            for (path, allowed) in methods {
                let answer = try await page.send(
                    .options, path.replacing("{id}", with: "x"), headers: Self.question(from: origin))
                #expect(answer.status == 204 && answer.text.isEmpty, "\(path)")
                let fields = answer.response.headers
                #expect(fields.values("access-control-allow-origin") == [origin], "\(path)")
                #expect(fields.values("access-control-allow-methods") == [allowed], "\(path)")
                #expect(
                    fields.values("access-control-allow-headers") == [
                        "authorization, content-type, idempotency-key, if-none-match, x-device-id, x-request-id, "
                            + "traceparent"
                    ], "\(path)")
                #expect(fields.values("access-control-max-age") == ["600"], "\(path)")
                #expect(fields.lists("vary", token: "origin"), "\(path)")
                #expect(!fields.contains("access-control-allow-credentials"), "\(path)")
                #expect(!fields.contains("access-control-expose-headers"), "\(path)")
            }
            #expect(harness.sandbox.calls.isEmpty)
        }
    }

    @Test func `every answer can be read by the page that asked, errors too`() async throws {
        let clock = HandClock()
        let environment = Self.origins.merging(["USER_RATE": "2"]) { $1 }
        try await TestHarness.open(environment: environment, clock: clock.intervals) { harness in
            let app = try await harness.app(of: "ana")
            let stranger = App(client: harness.client, token: nil)
            harness.sandbox.next(.refused(500, code: "unexpected"), on: .listInstitutions)
            let answers = [
                (200, try await app.send(.get, "/v1/enrollments", headers: ["origin": Self.ours])),
                (404, try await app.send(.get, "/v1/customer", headers: ["origin": Self.ours])),
                (400, try await app.send(.put, "/v1/customer", "{}", headers: ["origin": Self.ours])),
                (503, try await app.send(.get, "/v1/institutions", headers: ["origin": Self.ours])),
                (429, try await app.send(.get, "/v1/enrollments", headers: ["origin": Self.ours])),
                (401, try await stranger.send(.get, "/v1/enrollments", headers: ["origin": Self.ours])),
                (404, try await stranger.send(.get, "/v1/nothing", headers: ["origin": Self.ours])),
                (405, try await stranger.send(.delete, "/v1/customer", headers: ["origin": Self.ours])),
            ]
            for (status, answer) in answers {
                #expect(answer.status == status, "\(answer.text)")
                let fields = answer.response.headers
                #expect(fields.values("access-control-allow-origin") == [Self.ours], "\(status)")
                #expect(
                    fields.values("access-control-expose-headers") == [
                        "etag, idempotent-replayed, location, retry-after, www-authenticate, x-request-id"
                    ], "\(status)")
                #expect(fields.lists("vary", token: "origin"), "\(status)")
            }
        }
    }

    @Test(arguments: [
        "https://evil.example", "https://shop.example.evil.example", "https://shop.example:8443",
        "http://shop.example", "https://SHOP.example", "https://shop.example/", "null", "*", "",
        "https://shop.example, https://evil.example",
    ])
    func `a page of another origin gets nothing`(origin: String) async throws {
        try await TestHarness.open(environment: Self.origins) { harness in
            let app = try await harness.app(of: "ana")
            let question = try await app.send(.options, "/v1/customer", headers: Self.question(from: origin))
            #expect(question.status == 405)
            let answer = try await app.send(.get, "/v1/enrollments", headers: ["origin": origin])
            #expect(answer.status == 200)
            let twice = try await app.send(
                .get, "/v1/enrollments", headers: ["origin": Self.ours, "origin": origin])
            for one in [question, answer, twice] {
                #expect(one.crossOriginFields.isEmpty)
                // What a cache keeps of it must not be given to a page that may read it, nor the other way round.
                #expect(one.response.headers.lists("vary", token: "origin"))
            }
        }
    }

    @Test func `what is no page's business is shared with none`() async throws {
        let environment = Self.origins.merging(["APPLE_APP_IDS": "ABCDE12345.shop.app"]) { $1 }
        try await TestHarness.open(environment: environment) { harness in
            let page = App(client: harness.client, token: nil)
            for operation in Operation.allCases where operation.access != .user {
                let path = "\(operation.path)".replacing("{reference}", with: "x")
                let question = try await page.send(.options, path, headers: Self.question(from: Self.ours))
                #expect(question.status == 405, "\(path)")
                let answer = try await page.send(operation.method, path, headers: ["origin": Self.ours])
                for one in [question, answer] {
                    #expect(one.crossOriginFields.isEmpty, "\(path)")
                    #expect(!one.response.headers.lists("vary", token: "origin"), "\(path)")
                }
            }
            for path in ["/", "/v1x", "/webhooks/belvo"] {
                let answer = try await page.send(.get, path, headers: ["origin": Self.ours])
                #expect(answer.crossOriginFields.isEmpty, "\(path)")
            }
            // A question that is none.
            for fields in [["origin": Self.ours], ["access-control-request-method": "POST"]]
                as [KeyValuePairs<HeaderName, String>]
            {
                #expect(try await page.send(.options, "/v1/customer", headers: fields).status == 405)
            }
        }
    }

    @Test func `without origins there is not a word of it`() async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            let question = try await app.send(.options, "/v1/customer", headers: Self.question(from: Self.ours))
            #expect(question.status == 405)
            #expect(question.response.headers["allow"] == "GET, HEAD, PUT")
            let answer = try await app.send(.get, "/v1/enrollments", headers: ["origin": Self.ours])
            for one in [question, answer] {
                #expect(one.crossOriginFields.isEmpty)
                #expect(!one.response.headers.lists("vary", token: "origin"))
            }
        }
    }
}

extension Answer {
    /// The names of the fields by which answers are shared with other origins.
    fileprivate var crossOriginFields: [String] {
        var names: [String] = []
        func collect(_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) {
            let name = String(decoding: name, as: UTF8.self)
            if name.lowercased().hasPrefix("access-control-") { names.append(name) }
        }
        response.headers.forEach(collect)
        return names
    }
}
