import HTTP
import JSON
import Testing

@testable import BelvoSandbox

@Suite struct TransportTests {
    @Test(arguments: [
        "", "Basic", "Basic c2FuZGJveC1pZDp3cm9uZw==", "Basic c2FuZGJveC1pZDpzYW5kYm94LXBhc3N3b3J",
        "Bearer eyJhbGciOiJub25lIn0.e30.", "Digest x",
    ])
    func `wrong credentials are refused in Belvo's form`(_ authorization: String) async {
        let merchant = Merchant()
        let answer = await merchant.call(
            .get, "/payments/br/institutions/", headers: ["authorization": authorization])
        #expect(answer.status == 401)
        #expect(answer.json?.kind == .array)
        #expect(answer.codes.count == 1)
    }

    @Test(arguments: [(ErrorForm.array, "array"), (.object, "object"), (.detail, "object")])
    func `errors come in the form asked for`(_ form: ErrorForm, _ kind: String) async {
        let merchant = Merchant { $0.variants.errors = form }
        let json = await merchant.get("/payments/br/customers/00000000-0000-4000-8000-000000000000/").json
        #expect(json.map { "\($0.kind)" } == kind)
        #expect((json?["detail"] != nil) == (form == .detail))
    }

    @Test func `a path without its slash is not found, or redirected`() async {
        let merchant = Merchant()
        #expect(await merchant.get("/payments/br/institutions").status == 404)
        merchant.sandbox.variants.missingSlash = .redirected
        let answer = await merchant.get("/payments/br/institutions?page=1")
        #expect(answer.status == 301)
        #expect(answer.answer.response.headers["location"] == "/payments/br/institutions/?page=1")
    }

    @Test(arguments: [
        ("GET", "/institutions/", 404), ("GET", "/payments/br/enrollments/not-an-id/", 404),
        ("DELETE", "/payments/br/enrollments/", 405), ("GET", "/payments/api/widget-token/", 405),
        ("GET", "/payments/br/enrollments/complete-redirection/", 405),
    ])
    func `what Belvo does not have is refused`(_ method: String, _ path: String, _ status: Int) async {
        let answer = await Merchant().call(Method(rawValue: method), path)
        #expect(answer.status == status)
        #expect(status != 405 || answer.answer.response.headers["allow"] == "POST" || path.hasSuffix("enrollments/"))
    }

    @Test func `a body must be JSON and say so`() async {
        let merchant = Merchant()
        let path = "/payments/br/customers/"
        #expect(await merchant.post(path, "{").codes == ["parse_error"])
        #expect(await merchant.post(path, "[]").codes == ["invalid"])
        let request = Request(
            .post, "/payments/br/customers/",
            headers: Headers(["authorization": Merchant.authorization, "content-type": "text/plain"]),
            body: Array(Bodies.customer().utf8))
        #expect(Answered(await merchant.sandbox.respond(to: request)).status == 415)
    }

    @Test func `pages follow one another by absolute links`() async throws {
        let merchant = Merchant { $0.publicURL = "https://belvo.example" }
        let path = "/payments/br/institutions/"
        let first = await merchant.get("\(path)?page_size=3&institution_type=INDIVIDUAL")
        #expect(first.json?["count"]?.int64 == 6)
        #expect(first.json?["previous"]?.isNull == true)
        let next = try #require(first.text("next"))
        #expect(next == "https://belvo.example\(path)?page_size=3&institution_type=INDIVIDUAL&page=2")
        let second = await merchant.get(String(next.dropFirst("https://belvo.example".count)))
        #expect(second.json?["next"]?.isNull == true)
        #expect(second.text("previous") == next.replacing("page=2", with: "page=1"))
        #expect(second.results.count == 3)
        #expect(first.results.first?["id"]?.string != second.results.first?["id"]?.string)
        #expect(await merchant.get("\(path)?page=3&page_size=3&institution_type=INDIVIDUAL").status == 404)
        #expect(await merchant.get("\(path)?page=0").status == 404)
        merchant.sandbox.variants.pageSizeMax = 1
        #expect(await merchant.get("\(path)?page_size=1000").results.count == 1)
    }

    @Test func `some institutions are inactive or do not offer the product`() async {
        let items = await Merchant().get("/payments/br/institutions/").results
        let usable = items.filter {
            $0["active"]?.bool == true
                && $0["payment_methods"]?["open_finance_biometric_pix"]?["status"]?.string == "AVAILABLE"
        }
        #expect(usable.count == 4)
        #expect(items.count == 7)
    }

    @Test func `customers are masked, found by reference, and not unique unless asked for`() async throws {
        let merchant = Merchant()
        let path = "/payments/br/customers/"
        let id = try await merchant.customer()
        #expect(await merchant.get("\(path)?external_id=user-1").results.map { $0["id"]?.string } == [id])
        #expect(await merchant.get("\(path)?external_id=user-2").results.isEmpty)
        #expect(await merchant.get("\(path)\(id)/").text("identifier") == "52******25")
        let second = await merchant.post(path, Bodies.customer())
        #expect(second.status == 201)
        #expect(second.text("id") != id)
        merchant.sandbox.variants.duplicateCustomers = .returned
        #expect(await merchant.post(path, Bodies.customer()).text("id") == id)
        merchant.sandbox.variants.duplicateCustomers = .refused
        #expect(await merchant.post(path, Bodies.customer()).fields == ["identifier"])
        for identifier in ["5299822472", "529.982.247-25", "11222333000181x"] {
            #expect(await merchant.post(path, Bodies.customer(identifier)).fields == ["identifier"])
        }
        #expect(await merchant.post(path, Bodies.customer("12ABC34501DE35")).text("customer_type") == "BUSINESS")
    }

    @Test func `an access token is a bearer until it expires`() async throws {
        let merchant = Merchant()
        let minted = await merchant.call(.post, "/payments/api/widget-token/")
        #expect(minted.status == 200)
        let access = try #require(minted.text("access"))
        let refresh = try #require(minted.text("refresh"))
        let claims = try #require(JSONWebToken.claims(of: access, key: merchant.sandbox.withState { $0.tokenKey }))
        #expect((claims["exp"]?.int64 ?? 0) - (claims["iat"]?.int64 ?? 0) == 600)
        let path = "/payments/br/payment-intents/"
        #expect(await merchant.call(.get, path, headers: ["authorization": "Bearer \(access)"]).status == 200)
        for token in [refresh, access + "A", access.replacing(".", with: "")] {
            let answer = await merchant.call(.get, path, headers: ["authorization": "Bearer \(token)"])
            #expect(answer.codes == ["token_not_valid"])
        }
        merchant.sandbox.advance(by: .seconds(600))
        #expect(await merchant.call(.get, path, headers: ["authorization": "Bearer \(access)"]).status == 401)
    }
}
