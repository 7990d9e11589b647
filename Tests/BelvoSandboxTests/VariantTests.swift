import HTTP
import JSON
import Testing

@testable import BelvoSandbox

/// The readings that no other suite meets on its way.
@Suite struct VariantTests {
    @Test func `a customer may be named by identifier where the reading has it`() async throws {
        let merchant = Merchant()
        let customer = try await merchant.customer()
        let body = Bodies.enrollment(customer: customer)
            .replacing("\"\(customer)\"", with: #"{"identifier":"52998224725"}"#)
        let refused = await merchant.post("/payments/br/enrollments/", body)
        #expect(refused.fields == ["details.customer"])
        merchant.sandbox.variants.customerReference = .identityOrObject
        let created = await merchant.post("/payments/br/enrollments/", body)
        #expect(created.json?["details"]?["customer"]?.string == customer)
        let stranger = body.replacing("52998224725", with: "11144477735")
        #expect(await merchant.post("/payments/br/enrollments/", stranger).codes == ["does_not_exist"])
    }

    @Test func `phones must tell what only phones know where the reading has it`() async throws {
        let merchant = Merchant { $0.variants.phoneSignals = .required }
        let customer = try await merchant.customer()
        let phone = await merchant.post("/payments/br/enrollments/", Bodies.enrollment(customer: customer))
        #expect(
            phone.fields
                == ["isRootedDevice", "screenBrightness", "elapsedTimeSinceBoot"].map {
                    "details.risk_signals.\($0)"
                })
        let browser = Bodies.enrollment(customer: customer).replacing("\"IOS\"", with: "\"BROWSER\"")
        #expect(await merchant.post("/payments/br/enrollments/", browser).status == 201)
    }

    @Test func `the tenure is the customer's first day where the reading has it`() async throws {
        let merchant = Merchant {
            $0.variants.tenure = .creationDay
            $0.now = { Timestamp(microseconds: 1_732_620_057_389_056) }
        }
        let customer = try await merchant.customer()
        let body = Bodies.enrollment(customer: customer)
        #expect(
            await merchant.post("/payments/br/enrollments/", body).fields == ["details.risk_signals.accountTenure"])
        let right = body.replacing("2026-11-21", with: "2024-11-26")
        #expect(await merchant.post("/payments/br/enrollments/", right).status == 201)
    }

    @Test func `a widget token is renewed as often as the reading has it`() async throws {
        let merchant = Merchant()
        let minted = await merchant.post("/payments/api/widget-token/", "")
        let (access, refresh) = (try #require(minted.text("access")), try #require(minted.text("refresh")))
        func renew(_ token: String) async -> Answered {
            await merchant.post("/payments/api/widget-token/refresh/", #"{"refresh":"\#(token)"}"#)
        }
        #expect(await renew(refresh).status == 404)

        merchant.sandbox.variants.tokenRefresh = .kept
        for _ in 0..<2 {
            let renewed = await renew(refresh)
            #expect(renewed.status == 200 && renewed.text("refresh") == nil)
            #expect(renewed.text("access")?.isEmpty == false && renewed.text("access") != access)
        }
        // An access token renews nothing, nor does what is none of ours, nor nothing.
        for token in [access, refresh + "x", ""] { #expect(await renew(token).codes == ["token_not_valid"]) }
        #expect(await merchant.post("/payments/api/widget-token/refresh/", "{}").fields == ["refresh"])

        merchant.sandbox.variants.tokenRefresh = .rotated
        let rotated = try #require(await renew(refresh).text("refresh"))
        #expect(await renew(refresh).codes == ["token_not_valid"])
        #expect(await renew(rotated).status == 200)
        merchant.sandbox.variants.tokenRefresh = .kept
        let fresh = try #require(await merchant.post("/payments/api/widget-token/", "").text("refresh"))
        merchant.sandbox.advance(by: .seconds(86_400))
        #expect(await renew(fresh).codes == ["token_not_valid"])
    }

    @Test func `a name is required of a customer of the second version`() async {
        let merchant = Merchant()
        let body = #"{"identifier":"52998224725"}"#
        let second = await merchant.post(
            "/payments/br/customers/", body, headers: ["x-belvo-api-resource-version": "Payments-BR.V2"])
        #expect(second.fields == ["name"])
        #expect(await merchant.post("/payments/br/customers/", body).status == 201)
    }

    @Test func `states and signals can be spelled the other way`() async throws {
        let merchant = Merchant {
            $0.variants.authorizedSpelling = .british
            $0.variants.riskSignals = .object
            $0.variants.failedDetails = .rejected
            $0.variants.failureCodes = .upper
        }
        let (id, _) = try await merchant.enrolled(Device())
        let details = await merchant.get("/payments/br/enrollments/\(id)/").json?["details"]
        #expect(details?["status"]?.string == "AUTHORISED")
        #expect(details?["risk_signals"]?["deviceId"]?.string == "device-1")

        let (other, _) = try await merchant.redirectedEnrollment()
        try merchant.sandbox.fail(enrollment: other, code: "unexpected")
        let failed = await merchant.get("/payments/br/enrollments/\(other)/")
        #expect(failed.json?["details"]?["status"]?.string == "REJECTED")
        #expect(failed.text("status_reason_code") == "UNEXPECTED")
    }

    @Test func `the options to sign may come only when the intent is read again`() async throws {
        let merchant = Merchant { $0.variants.fidoOptions = .whenRead }
        let created = await merchant.post(
            "/payments/br/payment-intents/", merchant.body(try await merchant.enrolled(Device())))
        func options(_ answer: Answered) -> JSONValue? {
            answer.json?["payment_method_information"]?["open_finance_biometric_pix"]?["fido_options"]
        }
        #expect(options(created)?.isNull == true)
        let id = try #require(created.text("id"))
        #expect(options(await merchant.get("/payments/br/payment-intents/\(id)/"))?["challenge"]?.string?.count == 43)
    }

    @Test func `a credential is registered once`() async throws {
        let merchant = Merchant()
        let device = Device()
        _ = try await merchant.enrolled(device)
        let (id, _) = try await merchant.redirectedEnrollment()
        let body = device.confirmation(Device.Registration(challenge: try await merchant.challenge(id)))
        #expect(await merchant.call(.post, "/payments/br/enrollments/\(id)/confirm/", body).status == 204)
        #expect(merchant.sandbox.status(of: id) == "FAILED")
    }
}
