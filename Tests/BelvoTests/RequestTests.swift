import Belvo
import HTTP
import Testing

/// The exact requests to Belvo, call by call (belvo-api.md §0 to §6).
struct RequestTests {
    @Test func `a widget token is asked for without a body`() async throws {
        let belvo = Upstream(reply(200, #"{"access":"a.b.c"}"#))
        _ = try await belvo.client().mintWidgetToken()
        #expect(
            try belvo.transcript() == """
                POST /payments/api/widget-token/
                \(RequestTests.fields)
                content-type: application/json
                """
        )
    }

    @Test func `a widget token is renewed at the path that is named, with the refresh token in the body`() async throws
    {
        let belvo = Upstream(reply(200, #"{"access":"a.b.c","refresh":"n.e.w"}"#))
        let refresh = try #require(WidgetToken.Secret("r.e.f"))
        let token = try await belvo.client().refreshWidgetToken(refresh, at: "/somewhere/refresh/")
        #expect(token.access.text == "a.b.c" && token.refresh?.text == "n.e.w")
        #expect(
            try belvo.transcript() == """
                POST /somewhere/refresh/
                \(RequestTests.fields)
                content-type: application/json

                {"refresh":"r.e.f"}
                """
        )
    }

    @Test func `institutions are listed`() async throws {
        let belvo = Upstream(reply(200, Sample.page()))
        _ = try await belvo.client().listInstitutions()
        #expect(
            try belvo.transcript() == """
                GET /payments/br/institutions/
                \(RequestTests.fields)
                """
        )
    }

    @Test func `a customer is created under our identity, with what is known of the person`() async throws {
        let belvo = Upstream(reply(201, Sample.customerAnswer))
        var customer = Sample.newCustomer()
        customer.email = "ana@example.com"
        customer.phone = "+5511999990000"
        _ = try await belvo.client().createCustomer(customer)
        #expect(
            try belvo.transcript() == """
                POST /payments/br/customers/
                \(RequestTests.fields)
                content-type: application/json

                {"identifier":"23100299900","name":"Ana Souza","external_id":"\(Sample.externalID)",\
                "email":"ana@example.com","phone":"+5511999990000"}
                """
        )
    }

