import BelvoSandbox
import HTTP
import Testing

/// The address under which the page behind the bank asks how things stand: without the code, and only for who had it.
@Suite struct CallbackTicketTests {
    @Test func `a ticket shows where the enrollment stands, and asks nobody at Belvo`() async throws {
        try await TestHarness.open(environment: ["APP_DEEP_LINK": "shop://pix"]) { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let reply = try client.decide(enrollment)
            let ticket = try await harness.ticket(for: reply)
            for secret in ["state", "code", "id_token"] { #expect(!ticket.contains(reply[secret] ?? "?")) }
            let calls = harness.sandbox.calls.count
            let page = try await harness.browser().open(ticket)
            #expect(page.status == 200 && page.text.contains("<h1>Bank confirmed</h1>"))
            #expect(page.text.contains("href=\"shop://pix?enrollment=\(enrollment.id)&amp;status=PENDING\""))
            #expect(page.response.headers["cache-control"] == "no-store")
            #expect(harness.sandbox.calls.count == calls)
            try await client.finish(enrollment)
            let last = try await harness.browser().open(ticket)
            #expect(last.text.contains("<h1>All done</h1>") && last.text.contains("status=SUCCEEDED"))
        }
    }

    @Test func `a ticket that was changed in any place is none`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let ticket = try await harness.ticket(for: client.decide(client.startEnrollment()))
            let other = try await harness.ticket(for: client.decide(client.startEnrollment()))
            let value = ticket.dropFirst("?ticket=".count)
            #expect(value.count == 64)
            for place in 0..<64 {
                var letters = Array(value)
                letters[place] = letters[place] == "A" ? "B" : "A"
                let page = try await harness.browser().open("?ticket=\(String(letters))")
                #expect(page.status == 400, "place \(place)")
            }
            let mixed = value.prefix(21) + other.dropFirst("?ticket=".count + 21)
            for query in [
                "?ticket=", "?ticket=\(mixed)", "?ticket=\(value.dropLast())", "\(ticket)A", "\(ticket)&state=s",
                "\(ticket)&ticket=\(value)",
            ] {
                let page = try await harness.browser().open(query)
                #expect(page.status == 400 && page.text.contains("<h1>Incomplete address</h1>"), "\(query)")
            }
        }
    }

    @Test func `a ticket ends when a user may take no longer`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let ticket = try await harness.ticket(for: client.decide(client.startEnrollment()))
            try await harness.advance(by: .seconds(895))
            #expect(try await harness.browser().open(ticket).status == 200)
            try await harness.advance(by: .seconds(5))
            let page = try await harness.browser().open(ticket)
            #expect(page.status == 410 && page.text.contains("<h1>This page has expired</h1>"))
        }
    }

    @Test func `whoever knows the state alone learns nothing about its enrollment`() async throws {
        try await TestHarness.open(environment: ["APP_DEEP_LINK": "shop://pix"]) { harness in
            harness.sandbox.variants.unknownCodes = .refused
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let reply = try client.decide(enrollment)
            let forged = "?state=\(reply["state"] ?? "")&code=forged&id_token=forged"
            let first = try await harness.browser().open(forged)
            let ticket = try #require(first.ticket)
            #expect(try await harness.browser().follow(reply).text.contains("<h1>Bank confirmed</h1>"))
            let later = [try await harness.browser().open(forged), try await harness.browser().open(ticket)]
            #expect(first.status == 422)
            for page in [first] + later {
                #expect(page.text.contains("<h1>This did not work</h1>"))
                #expect(page.text.contains("href=\"shop://pix\"") && !page.text.contains(enrollment.id))
            }
        }
    }

    @Test func `a made-up code shows nothing of the enrollment while Belvo's answer is lost, nor later`() async throws {
        try await TestHarness.open(environment: ["APP_DEEP_LINK": "shop://pix"]) { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let reply = try client.decide(enrollment)
            harness.sandbox.next(.dropAnswer, on: .completeRedirection, count: 2)
            var pages = [try await harness.browser().open("?state=\(reply["state"] ?? "")&code=forged&id_token=forged")]
            let ticket = try #require(pages[0].ticket)
            #expect(try await harness.browser().follow(reply).text.contains("<h1>Bank confirmed</h1>"))
            pages.append(try await harness.browser().open(ticket))
            try await client.finish(enrollment)
            pages.append(try await harness.browser().open(ticket))
            for page in pages {
                #expect(page.status == 200 && page.text.contains("<h1>Almost there</h1>"))
                #expect(page.text.contains("href=\"shop://pix\"") && !page.text.contains(enrollment.id))
            }
        }
    }

    @Test func `a lost answer to the only redirect is made up for by the enrollment that goes on`() async throws {
        try await TestHarness.open(environment: ["APP_DEEP_LINK": "shop://pix"]) { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            harness.sandbox.next(.dropAnswer, on: .completeRedirection)
            let first = try await harness.browser().follow(client.decide(enrollment))
            #expect(first.text.contains("<h1>Almost there</h1>") && !first.text.contains(enrollment.id))
            try await client.finish(enrollment)
            let last = try await harness.browser().open(try #require(first.ticket))
            #expect(last.text.contains("<h1>All done</h1>") && last.text.contains(enrollment.id))
        }
    }

    @Test func `whoever comes with the state once it has been used learns nothing either`() async throws {
        try await TestHarness.open(environment: ["APP_DEEP_LINK": "shop://pix"]) { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let reply = try client.decide(enrollment)
            let state = reply["state"] ?? ""
            #expect(try await harness.browser().follow(reply).text.contains("<h1>Bank confirmed</h1>"))
            try await client.finish(enrollment)
            var pages = [
                try await harness.browser().open("?state=\(state)&code=forged&id_token=forged"),
                try await harness.browser().open("?state=\(state)&error=access_denied"),
            ]
            pages.append(try await harness.browser().open(try #require(pages[0].ticket)))
            for page in pages {
                #expect(page.status == 200 && page.text.contains("<h1>This page has expired</h1>"))
                #expect(page.text.contains("href=\"shop://pix\"") && !page.text.contains(enrollment.id))
            }
            #expect(harness.countCalls(.completeRedirection) == 1)
        }
    }
}
