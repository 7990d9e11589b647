import HTTP
import JSON
import Testing

@testable import BelvoSandbox

@Suite struct BankTests {
    /// The redirect of a new enrollment, and its id.
    private func redirect(_ merchant: Merchant, callback: String) async throws -> (id: String, url: URL) {
        let customer = try await merchant.customer()
        let created = await merchant.post(
            "/payments/br/enrollments/", Bodies.enrollment(customer: customer, callback: callback))
        let text = try #require(created.json?["details"]?["redirect_url"]?.string)
        return (try #require(created.text("id")), try #require(URL(text)))
    }

    private func press(_ decision: String, _ merchant: Merchant, _ url: URL) async throws -> Answered {
        let page = await merchant.sandbox.respond(to: Request(.get, url.target)).response
        let html = String(decoding: page.body, as: UTF8.self)
        let handle = try #require(html.firstMatch(of: /name="request_uri" value="([^"]+)"/)?.1)
        let form = FormFields.encode(["request_uri": String(handle), "decision": decision])
        return Answered(
            await merchant.sandbox.respond(to: Request(.post, "/bank/authorize", body: Array(form.utf8))))
    }

    @Test(arguments: [RedirectForm.openState, .pushedAuthorization], [CallbackForm.query, .fragment])
    func `a person approves in the browser and the bank sends them back`(
        _ redirect: RedirectForm, _ callback: CallbackForm
    ) async throws {
        let merchant = Merchant {
            $0.variants.redirect = redirect
            $0.variants.callback = callback
        }
        let (id, url) = try await self.redirect(merchant, callback: "https://shop.example/back")
        #expect(url.target.query?.contains("state=") == (redirect == .openState))
        let back = try await press("approve", merchant, url)
        #expect(back.status == 302)
        let location = try #require(back.answer.response.headers["location"])
        let separator: Character = callback == .query ? "?" : "#"
        let parts = location.split(separator: separator, maxSplits: 1)
        #expect(parts.first == "https://shop.example/back")
        let parameters = try FormFields(parsing: String(parts[1]))
        let body = JSONWriter.object { object in
            for name in ["state", "code", "id_token"] { object.member(name, parameters[name]) }
        }
        let completed = await merchant.call(.post, "/payments/br/enrollments/complete-redirection/", body)
        #expect(completed.text("id") == id)
        #expect(completed.json?["details"]?["payer_information"]?.kind == .object)
    }

    @Test func `a person refuses, and a callback with a query keeps it`() async throws {
        let merchant = Merchant()
        let (_, url) = try await redirect(merchant, callback: "https://shop.example/back?a=1")
        let location = try await press("refuse", merchant, url).answer.response.headers["location"]
        #expect(location?.hasPrefix("https://shop.example/back?a=1&state=") == true)
        #expect(location?.contains("&error=access_denied&error_description=") == true)
        let again = await merchant.sandbox.respond(to: Request(.get, url.target)).response
        #expect(!String(decoding: again.body, as: UTF8.self).contains("<form"))
    }

    @Test func `what a stranger wrote is text on the page`() async throws {
        let merchant = Merchant()
        let customer = await merchant.post(
            "/payments/br/customers/", #"{"identifier":"52998224725","name":"<b>\"Ana\" & 'Bia'"}"#)
        let body = Bodies.enrollment(customer: customer.text("id") ?? "")
        let created = await merchant.post("/payments/br/enrollments/", body)
        let url = try #require(URL(created.json?["details"]?["redirect_url"]?.string ?? ""))
        let page = await merchant.sandbox.respond(to: Request(.get, url.target)).response
        let html = String(decoding: page.body, as: UTF8.self)
        #expect(html.contains("&lt;b&gt;&quot;Ana&quot; &amp; &#39;Bia&#39;"))
        #expect(!html.contains("<b>"))
        #expect(page.headers["content-security-policy"]?.hasPrefix("default-src 'none'") == true)
        #expect(page.headers["referrer-policy"] == "no-referrer")
    }

    @Test(arguments: ["/bank/authorize", "/bank/authorize?state=x", "/bank/authorize?state=%ZZ", "/bank/other"])
    func `there is no page for nobody`(_ target: String) async {
        let merchant = Merchant()
        #expect(
            Answered(await merchant.sandbox.respond(to: Request(.get, Target(stringLiteral: target)))).status == 404)
    }
}
