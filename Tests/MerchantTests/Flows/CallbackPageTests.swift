import BelvoSandbox
import HTTP
import Postgres
import Testing

/// The page on which users land behind the bank: what it needs, what it says, and what it keeps to itself.
@Suite struct CallbackPageTests {
    @Test func `every page forbids storing, referring and foreign content`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let browser = harness.browser()
            let pages = [
                try await browser.open(""), try await browser.open("?state=nobodys&error=access_denied"),
                try await browser.open("?code=alone"), try await browser.follow(client.decide(enrollment)),
            ]
            #expect(pages.map(\.status) == [200, 422, 400, 200])
            for page in pages {
                let headers = page.response.headers
                #expect(headers["cache-control"] == "no-store")
                #expect(headers["referrer-policy"] == "no-referrer")
                #expect(headers["content-type"] == "text/html; charset=utf-8")
                #expect(headers["x-content-type-options"] == "nosniff")
                let policy = headers["content-security-policy"] ?? ""
                #expect(policy.hasPrefix("default-src 'none'; style-src 'nonce-"))
                #expect(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"))
            }
            // Who could guess the next page's nonce could have a script of his own run in it.
            let again = try await browser.open("")
            let nonces = (pages + [again]).compactMap { page in
                page.response.headers["content-security-policy"]?.split(separator: "'").first { $0.hasPrefix("nonce-") }
            }
            #expect(nonces.count == 5)
            #expect(Set(nonces).count == 5, "\(nonces)")
        }
    }

    @Test func `who enrolls in a browser comes back to the shop's page, and who does on a phone to the app`()
        async throws
    {
        let environment = ["APP_DEEP_LINK": "shop://pix", "WEB_RETURN_URL": "https://shop.example/pay?x=1"]
        try await TestHarness.open(environment: environment) { harness in
            let client = try await AppClient.arrive(on: harness)
            for (platform, label, link) in [
                ("BROWSER", "Back to the shop", "https://shop.example/pay?x=1&amp;"),
                ("IOS", "Back to the app", "shop://pix?"), ("ANDROID", "Back to the app", "shop://pix?"),
            ] {
                let enrollment = try await client.startEnrollment(on: platform)
                let page = try await harness.browser().follow(client.decide(enrollment))
                let button = #"href="\#(link)enrollment=\#(enrollment.id)&amp;status=PENDING">\#(label)</a>"#
                #expect(page.text.contains(button), "\(platform): \(page.text)")
                #expect(page.text.contains(" data-opens") && page.text.count(of: "href=") == 2, "\(platform)")
            }
            // Whose page it is is not known: the app's, as long as there is one.
            #expect(try await harness.browser().open("").text.contains(#"href="shop://pix">Back to the app</a>"#))
        }
    }

    @Test(arguments: ["pt-BR", "en", "es"])
    func `without an address to return to a browser's page says that it is done`(language: String) async throws {
        try await TestHarness.open(environment: ["APP_DEEP_LINK": "shop://pix"]) { harness in
            let client = try await AppClient.arrive(on: harness)
            for decision in [BankDecision.approve, .refuse] {
                let enrollment = try await client.startEnrollment(on: "BROWSER")
                let page = try await harness.browser(language).follow(client.decide(enrollment, decision)).text
                let done = [
                    "pt-BR": "Você já pode fechar esta página.", "en": "You can close this page now.",
                    "es": "Ya puede cerrar esta página.",
                ]
                #expect(page.contains("<p class=\"hint\">\(done[language] ?? "?")</p>"))
                #expect(!page.contains("<a ") && !page.contains("shop://") && !page.contains(" data-opens"))
                for word in ["aplicativo", "the app", "aplicación"] { #expect(!page.contains(word), "\(word)") }
            }
        }
    }

    @Test func `a shop without an app leads to its page before it is known whose redirect it is`() async throws {
        try await TestHarness.open(environment: ["WEB_RETURN_URL": "https://shop.example/pay"]) { harness in
            let page = try await harness.browser().open("?code=alone")
            #expect(page.text.contains(#"href="https://shop.example/pay">Back to the shop</a>"#))
            #expect(page.text.contains("Please try again at the shop’s page."))
        }
    }

    @Test func `without parameters the page looks for them in the fragment, and calls nobody`() async throws {
        try await TestHarness.open { harness in
            for query in ["", "?"] {
                let page = try await harness.browser().open(query)
                #expect(page.status == 200)
                #expect(page.text.contains("location.hash"))
                #expect(page.text.contains(#"<form method="post" action="/enrollments/callback""#))
                let policy = page.response.headers["content-security-policy"] ?? ""
                let nonce = policy.split(separator: "'").first { $0.hasPrefix("nonce-") }?.dropFirst(6) ?? "none"
                #expect(page.text.contains("<script nonce=\"\(nonce)\">"))
                #expect(policy.contains("form-action 'self'"))
            }
            #expect(harness.sandbox.calls.isEmpty)
        }
    }

    @Test func `what the fragment held is posted as a form and completes the enrollment`() async throws {
        try await TestHarness.open { harness in
            harness.sandbox.variants.callback = .fragment
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let reply = try client.decide(enrollment)
            #expect(reply.callbackURL.contains("#state="))
            #expect(try await harness.browser().post(reply).text.contains("<h1>Bank confirmed</h1>"))
        }
    }

    @Test(arguments: [
        "?state=", "?code=c&id_token=t", "?state=s", "?state=s&state=s&code=c", "?state=s&code=c&code=d&id_token=t",
        "?state=s&code=c&error=e", "?state=s&error=", "?state=%ff&code=c", "?state=%2&code=c",
        "?state=s&code=c&id_token=",
        "?state=s&code=\(String(repeating: "x", count: 16_385))",
    ])
    func `parameters that no bank sends are refused, and reach nobody`(query: String) async throws {
        try await TestHarness.open { harness in
            for page in [
                try await harness.browser().open(query),
                try await harness.browser().post(form: String(query.dropFirst())),
            ] {
                // Past the limit of a request line the server itself refuses.
                #expect(page.status == (query.utf8.count > 16_000 && page.status == 414 ? 414 : 400))
            }
            #expect(harness.sandbox.calls.isEmpty)
            #expect(try await harness.database.rows("SELECT id FROM redirect_receipts").isEmpty)
        }
    }

    @Test func `a form of another media type is refused with 415`() async throws {
        try await TestHarness.open { harness in
            let page = try await harness.browser().post(form: "state=s", type: "application/json")
            #expect(page.status == 415)
        }
    }

    @Test func `a preview of the link does not spend the code`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let reply = try client.decide(enrollment)
            let preview = try await harness.browser().follow(reply, method: .head)
            #expect(preview.status == 200 && preview.text.isEmpty)
            #expect(harness.countCalls(.completeRedirection) == 0)
            #expect(try await harness.browser().follow(reply).text.contains("<h1>Bank confirmed</h1>"))
        }
    }

    @Test func `nothing of a redirect stands in the log or on the page`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let reply = try client.decide(enrollment)
            // Belvo is away: also what goes wrong is told without it.
            harness.sandbox.next(.forbiddenPage, on: .completeRedirection)
            let pages = [try await harness.browser().follow(reply), try await harness.browser().follow(reply)]
            for secret in ["state", "code", "id_token"].compactMap({ reply[$0] }) {
                #expect(!harness.log.all.contains { $0.contains(secret) })
                #expect(!pages.contains { $0.text.contains(secret) })
            }
        }
    }

    @Test func `while Belvo is away the page says that work goes on, and it does`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            harness.sandbox.next(.tooManyRequests(retryAfter: 1), on: .completeRedirection)
            let page = try await harness.browser().follow(client.decide(enrollment))
            #expect(page.status == 200 && page.text.contains("<h1>Almost there</h1>"))
            try await harness.poll()
            #expect(harness.countCalls(.completeRedirection) == 2)
            try await client.awaitOptions(of: enrollment)
            #expect(try await client.enrollment(enrollment).string("next_action", "type") == "register")
        }
    }
}

extension String {
    fileprivate func count(of part: String) -> Int {
        split(separator: part, omittingEmptySubsequences: false).count - 1
    }
}
