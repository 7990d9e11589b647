import HTTP
import JSON
import Testing

@testable import BelvoSandbox

@Suite struct FlowTests {
    @Test(arguments: Device.Kind.allCases)
    func `a device is enrolled and pays`(_ kind: Device.Kind) async throws {
        let merchant = Merchant()
        let sandbox = merchant.sandbox
        let device = Device(kind)

        let customer = await merchant.post("/payments/br/customers/", Bodies.customer())
        #expect(customer.status == 201)
        #expect(customer.text("identifier") == "52******25")
        #expect(customer.text("created_at")?.count == 27)
        let customerID = try #require(customer.text("id"))

        let created = await merchant.post("/payments/br/enrollments/", Bodies.enrollment(customer: customerID))
        #expect(created.status == 201)
        #expect(created.text("status") == "PENDING")
        let details = try #require(created.json?["details"])
        #expect(details["risk_signals"]?.string == "*****")
        #expect(details["status"]?.string == "AWAITING_ACCOUNT_HOLDER_VALIDATION")
        let id = try #require(created.text("id"))

        let reply = try sandbox.decide(enrollment: id, .approve)
        #expect(reply.callbackURL.hasPrefix("https://shop.example/enrollment/callback?state="))
        let completed = await merchant.call(.post, "/payments/br/enrollments/complete-redirection/", reply.body)
        #expect(completed.status == 200)
        #expect(completed.text("id") == id)
        #expect(completed.text("status") == "PENDING")

        let path = "/payments/br/enrollments/\(id)/"
        let early = await merchant.get("\(path)fido-registration-options/")
        #expect(early.status == 200)
        #expect(early.json?["challenge"]?.isNull == true)
        let options = await merchant.get("\(path)fido-registration-options/")
        #expect(options.json?["rp"]?["id"]?.string == "belvo.com")
        let challenge = try #require(options.text("challenge"))

        let confirmation = device.confirmation(Device.Registration(challenge: challenge))
        let confirmed = await merchant.call(.post, "\(path)confirm/", confirmation)
        #expect(confirmed.status == 204)
        #expect(sandbox.calls.compactMap(\.remark) == [])
        #expect(await merchant.get(path).text("status") == "PENDING")
        try sandbox.settle(enrollment: id)
        #expect(await merchant.get(path).text("status") == "SUCCEEDED")

        let intent = await merchant.post("/payments/br/payment-intents/", merchant.body((id, customerID)))
        #expect(intent.status == 201)
        #expect(intent.text("amount") == "0.13")
        let method = try #require(intent.json?["payment_method_information"]?["open_finance_biometric_pix"])
        let allowed = try #require(method["fido_options"]?["allowCredentials"]?.elements.map { $0["id"]?.string })
        #expect(allowed == [Base64URL.encode(device.credentialID)])
        let endToEndID = try #require(method["end_to_end_id"]?.string)
        #expect(try /E\d{20}[A-Za-z0-9]{11}/.wholeMatch(in: endToEndID) != nil)
        let intentID = try #require(intent.text("id"))

        let signature = Device.Signature(challenge: try #require(method["fido_options"]?["challenge"]?.string))
        let authorized = await merchant.call(
            .post, "/payments/br/payment-intents/\(intentID)/authorize/", device.authorization(signature))
        #expect(authorized.status == 204)
        #expect(await merchant.get("/payments/br/payment-intents/\(intentID)/").text("status") == "PENDING")
        try sandbox.settle(intent: intentID)
        let paid = await merchant.get("/payments/br/payment-intents/\(intentID)/")
        #expect(paid.text("status") == "SUCCEEDED")
        let charge = try #require(paid.json?["charges"]?.elements.map { $0 }.first)
        #expect(charge["status"]?.string == "SUCCEEDED")
        let transactions = await merchant.get("/payments/br/transactions/?payment_intent=\(intentID)")
        #expect(transactions.results.map { $0["amount"]?.string } == ["0.13"])
        #expect(sandbox.countIntents(externalID: "payment-1") == (1, 1))
    }
}
