import HTTP
import JSON
import Testing

@testable import BelvoSandbox

@Suite struct EnrollmentTests {
    @Test func `every bad field is named at once`() async throws {
        let merchant = Merchant()
        let body = """
            {"type":"other","details":{"customer":"nobody","platform":"PAGER","callback_url":"http://shop.example/",\
            "risk_signals":{"deviceId":"d","language":"portuguese","accountTenure":"2026-13-01"}}}
            """
        let answer = await merchant.post("/payments/br/enrollments/", body)
        #expect(answer.status == 400)
        #expect(
            answer.fields == [
                "type", "details.customer", "details.institution", "details.platform", "details.callback_url",
                "details.risk_signals.osVersion", "details.risk_signals.userTimeZoneOffset",
                "details.risk_signals.language", "details.risk_signals.screenDimensions",
                "details.risk_signals.accountTenure",
            ])
        #expect(Set(answer.codes) == ["invalid", "invalid_choice", "required"])
        #expect(answer.json?.elements.allSatisfy { $0["request_id"]?.string?.count == 32 } == true)
    }

    @Test(arguments: [
        ("details.customer", Bodies.enrollment(customer: "00000000-0000-4000-8000-000000000000")),
        (
            "details.institution",
            Bodies.enrollment(customer: "CUSTOMER", institution: "5d7f4a21-9e3b-4c80-a6d8-b1c0e3f27a54")
        ),
        ("details.callback_url", Bodies.enrollment(customer: "CUSTOMER", callback: "myapp://callback")),
        ("details.callback_url", Bodies.enrollment(customer: "CUSTOMER", callback: #"https://shop.example/\u007f"#)),
        ("details.callback_url", Bodies.enrollment(customer: "CUSTOMER", callback: #"https://shop.example/\r\nx: y"#)),
        ("details.callback_url", Bodies.enrollment(customer: "CUSTOMER", callback: "https://a@shop.example/")),
        (
            "details.risk_signals.deviceId",
            Bodies.enrollment(customer: "CUSTOMER", signals: Bodies.signals.replacing("deviceId", with: "device_id"))
        ),
    ])
    func `a wrong reference or address is refused by its field`(_ field: String, _ body: String) async throws {
        let merchant = Merchant()
        let customer = try await merchant.customer()
        let answer = await merchant.post("/payments/br/enrollments/", body.replacing("CUSTOMER", with: customer))
        #expect(answer.status == 400)
        #expect(answer.fields == [field])
    }

    @Test(arguments: [
        (UnknownMembers.forbidden, 403, "text/html; charset=utf-8"), (.refused, 400, "application/json"),
        (.ignored, 201, "application/json"),
    ])
    func `an invented member meets the firewall, an error, or nobody`(
        _ reading: UnknownMembers, _ status: Int, _ type: String
    ) async throws {
        let merchant = Merchant { $0.variants.unknownMembers = reading }
        let customer = try await merchant.customer()
        let body = Bodies.enrollment(customer: customer).replacing("\"name\"", with: "\"color\":1,\"name\"")
        let answer = await merchant.post("/payments/br/enrollments/", body)
        #expect(answer.status == status)
        #expect(answer.answer.response.headers["content-type"] == type)
    }

    @Test func `completing answers 200 for a known state, whatever came back`() async throws {
        let merchant = Merchant()
        let path = "/payments/br/enrollments/complete-redirection/"
        let customer = try await merchant.customer()
        let unknown = await merchant.post(path, #"{"state":"nobody's","code":"c","id_token":"t"}"#)
        #expect(unknown.status == 404)
        let bare = await merchant.post(path, #"{"state":"nobody's"}"#)
        #expect(bare.fields == ["code", "id_token"])

        let created = await merchant.post("/payments/br/enrollments/", Bodies.enrollment(customer: customer))
        let id = try #require(created.text("id"))
        let refused = await merchant.call(.post, path, try merchant.sandbox.decide(enrollment: id, .refuse).body)
        #expect(refused.status == 200)
        #expect(refused.text("status") == "FAILED")
        #expect(refused.text("status_reason_code") == "rejected_by_user")
        #expect(refused.json?["details"]?["status"]?.string == "AWAITING_ACCOUNT_HOLDER_VALIDATION")
    }

    @Test(arguments: [
        (UnknownCodes.ignored, 200, "PENDING"), (.refused, 400, "PENDING"), (.failed, 200, "FAILED"),
    ])
    func `a code that the bank did not issue`(
        _ reading: UnknownCodes, _ status: Int, _ state: String
    ) async throws {
        let merchant = Merchant { $0.variants.unknownCodes = reading }
        let customer = try await merchant.customer()
        let created = await merchant.post("/payments/br/enrollments/", Bodies.enrollment(customer: customer))
        let id = try #require(created.text("id"))
        let reply = try merchant.sandbox.decide(enrollment: id, .approve)
        let path = "/payments/br/enrollments/complete-redirection/"
        let forged = await merchant.post(path, #"{"state":"\#(reply["state"] ?? "")","code":"c","id_token":"t"}"#)
        #expect(forged.status == status)
        #expect(merchant.sandbox.status(of: id) == state)
        // The right code still works, unless the wrong one was the end of it.
        _ = await merchant.call(.post, path, reply.body)
        let options = await merchant.get("/payments/br/enrollments/\(id)/fido-registration-options/")
        #expect(options.status == (reading == .failed ? 409 : 200))
    }

    @Test func `completing again changes nothing`() async throws {
        let merchant = Merchant()
        let (id, _) = try await merchant.redirectedEnrollment()
        let path = "/payments/br/enrollments/complete-redirection/"
        let reply = try merchant.sandbox.decide(enrollment: id, .approve)
        let first = await merchant.get("/payments/br/enrollments/\(id)/").body
        let late = await merchant.post(path, #"{"state":"\#(reply["state"] ?? "")","error":"access_denied"}"#)
        #expect(late.status == 200)
        #expect(late.body == first)
        #expect(await merchant.call(.post, path, reply.body).body == first)
    }

    @Test(arguments: [
        (NotReady.withoutChallenge, 200), (.empty, 200), (.accepted, 202), (.notFound, 404), (.conflict, 409),
        (.tooEarly, 425),
    ])
    func `options that are not there yet have no challenge`(_ reading: NotReady, _ status: Int) async throws {
        let merchant = Merchant {
            $0.variants.fidoNotReady = reading
            $0.variants.fidoReadiness = .afterCalls(2)
        }
        let (id, _) = try await merchant.redirectedEnrollment()
        let path = "/payments/br/enrollments/\(id)/fido-registration-options/"
        for _ in 0..<2 {
            let early = await merchant.get(path)
            #expect(early.status == status)
            #expect(early.text("challenge") == nil)
        }
        let first = try #require(await merchant.get(path).text("challenge"))
        let second = try #require(await merchant.get(path).text("challenge"))
        #expect(first != second)
    }

    @Test func `enrollments are found by device, customer, reference and status`() async throws {
        let merchant = Merchant()
        let (id, customer) = try await merchant.redirectedEnrollment()
        let path = "/payments/br/enrollments/"
        for query in [
            "device_id=device-1", "customer=\(customer)", "customer__identifier=52998224725",
            "external_id=enrollment-1",
            "status=PENDING", "device_id=device-1&status=PENDING", "",
        ] {
            #expect(await merchant.get("\(path)?\(query)").results.map { $0["id"]?.string } == [id])
        }
        for query in ["device_id=device-2", "external_id=other", "status=SUCCEEDED"] {
            #expect(await merchant.get("\(path)?\(query)").results.isEmpty)
        }
        merchant.sandbox.variants.lists = .bare
        #expect(await merchant.get("\(path)?device_id=device-1").json?.elements.map { $0["id"]?.string } == [id])
        merchant.sandbox.variants.deviceFilter = .required
        #expect(await merchant.get(path).fields == ["device_id"])
    }

    @Test func `an enrollment that nobody completes fails by itself`() async throws {
        let merchant = Merchant()
        let (id, _) = try await merchant.redirectedEnrollment()
        merchant.sandbox.advance(by: .seconds(899))
        #expect(merchant.sandbox.status(of: id) == "PENDING")
        merchant.sandbox.advance(by: .seconds(1))
        #expect(
            await merchant.get("/payments/br/enrollments/\(id)/").text("status_reason_code")
                == "canceled_due_to_expiration")
    }

    @Test func `a revoked enrollment pays no more`() async throws {
        let merchant = Merchant()
        let device = Device()
        let enrollment = try await merchant.enrolled(device)
        let intent = try await merchant.intent(enrollment)
        try merchant.sandbox.revoke(enrollment: enrollment.id)
        let refused = await merchant.post("/payments/br/payment-intents/", merchant.body(enrollment))
        #expect(refused.fields == ["payment_method_details.open_finance_biometric_pix.enrollment"])
        let late = await merchant.call(
            .post, "/payments/br/payment-intents/\(intent.id)/authorize/",
            device.authorization(Device.Signature(challenge: intent.challenge)))
        #expect(late.status == 204)
        #expect(merchant.sandbox.status(of: intent.id) == "FAILED")
    }
}
