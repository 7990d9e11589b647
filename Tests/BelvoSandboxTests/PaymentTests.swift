import HTTP
import JSON
import Testing

@testable import BelvoSandbox

@Suite struct PaymentTests {
    @Test func `every bad field of a payment is named at once`() async throws {
        let merchant = Merchant()
        let body = """
            {"amount":"0.001","allowed_payment_method_types":"open_finance_biometric_pix","customer":1,"confirm":false,\
            "payment_method_details":{"open_finance_biometric_pix":{"enrollment":"x"}}}
            """
        let answer = await merchant.post("/payments/br/payment-intents/", body)
        #expect(answer.status == 400)
        #expect(
            answer.fields == [
                "amount", "allowed_payment_method_types", "customer", "description",
                "payment_method_details.open_finance_biometric_pix.beneficiary_bank_account",
                "payment_method_details.open_finance_biometric_pix.enrollment", "confirm",
            ])
    }

    @Test(arguments: [
        ("0", AmountForm.numberOrString, 400), ("-0.01", .numberOrString, 400), ("0.125", .numberOrString, 400),
        ("1e400", .numberOrString, 400), ("null", .numberOrString, 400), ("true", .numberOrString, 400),
        ("\"NaN\"", .numberOrString, 400), ("\"0.13\"", .number, 400), ("0.13", .string, 400),
        ("\"0.13\"", .numberOrString, 201), ("0.13", .numberOrString, 201), ("0.13", .number, 201),
        ("\"0.1\"", .string, 201),
    ])
    func `an amount has at most two decimals, in the spelling asked for`(
        _ amount: String, _ reading: AmountForm, _ status: Int
    ) async throws {
        let merchant = Merchant { $0.variants.amounts = reading }
        let enrollment = try await merchant.enrolled(Device())
        let answer = await merchant.post("/payments/br/payment-intents/", merchant.body(enrollment, amount: amount))
        #expect(answer.status == status)
        #expect(status == 201 || answer.fields == ["amount"])
    }

    @Test func `the same idempotency key gives the first answer again and one intent`() async throws {
        let merchant = Merchant()
        let enrollment = try await merchant.enrolled(Device())
        func create(_ amount: String, key: String) async -> Answered {
            await merchant.post(
                "/payments/br/payment-intents/", merchant.body(enrollment, amount: amount),
                headers: ["belvo-idempotency-key": key])
        }
        #expect(await create("0", key: "a").status == 400)
        let first = await create("0.13", key: "a")
        #expect(first.status == 201)
        #expect(await create("0.13", key: "a").body == first.body)
        #expect(await create("9.99", key: "a").body == first.body)
        #expect(merchant.sandbox.countIntents(externalID: "payment-1").created == 1)
        merchant.sandbox.variants.keyReuse = .refused
        #expect(await create("9.99", key: "a").status == 409)
        #expect(await create("9.99", key: "b").status == 201)
        #expect(merchant.sandbox.countIntents(externalID: "payment-1").created == 2)
    }

    @Test func `an intent is authorized once`() async throws {
        let merchant = Merchant()
        let device = Device()
        let intent = try await merchant.intent(try await merchant.enrolled(device))
        let path = "/payments/br/payment-intents/\(intent.id)/authorize/"
        let body = device.authorization(Device.Signature(challenge: intent.challenge))
        #expect(await merchant.call(.post, path, body).status == 204)
        #expect(await merchant.call(.post, path, body).status == 409)
        try merchant.sandbox.settle(intent: intent.id)
        #expect(await merchant.call(.post, path, body).status == 409)
        #expect(merchant.sandbox.status(of: intent.id) == "SUCCEEDED")
    }

    @Test func `an authorization of the wrong shape is refused and uses nothing up`() async throws {
        let merchant = Merchant()
        let device = Device()
        let intent = try await merchant.intent(try await merchant.enrolled(device))
        let path = "/payments/br/payment-intents/\(intent.id)/authorize/"
        var signature = Device.Signature(challenge: intent.challenge)
        signature.userHandle = nil
        let handless = await merchant.call(.post, path, device.authorization(signature))
        #expect(handless.fields == ["assertion.response.userHandle"])
        signature.userHandle = ""
        let blind = await merchant.call(.post, path, device.authorization(signature, signals: "{}"))
        #expect(blind.status == 400)
        #expect(blind.fields.count == 6)
        #expect(await merchant.call(.post, path, device.authorization(signature)).status == 204)
        #expect(merchant.sandbox.calls.last?.remark == nil)
    }

    @Test(arguments: [(AuthorizePlatform.refused, 403), (.optional, 204), (.required, 204)])
    func `platform in an authorization is refused unless the reading has it`(
        _ reading: AuthorizePlatform, _ status: Int
    ) async throws {
        let merchant = Merchant { $0.variants.authorizePlatform = reading }
        let device = Device()
        let intent = try await merchant.intent(try await merchant.enrolled(device))
        let body = device.authorization(Device.Signature(challenge: intent.challenge))
        let withPlatform = Array("{\"platform\":\"IOS\",".utf8) + body.dropFirst()
        let path = "/payments/br/payment-intents/\(intent.id)/authorize/"
        #expect(await merchant.call(.post, path, withPlatform).status == status)
    }

    @Test func `an intent that nobody signs fails after its timeout, a signed one does not`() async throws {
        let merchant = Merchant()
        let device = Device()
        let enrollment = try await merchant.enrolled(device)
        let (left, signed) = (try await merchant.intent(enrollment), try await merchant.intent(enrollment))
        let body = device.authorization(Device.Signature(challenge: signed.challenge))
        _ = await merchant.call(.post, "/payments/br/payment-intents/\(signed.id)/authorize/", body)
        merchant.sandbox.advance(by: .seconds(300))
        let failed = await merchant.get("/payments/br/payment-intents/\(left.id)/")
        #expect(failed.text("status") == "FAILED")
        #expect(failed.text("failure_code") == "consent_expired")
        #expect(merchant.sandbox.status(of: signed.id) == "PENDING")
        try merchant.sandbox.settle(intent: signed.id)
        #expect(merchant.sandbox.status(of: signed.id) == "SUCCEEDED")
    }

    @Test func `a terminal intent stays what it is`() async throws {
        let merchant = Merchant()
        let intent = try await merchant.intent(try await merchant.enrolled(Device()))
        try merchant.sandbox.fail(intent: intent.id)
        #expect(throws: SteeringFault.wrongState) { try merchant.sandbox.settle(intent: intent.id) }
        #expect(throws: SteeringFault.wrongState) { try merchant.sandbox.turn(intent: intent.id, to: "PROCESSING") }
        #expect(throws: SteeringFault.unknownObject) { try merchant.sandbox.settle(intent: "nobody") }
        #expect(merchant.sandbox.status(of: intent.id) == "FAILED")
        #expect(await merchant.get("/payments/br/transactions/").results.isEmpty)
    }

    @Test func `a timer settles a demo's payment, and the clock is the caller's`() async throws {
        let merchant = Merchant {
            $0.variants = SandboxConfiguration.demo(settleAfter: .seconds(3)).variants
            $0.variants.intentStates = .documented
            $0.variants.fidoReadiness = .afterCalls(0)
            $0.variants.enrollmentSettlement = .immediately
        }
        let device = Device()
        let (id, customer) = try await merchant.redirectedEnrollment()
        let confirmation = device.confirmation(Device.Registration(challenge: try await merchant.challenge(id)))
        _ = await merchant.call(.post, "/payments/br/enrollments/\(id)/confirm/", confirmation)
        let intent = try await merchant.intent((id, customer))
        #expect(merchant.sandbox.status(of: intent.id) == "REQUIRES_ACTION")
        let body = device.authorization(Device.Signature(challenge: intent.challenge))
        _ = await merchant.call(.post, "/payments/br/payment-intents/\(intent.id)/authorize/", body)
        #expect(merchant.sandbox.status(of: intent.id) == "PROCESSING")
        merchant.sandbox.advance(by: .seconds(3))
        #expect(merchant.sandbox.status(of: intent.id) == "SUCCEEDED")
    }

    @Test func `intents are found by reference, and late where lists lag`() async throws {
        let merchant = Merchant()
        let intent = try await merchant.intent(try await merchant.enrolled(Device()))
        let path = "/payments/br/payment-intents/"
        #expect(await merchant.get("\(path)?external_id=payment-1").results.map { $0["id"]?.string } == [intent.id])
        #expect(await merchant.get("\(path)?external_id=payment-2").results.isEmpty)
        merchant.sandbox.variants.listLagMilliseconds = 60_000
        merchant.sandbox.variants.readLagMilliseconds = 60_000
        #expect(await merchant.get("\(path)?external_id=payment-1").results.isEmpty)
        #expect(await merchant.get("\(path)\(intent.id)/").status == 404)
        merchant.sandbox.advance(by: .seconds(60))
        #expect(await merchant.get("\(path)?external_id=payment-1").results.count == 1)
        #expect(await merchant.get("\(path)\(intent.id)/").status == 200)
    }

    @Test func `charges are found alone and below their intent`() async throws {
        let merchant = Merchant()
        let intent = try await merchant.intent(try await merchant.enrolled(Device()))
        let below = await merchant.get("/payments/br/payment-intents/\(intent.id)/charges/").results
        let id = try #require(below.first?["id"]?.string)
        #expect(below.first?["status"]?.string == "PENDING")
        #expect(await merchant.get("/payments/br/charges/\(id)/").text("payment_intent") == intent.id)
        #expect(await merchant.get("/payments/br/payment-intents/\(intent.id)/charges/\(id)/").text("id") == id)
        #expect(await merchant.get("/payments/br/charges/?status__in=FAILED,SUCCEEDED").results.isEmpty)
        try merchant.sandbox.settle(intent: intent.id)
        #expect(await merchant.get("/payments/br/charges/?status__in=FAILED,SUCCEEDED").results.count == 1)
    }
}
