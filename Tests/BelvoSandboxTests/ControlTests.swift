import HTTP
import JSON
import Testing

@testable import BelvoSandbox

@Suite struct ControlTests {
    @Test(arguments: [
        ("POST", "/sandbox/faults", "{", 400), ("POST", "/sandbox/faults", #"{"fault":"fire"}"#, 400),
        ("POST", "/sandbox/faults", #"{"fault":"truncated"}"#, 400),
        ("POST", "/sandbox/faults", #"{"fault":"drop_answer","endpoint":"nowhere"}"#, 400),
        ("POST", "/sandbox/faults", #"{"fault":"drop_answer","count":0}"#, 400),
        ("POST", "/sandbox/faults", #"{"fault":"status","status":99}"#, 400),
        ("PATCH", "/sandbox/variants", #"{"lists":"round"}"#, 400),
        ("PATCH", "/sandbox/variants", #"{"unheard_of":"1"}"#, 400),
        ("POST", "/sandbox/advance", "{}", 400), ("GET", "/sandbox/nothing", "", 404),
        ("POST", "/sandbox/enrollments/nobody/approve", "", 404),
        ("POST", "/sandbox/payment-intents/nobody/settle", "", 404),
    ])
    func `a wrong control call is refused`(_ method: String, _ path: String, _ body: String, _ status: Int) async {
        let answer = await Merchant().call(Method(rawValue: method), path, Array(body.utf8))
        #expect(answer.status == status)
        #expect(answer.text("code") != nil)
    }

    @Test func `a fault is switched on and off over HTTP`() async {
        let merchant = Merchant()
        let body = #"{"endpoint":"list_customers","fault":"status","status":503,"body":"busy","count":2,"skip":1}"#
        #expect(await merchant.post("/sandbox/faults", body).status == 204)
        #expect(await merchant.get("/sandbox/faults").results.first?["count"]?.int64 == 2)
        var statuses: [Int] = []
        for _ in 0..<4 { statuses.append(await merchant.get("/payments/br/customers/").status) }
        #expect(statuses == [200, 503, 503, 200])
        #expect(await merchant.post("/sandbox/faults", #"{"fault":"drop_request","always":true}"#).status == 204)
        #expect(await merchant.call(.delete, "/sandbox/faults").status == 204)
        #expect(await merchant.get("/payments/br/customers/").status == 200)
    }

    @Test func `every switch takes each of its choices over HTTP`() async throws {
        let merchant = Merchant()
        let described = try #require(await merchant.get("/sandbox/variants").json)
        #expect(described.members.map { $0 }.count == Variants.all.count)
        for (name, entry) in described.members {
            for choice in entry["choices"]?.elements.compactMap(\.string) ?? [] {
                // A choice with a number in it is written with a placeholder.
                let text = choice.contains("…") ? "7" : choice.replacing(":N", with: ":7")
                let body = Array(#"{"\#(name)":"\#(text)"}"#.utf8)
                #expect(await merchant.call(.patch, "/sandbox/variants", body).status == 204)
                #expect(await merchant.get("/sandbox/variants").json?[name]?["value"]?.string == text)
            }
        }
        #expect(await merchant.post("/sandbox/reset", "{}").status == 204)
        #expect(merchant.sandbox.variants == Variants())
    }

    @Test func `no reading is out of reach of the control API`() {
        #expect(Mirror(reflecting: Variants()).children.count == Variants.all.count)
        #expect(Set(Variants.all.map(\.name)).count == Variants.all.count)
    }

    @Test func `a whole flow is steered over HTTP`() async throws {
        let merchant = Merchant()
        let device = Device()
        let customer = try await merchant.customer()
        let created = await merchant.post("/payments/br/enrollments/", Bodies.enrollment(customer: customer))
        let id = try #require(created.text("id"))
        let approved = await merchant.post("/sandbox/enrollments/\(id)/approve", "{}")
        let parameters = try #require(approved.json?["parameters"])
        #expect(approved.text("callback_url")?.contains(parameters["code"]?.string ?? "?") == true)
        _ = await merchant.call(.post, "/payments/br/enrollments/complete-redirection/", Array(parameters.raw))
        #expect(await merchant.post("/sandbox/enrollments/\(id)/ready", "{}").status == 204)
        let body = device.confirmation(Device.Registration(challenge: try await merchant.challenge(id)))
        _ = await merchant.call(.post, "/payments/br/enrollments/\(id)/confirm/", body)
        #expect(await merchant.post("/sandbox/enrollments/\(id)/settle", "").status == 204)
        #expect(await merchant.post("/sandbox/enrollments/\(id)/settle", "").status == 409)

        let intent = try await merchant.intent((id, customer))
        #expect(
            await merchant.post("/sandbox/payment-intents/\(intent.id)/turn", #"{"status":"SCHEDULED"}"#).status == 204)
        #expect(merchant.sandbox.status(of: intent.id) == "SCHEDULED")
        #expect(await merchant.post("/sandbox/payment-intents/\(intent.id)/settle", "").status == 204)
        #expect(await merchant.post("/sandbox/payment-intents/\(intent.id)/cancel", "").status == 409)
        let counts = await merchant.get("/sandbox/intent-counts?external_id=payment-1").results
        #expect(counts.map { $0["created"]?.int64 } == [1])
        #expect(counts.map { $0["succeeded"]?.int64 } == [1])

        #expect(await merchant.post("/sandbox/enrollments/\(id)/revoke", #"{"code":"CANCELED"}"#).status == 204)
        #expect(merchant.sandbox.status(of: id) == "CANCELED")
        let calls = await merchant.get("/sandbox/calls?after=2").results
        #expect(calls.first?["number"]?.int64 == 3)
        #expect(calls.last?["endpoint"]?.string == "create_payment_intent")
        #expect(await merchant.get("/sandbox/state").text("beneficiary_bank_account") == merchant.sandbox.beneficiary)
    }
}
