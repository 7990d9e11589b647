import BelvoSandbox
import HTTP
import JSON
import Testing

@testable import MerchantServer

/// The list of banks, over real sockets.
@Suite struct InstitutionTests {
    @Test func `fifty apps that ask at once cost Belvo one call`() async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            let answers = try await withThrowingTaskGroup { group in
                for _ in 0..<50 {
                    group.addTask(executorPreference: harness.loop) { try await app.send(.get, "/v1/institutions") }
                }
                return try await group.reduce(into: [Answer]()) { $0.append($1) }
            }
            #expect(answers.allSatisfy { $0.status == 200 && $0.text == answers[0].text })
            #expect(harness.countCalls(.listInstitutions) == 1)
        }
    }

    @Test func `all pages of Belvo's are one list`() async throws {
        try await TestHarness.open { harness in
            harness.sandbox.variants.pageSizeMax = 2
            for page in 2...4 { harness.sandbox.next(harness.nextPage(page), on: .listInstitutions) }
            let answer = try await harness.app(of: "ana").send(.get, "/v1/institutions")
            #expect(
                try answer.each("display_name", in: "results") == [
                    "Aroeira", "Banco Ipê", "Jatobá Empresas", "Mockbank",
                ])
            #expect(harness.countCalls(.listInstitutions) == 4)
        }
    }

    @Test func `an app takes the list in pages, and misses no bank when one leaves in between`() async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            var (names, query) = ([String?](), "?limit=3")
            for count in [3, 1] {
                let page = try await app.send(.get, "/v1/institutions\(query)")
                let shown = try page.each("display_name", in: "results")
                #expect(shown.count == count)
                names += shown
                query = try page.json["next"]?.string.map { "?limit=3&cursor=\($0)" } ?? ""
            }
            #expect(query.isEmpty && names == ["Aroeira", "Banco Ipê", "Jatobá Empresas", "Mockbank"])
            let gone = try await app.send(.get, "/v1/institutions?cursor=AAAAAAAAAAAAAAAAAAAAAA")
            #expect(try gone.each("display_name", in: "results").count == 4)
            #expect(try await app.send(.get, "/v1/institutions?cursor=x").status == 400)
            #expect(try await app.send(.get, "/v1/institutions?limit=101").status == 400)
        }
    }

    @Test func `a next page on another origin is not asked for, and the list is not taken for whole`() async throws {
        try await TestHarness.open { harness in
            // Pages that the sandbox links to under an address other than the configured one.
            harness.sandbox.variants.pageSizeMax = 2
            let answer = try await harness.app(of: "ana").send(.get, "/v1/institutions")
            #expect(answer.status == 502)
            #expect(try answer.string("code") == "belvo_nonsense")
            #expect(harness.countCalls(.listInstitutions) == 1)
        }
    }

    @Test(arguments: [400, 409, 422])
    func `what Belvo does not like about a question of our own is not put down to the app`(status: Int) async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            for (endpoint, method, path) in [
                (Endpoint.listInstitutions, HTTP.Method.get, "/v1/institutions"),
                (.createWidgetToken, .post, "/v1/widget-token"),
            ] {
                harness.sandbox.next(.refused(status, code: "invalid"), on: endpoint)
                let answer = try await app.send(method, path)
                #expect(answer.status == 502, "\(path)")
                #expect(try answer.string("code") == "belvo_misused", "\(path)")
            }
        }
    }

    @Test(arguments: [Fault.dropRequest, .refused(503, code: "unavailable"), .tooManyRequests(retryAfter: 9)])
    func `without any list and without Belvo the app is told when to come again`(fault: Fault) async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            harness.sandbox.next(fault, on: .listInstitutions)
            // The second one is told the same without a call.
            for _ in 0..<2 {
                let answer = try await app.send(.get, "/v1/institutions")
                #expect(answer.status == 503)
                #expect(try answer.string("code") == "belvo_unavailable")
                let seconds = try #require(answer.response.headers["retry-after"].flatMap { Int($0) })
                #expect((1...60).contains(seconds))
            }
            #expect(harness.countCalls(.listInstitutions) == 1)
        }
    }

    @Test func `what a bank says of itself is shown only in a form that an app can use`() async throws {
        try await TestHarness.open { harness in
            harness.sandbox.next(
                .altered([
                    Fault.Alteration("/results/*/icon_logo", #""javascript:alert(1)""#),
                    Fault.Alteration("/results/*/text_logo", #""http://cdn.example/logo.svg""#),
                    Fault.Alteration("/results/*/primary_color", #""red;background:url(x)""#),
                    Fault.Alteration("/results/*/institution_type", nil),
                ]), on: .listInstitutions)
            let answer = try await harness.app(of: "ana").send(.get, "/v1/institutions")
            let bank = try #require(answer.json["results"]?.elements.first { _ in true })
            #expect(
                String(decoding: bank.raw, as: UTF8.self) == """
                    {"id":"3a9b0d1e-58c7-4e6f-b2a4-91d3c7f5e632","name":"aroeira_br_retail",\
                    "display_name":"Aroeira","country":"BRA","active":true,"institution_type":null,"icon_logo":null,\
                    "text_logo":null,"primary_color":null}
                    """)
        }
    }
}

extension TestHarness {
    /// A link to a page of the list under the address by which the server knows Belvo.
    fileprivate func nextPage(_ number: Int) -> Fault {
        let link = "\(settings.belvoBaseURL.origin)/payments/br/institutions/?page=\(number)"
        return .altered([Fault.Alteration("/next", "\"\(link)\"")])
    }
}
