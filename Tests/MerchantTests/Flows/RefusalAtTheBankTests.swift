import BelvoSandbox
import HTTP
import Testing

/// The bank says no, and the user comes back through the app or the browser.
@Suite struct RefusalAtTheBankTests {
    @Test func `a refusal that the app brings back fails the enrollment with the bank's reason`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let answer = try await client.complete(client.decide(enrollment, .refuse))
            #expect(answer.status == 200)
            #expect(try answer.string("status") == "FAILED")
            #expect(try answer.string("status_reason_code") == "rejected_by_user")
            #expect(try answer.raw("next_action") == #"{"type":"retry","reason":"now"}"#)
            #expect(harness.countCalls(.completeRedirection) == 1)
        }
    }

    @Test(arguments: [
        ("pt-BR,pt;q=0.9", "pt-BR"), ("en-US,en;q=0.9", "en"), ("es-419, fr;q=0.1", "es"), ("ja", "pt-BR"),
    ])
    func `a refusal in the browser is a page in the user's language`(languages: String, tag: String) async throws {
        try await TestHarness.open(environment: ["APP_DEEP_LINK": "shop://pix"]) { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let page = try await harness.browser(languages).follow(client.decide(enrollment, .refuse))
            #expect(page.status == 200)
            let title = [
                "pt-BR": "Não foi possível concluir", "en": "This did not work", "es": "No se pudo completar",
            ][tag]
            #expect(page.text.contains("<html lang=\"\(tag)\">"))
            #expect(page.text.contains("<h1>\(title ?? "?")</h1>"))
            #expect(page.text.contains("href=\"shop://pix?enrollment=\(enrollment.id)&amp;status=FAILED\""))
            #expect(page.text.contains("Belvo"))
            #expect(page.response.headers["content-language"] == tag)
            #expect(try await client.enrollment(enrollment).string("status") == "FAILED")
        }
    }

    @Test func `an error that anybody may have brought ends the enrollment by Belvo's state, not by its answer`()
        async throws
    {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let state = try #require(client.decide(enrollment)["state"])
            let isPending = Fault.Alteration("/status", #""PENDING""#)
            harness.sandbox.next(.altered([isPending]), on: .getEnrollment)
            _ = try await harness.browser().open("?state=\(state)&error=access_denied")
            #expect(harness.countCalls(.completeRedirection) == 1 && harness.countCalls(.getEnrollment) == 1)
            #expect(try await client.enrollment(enrollment).string("status") == "PENDING")
            // While Belvo cannot be read nothing is concluded, and then it is read again.
            let other = try await client.startEnrollment()
            harness.sandbox.next(.dropAnswer, on: .getEnrollment)
            _ = try await harness.browser().follow(client.decide(other, .refuse))
            #expect(try await client.enrollment(other).string("status") == "PENDING")
            try await harness.poll()
            #expect(try await client.enrollment(other).string("status") == "FAILED")
        }
    }

    @Test func `a refusal that the bank posts as a form does the same`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.startEnrollment()
            let page = try await harness.browser().post(client.decide(enrollment, .refuse))
            #expect(page.status == 200)
            #expect(page.text.contains("<h1>This did not work</h1>"))
            #expect(try await client.enrollment(enrollment).string("status_reason_code") == "rejected_by_user")
        }
    }
}