    @Test func `what is not known of a customer is left out`() async throws {
        let belvo = Upstream(reply(201, Sample.customerAnswer))
        _ = try await belvo.client().createCustomer(Sample.newCustomer())
        #expect(
            try belvo.transcript().hasSuffix(
                #"{"identifier":"23100299900","name":"Ana Souza","external_id":"\#(Sample.externalID)"}"#
            )
        )
    }

    @Test func `customers are found by our identity, escaped`() async throws {
        let belvo = Upstream(reply(200, Sample.page()))
        _ = try await belvo.client().findCustomers(externalID: "a b&c=d/é")
        #expect(
            try belvo.transcript() == """
                GET /payments/br/customers/?external_id=a+b%26c%3Dd%2F%C3%A9
                \(RequestTests.fields)
                """
        )
    }

    @Test func `a customer is read by Belvo's id`() async throws {
        let belvo = Upstream(reply(200, Sample.customerAnswer))
        _ = try await belvo.client().readCustomer(Sample.id(Sample.customer.uppercased()))
        #expect(
            try belvo.transcript() == """
                GET /payments/br/customers/f78b14f3-5c1a-409a-966f-7b052b067cf0/
                \(RequestTests.fields)
                """
        )
    }

    @Test func `an enrollment carries the risk signals byte for byte`() async throws {
        let belvo = Upstream(reply(201, Sample.enrollmentCreated))
        _ = try await belvo.client().createEnrollment(Sample.newEnrollment())
        #expect(
            try belvo.transcript() == """
                POST /payments/br/enrollments/
                \(RequestTests.fields)
                content-type: application/json

                {"type":"open_finance_biometric_pix","external_id":"\(Sample.externalID)",\
                "details":{"customer":"\(Sample.customer)","institution":"\(Sample.institution)","platform":"IOS",\
                "callback_url":"https://merchant.example/enrollment/callback","risk_signals":\(Sample.riskSignals)}}
                """
        )
    }

    @Test func `an enrollment's name and metadata go along when there are some`() async throws {
        let belvo = Upstream(reply(201, Sample.enrollmentCreated))
        var enrollment = try Sample.newEnrollment()
        enrollment.name = "Celular \"novo\""
        enrollment.platform = .android
        enrollment.metadata = try Sample.json(#"{ "a" : 1.0 }"#)
        _ = try await belvo.client().createEnrollment(enrollment)
        let transcript = try belvo.transcript()
        #expect(transcript.contains(#""metadata":{ "a" : 1.0 },"details":"#))
        #expect(transcript.contains(#""name":"Celular \"novo\"","platform":"ANDROID","#))
    }

    @Test(
        arguments: [
            (
                .approved(state: "st", code: "co de", idToken: "eyJ.x.y"),
                #"{"state":"st","code":"co de","id_token":"eyJ.x.y"}"#
            ),
            (.approved(state: "st", code: "co", idToken: nil), #"{"state":"st","code":"co"}"#),
            (
                .rejected(state: "st", error: "access_denied", errorDescription: "não"),
                #"{"state":"st","error":"access_denied","error_description":"não"}"#
            ),
            (
                .rejected(state: "st", error: "server_error", errorDescription: nil),
                #"{"state":"st","error":"server_error"}"#
            ),
        ] as [(Redirection, String)]
    )
    func `a bank's callback is passed on as it came`(redirection: Redirection, body: String) async throws {
        let belvo = Upstream(reply(200, Sample.enrollmentFailed))
        _ = try await belvo.client().completeRedirection(redirection)
        #expect(
            try belvo.transcript() == """
                POST /payments/br/enrollments/complete-redirection/
                \(RequestTests.fields)
                content-type: application/json

                \(body)
                """
        )
    }

    @Test func `registration options are asked for`() async throws {
        let belvo = Upstream(reply(200, Sample.registrationOptions))
        _ = try await belvo.client().readRegistrationOptions(of: Sample.id(Sample.enrollment))
        #expect(
            try belvo.transcript() == """
                GET /payments/br/enrollments/82666cde-3f80-4350-b0f7-24cb8e9294c9/fido-registration-options/
                \(RequestTests.fields)
                """
        )
    }

    @Test func `a confirmation carries the device's answer byte for byte`() async throws {
        let belvo = Upstream(reply(204))
        let data = try Sample.json(Sample.confirmationData)
        try await belvo.client().confirmEnrollment(Sample.id(Sample.enrollment), confirmationData: data)
        #expect(
            try belvo.transcript() == """
                POST /payments/br/enrollments/82666cde-3f80-4350-b0f7-24cb8e9294c9/confirm/
                \(RequestTests.fields)
                content-type: application/json

                {"confirmation_data":\(Sample.confirmationData)}
                """
        )
    }

    @Test func `an enrollment is read by Belvo's id`() async throws {
        let belvo = Upstream(reply(200, Sample.enrollmentCreated))
        _ = try await belvo.client().readEnrollment(Sample.id(Sample.enrollment))
        #expect(
            try belvo.transcript() == """
                GET /payments/br/enrollments/82666cde-3f80-4350-b0f7-24cb8e9294c9/
                \(RequestTests.fields)
                """
        )
    }

    @Test func `enrollments are listed by device and found by our identity`() async throws {
        let belvo = Upstream(reply(200, "[]"), reply(200, "[]"))
        let client = try belvo.client()
        _ = try await client.listEnrollments(deviceID: "a+b/c=")
        _ = try await client.findEnrollments(externalID: Sample.externalID)
        #expect(
            belvo.requests.map(\.target.description) == [
                "/payments/br/enrollments/?device_id=a%2Bb%2Fc%3D",
                "/payments/br/enrollments/?external_id=01978a3e-1c2d-7e4f-8a9b-0c1d2e3f4a5b",
            ]
        )
    }

    @Test func `a payment intent names everything that the payment is about`() async throws {
        let belvo = Upstream(reply(201, Sample.intentCreated))
        _ = try await belvo.client().createPaymentIntent(Sample.newPaymentIntent())
        #expect(
            try belvo.transcript() == """
                POST /payments/br/payment-intents/
                \(RequestTests.fields)
                content-type: application/json
                belvo-idempotency-key: 0f1e2d3c-4b5a-4968-8776-655443322110

                {"amount":0.13,"allowed_payment_method_types":["open_finance_biometric_pix"],\
                "customer":"\(Sample.customer)","description":"Pedido 7","statement_description":"LOJA EXEMPLO",\
                "external_id":"\(Sample.externalID)","payment_method_details":{"open_finance_biometric_pix":{\
                "beneficiary_bank_account":"\(Sample.bankAccount)","enrollment":"\(Sample.enrollment)"}},"confirm":true}
                """
        )
    }

    @Test func `a payment intent's metadata go along untouched`() async throws {
        let belvo = Upstream(reply(201, Sample.intentCreated))
        var intent = try Sample.newPaymentIntent()
        intent.metadata = try Sample.json(#"{"basket":  7.10}"#)
        _ = try await belvo.client().createPaymentIntent(intent)
        #expect(try belvo.transcript().contains(#""metadata":{"basket":  7.10},"payment_method_details":"#))
    }

    @Test(arguments: [
        (1, "0.01"), (13, "0.13"), (30, "0.30"), (100, "1.00"), (123_412, "1234.12"),
        (9_007_199_254_740_993, "90071992547409.93"), (Int64.max, "92233720368547758.07"),
    ])
    func `an amount never passes through a binary float`(centavos: Int64, text: String) async throws {
        let belvo = Upstream(reply(201, Sample.intentCreated))
        _ = try await belvo.client().createPaymentIntent(Sample.newPaymentIntent(centavos: centavos))
        #expect(try belvo.transcript().contains("{\"amount\":\(text),"))
    }

    @Test func `an authorization carries signals and assertion byte for byte`() async throws {
        let belvo = Upstream(reply(204))
        try await belvo.client().authorizePaymentIntent(Sample.id(Sample.intent), Sample.authorization())
        #expect(
            try belvo.transcript() == """
                POST /payments/br/payment-intents/5f3b1c1e-0f43-4a2a-9a7e-7a0f2b1f4f55/authorize/
                \(RequestTests.fields)
                content-type: application/json

                {"risk_signals":\(Sample.riskSignals),"assertion":\(Sample.assertion)}
                """
        )
    }

    @Test func `payment intents are read by Belvo's id and found by ours`() async throws {
        let belvo = Upstream(reply(200, Sample.intentSucceeded), reply(200, Sample.page()))
        let client = try belvo.client()
        _ = try await client.readPaymentIntent(Sample.id(Sample.intent))
        _ = try await client.findPaymentIntents(externalID: Sample.externalID)
        #expect(
            belvo.requests.map(Upstream.transcript) == [
                """
                GET /payments/br/payment-intents/5f3b1c1e-0f43-4a2a-9a7e-7a0f2b1f4f55/
                \(RequestTests.fields)
                """,
                """
                GET /payments/br/payment-intents/?external_id=01978a3e-1c2d-7e4f-8a9b-0c1d2e3f4a5b
                \(RequestTests.fields)
                """,
            ]
        )
    }

    @Test func `a trace goes along when there is one`() async throws {
        let belvo = Upstream(reply(200, Sample.enrollmentCreated))
        let trace = try #require(TraceParent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"))
        _ = try await belvo.client().readEnrollment(Sample.id(Sample.enrollment), trace: trace)
        #expect(
            try belvo.transcript().hasSuffix(
                "\ntraceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
            )
        )
    }

    @Test(arguments: Operation.all)
    func `every call is one request with a slash at its end and the time of the configuration`(
        operation: Operation
    ) async throws {
        let belvo = Upstream(reply(200, operation.success))
        try await operation.perform(belvo.client { $0.timeout = .seconds(7) })
        #expect(belvo.requests.count == 1)
        #expect(belvo.requests[0].target.path.hasSuffix("/"))
        #expect(belvo.timeouts == [.seconds(7)])
    }

    /// The credentials that every request carries: `secret-id:secret-password` in base64.
    private static let fields = """
        authorization: Basic c2VjcmV0LWlkOnNlY3JldC1wYXNzd29yZA==
        accept: application/json
        user-agent: biometric-pix-merchant
        """
}
