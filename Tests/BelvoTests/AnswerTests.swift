import Belvo
import Testing

/// Belvo's answers are read when they are as its guides show them.
struct AnswerTests {
    @Test func `a customer's answer is read`() async throws {
        let belvo = Upstream(reply(201, Sample.customerAnswer))
        let customer = try await belvo.client().createCustomer(Sample.newCustomer())
        #expect(customer.id.description == Sample.customer)
        #expect(customer.externalID == Sample.externalID)
        #expect(customer.name == "Ana Souza")
        #expect(customer.identifier == "23******00")
        #expect(customer.createdAt == "2024-11-26T11:20:57.389056Z")
    }

    @Test func `an enrollment's creation is read`() async throws {
        let belvo = Upstream(reply(201, Sample.enrollmentCreated))
        let enrollment = try await belvo.client().createEnrollment(Sample.newEnrollment())
        #expect(enrollment.id.description == Sample.enrollment)
        #expect(enrollment.externalID == nil)
        #expect(enrollment.type == "open_finance_biometric_pix")
        #expect(enrollment.status == .pending)
        #expect(enrollment.statusReasonCode == nil)
        #expect(enrollment.details.status == .awaitingAccountHolderValidation)
        #expect(enrollment.details.customer?.description == Sample.customer)
        #expect(enrollment.details.institution?.description == Sample.institution)
        #expect(enrollment.details.platform == "IOS")
        #expect(enrollment.details.name == "First Enrollment")
        #expect(enrollment.details.callbackURL == "https://merchant.example/enrollment/callback")
        #expect(
            enrollment.details.redirectURL == "https://www.user-banking-institution.com/?enrollment_request=true"
        )
        #expect(enrollment.details.payerInformation == nil)
        #expect(enrollment.metadata == nil)
        #expect(enrollment.createdAt == "2024-11-26T11:20:57.389056Z")
        #expect(enrollment.updatedAt == "2024-11-26T11:20:57.389056Z")
    }

    @Test func `a callback accepted with 200 may have failed the enrollment`() async throws {
        let belvo = Upstream(reply(200, Sample.enrollmentFailed))
        let enrollment = try await belvo.client().completeRedirection(
            .rejected(state: "s", error: "access_denied", errorDescription: nil)
        )
        #expect(enrollment.status == .failed)
        #expect(enrollment.statusReasonCode == "insufficient_funds")
        #expect(enrollment.statusReasonMessage == "No funds")
        #expect(enrollment.externalID == Sample.externalID)
        #expect(enrollment.details.expiresAt == "2022-10-31T00:00:00Z")
        #expect(enrollment.metadata == (try Sample.json("{}")))
    }

    @Test func `a payer's account is kept as Belvo wrote it`() async throws {
        let belvo = Upstream(reply(200, Sample.enrollmentFailed))
        let enrollment = try await belvo.client().readEnrollment(Sample.id(Sample.enrollment))
        let payer = try #require(enrollment.details.payerInformation)
        #expect(Sample.enrollmentFailed.contains(String(decoding: payer.bytes, as: UTF8.self)))
        #expect(
            String(decoding: payer.bytes, as: UTF8.self).hasPrefix(#"{"bank_account":{"institution_id":"188716fb""#))
    }

    @Test func `registration options are handed over exactly as Belvo wrote them`() async throws {
        let belvo = Upstream(reply(200, Sample.registrationOptions))
        let answer = try await belvo.client().readRegistrationOptions(of: Sample.id(Sample.enrollment))
        guard case .ready(let options) = answer else {
            Issue.record("not ready")
            return
        }
        #expect(String(decoding: options.json.bytes, as: UTF8.self) == Sample.registrationOptions)
        #expect(options.challenge == "R3dsT2REOE5oZ25JbVE")
        #expect(options.timeoutMilliseconds == nil)
    }

    @Test(arguments: [
        (200, ""), (200, "{}"), (200, "null"), (200, #"{"challenge":null}"#), (200, #"{"challenge":""}"#),
        (200, #"{"rp":{"id":"belvo.com"}}"#), (202, ""), (202, "{}"), (202, "Accepted"), (204, ""),
        (404, #"{"detail":"Not found."}"#), (409, "[]"), (425, ""),
    ])
    func `registration options that the bank has not given are no error`(status: Int, body: String) async throws {
        let belvo = Upstream(reply(status, body))
        let answer = try await belvo.client().readRegistrationOptions(of: Sample.id(Sample.enrollment))
        #expect(answer == .notYet)
    }

    @Test(arguments: [200, 201, 202, 204])
    func `any 2xx accepts a confirmation and an authorization`(status: Int) async throws {
        let belvo = Upstream(reply(status), reply(status, "{}"))
        let client = try belvo.client()
        let data = try Sample.json(Sample.confirmationData)
        try await client.confirmEnrollment(Sample.id(Sample.enrollment), confirmationData: data)
        try await client.authorizePaymentIntent(Sample.id(Sample.intent), Sample.authorization())
    }

    @Test func `a payment intent's creation is read, its FIDO options untouched`() async throws {
        let belvo = Upstream(reply(201, Sample.intentCreated))
        let intent = try await belvo.client().createPaymentIntent(Sample.newPaymentIntent())
        #expect(intent.id.description == Sample.intent)
        #expect(intent.status == .pending)
        #expect(intent.amountCentavos == nil)
        #expect(intent.customer == nil)
        let pix = intent.biometricPix
        #expect(pix.provider == "belvo")
        #expect(pix.consentID == "urn:nubank:023230b9-1211-3420-bf6d-e7d56e87bdf1")
        #expect(pix.endToEndID == "E432158152025061315009OzwiMmDSO7")
        #expect(pix.externalPaymentID == "bde3bb4d-5b48-4875-b69d-7f2beee4fb42")
        #expect(pix.providerRequestID == "afc99a8b-e0c7-4a8b-85d7-193bd70e4cc0")
        let options = try #require(pix.fidoOptions)
        #expect(options.challenge == "oGW096Hvr8sVUIOf-10iqWI7ZfSx2GhoU359bBRK9h4")
        #expect(options.timeoutMilliseconds == 300_000)
        let text = String(decoding: options.json.bytes, as: UTF8.self)
        #expect(text.hasPrefix(#"{ "rpId":"belvo.com", "timeout":300000,"#) && Sample.intentCreated.contains(text))
    }

    @Test func `a payment intent shows all that proves a payment`() async throws {
        let belvo = Upstream(reply(200, Sample.intentSucceeded))
        let intent = try await belvo.client().readPaymentIntent(Sample.id(Sample.intent))
        #expect(intent.status == .succeeded)
        #expect(intent.externalID == Sample.externalID)
        #expect(intent.amountCentavos == 13)
        #expect(intent.currency == "BRL")
        #expect(intent.customer?.description == Sample.customer)
        #expect(intent.beneficiaryBankAccount?.description == Sample.bankAccount)
        #expect(intent.enrollment?.description == Sample.enrollment)
        #expect(intent.biometricPix.endToEndID == "E432158152025061315009OzwiMmDSO7")
        #expect(intent.biometricPix.fidoOptions == nil)
        #expect(intent.failureCode == nil)
        #expect(intent.metadata == (try Sample.json(#"{"basket":7}"#)))
        #expect(intent.createdAt == "2025-06-13T15:00:01.000001Z")
        #expect(intent.updatedAt == "2025-06-13T15:00:09.000002Z")
    }

    @Test func `a failed payment says why`() async throws {
        let belvo = Upstream(
            reply(
                200,
                #"{"id":"\#(Sample.intent)","status":"FAILED","failure_code":"consent_expired","#
                    + #""failure_message":"payment consent was not accepted in time"}"#
            )
        )
        let intent = try await belvo.client().readPaymentIntent(Sample.id(Sample.intent))
        #expect(intent.status == .failed)
        #expect(intent.failureCode == "consent_expired")
        #expect(intent.failureMessage == "payment consent was not accepted in time")
    }

    @Test(arguments: [
        (#""0.13""#, 13), ("0.13", 13), ("0.1", 10), ("7", 700), (#""1020.00""#, 102_000), ("0.130", 13),
        ("90071992547409.93", 9_007_199_254_740_993), (#""92233720368547758.07""#, Int64.max), ("0", 0),
    ])
    func `an amount is read exactly from a string or a number`(json: String, centavos: Int64) async throws {
        let belvo = Upstream(reply(200, #"{"id":"\#(Sample.intent)","amount":\#(json)}"#))
        let intent = try await belvo.client().readPaymentIntent(Sample.id(Sample.intent))
        #expect(intent.amountCentavos == centavos)
    }

    @Test(arguments: [
        (#""\#(Sample.customer)""#, Sample.customer),
        (#"{"id":"\#(Sample.customer)","identifier":"23******00"}"#, Sample.customer),
        (#"{"identifier":"23******00"}"#, nil),
        ("null", nil),
    ])
    func `another object is known by its id or left out`(json: String, id: String?) async throws {
        let belvo = Upstream(reply(200, #"{"id":"\#(Sample.intent)","customer":\#(json)}"#))
        let intent = try await belvo.client().readPaymentIntent(Sample.id(Sample.intent))
        #expect(intent.customer?.description == id)
    }

    @Test func `a widget token says when it ends`() async throws {
        let belvo = Upstream(reply(200, #"{"access":"\#(Sample.token)","refresh":"r.e.f"}"#))
        let token = try await belvo.client().mintWidgetToken()
        #expect(token.access.text == Sample.token)
        #expect(token.access.expiresAtSeconds == 1_732_620_057)
        #expect(token.refresh?.text == "r.e.f")
    }

    @Test(arguments: [
        "opaque", "a.b", "a.b.c.d", "a.?.c", "a.e30.c", "a..c",
        "a.bm90IEpTT04.c",  // not JSON
        "a.eyJleHAiOiJzb29uIn0.c",  // {"exp":"soon"}
        "a.eyJleHAiOjFlOX0.c",  // {"exp":1e9}
        "a.eyJleHAiOjkuMkUrMTh9.c",  // {"exp":9.2E+18}
    ])
    func `a token that says nothing about its end is still a token`(text: String) async throws {
        let belvo = Upstream(reply(200, #"{"access":"\#(text)"}"#))
        let token = try await belvo.client().mintWidgetToken()
        #expect(token.access.text == text)
        #expect(token.access.expiresAtSeconds == nil)
        #expect(token.refresh == nil)
    }

    @Test func `a token's end may have a fraction`() async throws {
        // {"exp":1732620057.9}
        let belvo = Upstream(reply(200, #"{"access":"a.eyJleHAiOjE3MzI2MjAwNTcuOX0.c"}"#))
        #expect(try await belvo.client().mintWidgetToken().access.expiresAtSeconds == 1_732_620_057)
    }
}
