import HTTP
import JSON
import Testing

@testable import BelvoSandbox

/// The forms of a registration and of a signature that Belvo's types allow, and the guide's one form of them.
@Suite struct CredentialFormTests {
    /// A change to what a device gives, and what the strict reading answers to it.
    struct Form: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var strictStatus = 400
        let change: @Sendable (String) -> String

        static let all = [
            Form(testDescription: "the guide's", strictStatus: 204) { $0 },
            Form(testDescription: "padded") { text in
                text.replacing(/"(?:id|rawId)":"[^"]+/) { $0.output + "=" }
            },
            Form(testDescription: "standard alphabet") { text in
                text.replacing(/"clientDataJSON":"[^"]+/) {
                    $0.output.replacing("-", with: "+").replacing("_", with: "/") + "="
                }
            },
            Form(testDescription: "without attachment and type") { text in
                text.replacing(#""authenticatorAttachment":"platform","type":"public-key","#, with: "")
            },
            Form(testDescription: "null for attachment and type") { text in
                text.replacing(#":"platform""#, with: ":null").replacing(#":"public-key""#, with: ":null")
            },
            Form(testDescription: "further members of the response", strictStatus: 403) { text in
                text.replacing(
                    #""response":{"#, with: #""response":{"transports":["internal"],"publicKeyAlgorithm":-7,"#)
            },
            Form(testDescription: "further members", strictStatus: 403) { text in
                text.replacing(#""rawId":"#, with: #""x":0,"clientExtensionResults":{},"rawId":"#)
            },
        ]
    }

    @Test(arguments: Form.all, [CredentialForm.tolerant, .strict])
    func `a registration and a signature are read as the reading has it`(
        form: Form, reading: CredentialForm
    ) async throws {
        let merchant = Merchant { $0.variants.credentials = reading }
        let device = Device(credentialID: Array("a credential of thirty-two bytes".utf8))
        let (id, customer) = try await merchant.redirectedEnrollment()
        let registration = device.confirmation(Device.Registration(challenge: try await merchant.challenge(id)))
        let path = "/payments/br/enrollments/\(id)/confirm/"
        let expected = reading == .strict ? form.strictStatus : 204
        #expect(
            await merchant.post(path, form.change(String(decoding: registration, as: UTF8.self))).status == expected)
        if expected != 204 { #expect(await merchant.call(.post, path, registration).status == 204) }
        try merchant.sandbox.settle(enrollment: id)

        let intent = try await merchant.intent((id, customer))
        let authorization = device.authorization(Device.Signature(challenge: intent.challenge))
        let signed = form.change(String(decoding: authorization, as: UTF8.self))
        #expect(await merchant.post("/payments/br/payment-intents/\(intent.id)/authorize/", signed).status == expected)
        if expected == 204 { #expect(merchant.sandbox.calls.last?.remark == nil) }
    }

    @Test func `a user handle is a text in either reading`() async throws {
        for reading in CredentialForm.allCases {
            let merchant = Merchant { $0.variants.credentials = reading }
            let device = Device()
            let intent = try await merchant.intent(try await merchant.enrolled(device))
            var signature = Device.Signature(challenge: intent.challenge)
            signature.userHandle = nil
            let body = device.authorization(signature)
            let answer = await merchant.call(.post, "/payments/br/payment-intents/\(intent.id)/authorize/", body)
            #expect(answer.fields == ["assertion.response.userHandle"], "\(reading)")
        }
    }

    @Test(arguments: [
        (AppID.phones, "IOS", true), (.phones, "ANDROID", true), (.phones, "BROWSER", false),
        (.everywhere, "BROWSER", true), (.nowhere, "IOS", false),
    ])
    func `the appid extension is for phones, unless the reading has it otherwise`(
        reading: AppID, platform: String, isThere: Bool
    ) async throws {
        let merchant = Merchant { $0.variants.appID = reading }
        let options = try await merchant.options(on: platform)
        #expect(options.json?["extensions"]?["appid"]?.string == (isThere ? "true" : nil))
        #expect((options.json?["extensions"] != nil) == isThere)
    }

    @Test func `options are for the relying party, and ask for the keys, that they are set to`() async throws {
        let merchant = Merchant {
            $0.relyingParty = "localhost"
            $0.variants.algorithms = .es256
            $0.variants.residentKey = .required
            $0.variants.optionBytes = .base64
        }
        let options = try await merchant.options(on: "BROWSER")
        #expect(options.json?["rp"]?["id"]?.string == "localhost")
        #expect(options.json?["pubKeyCredParams"]?.elements.map { $0["alg"]?.int64 } == [-7])
        #expect(options.json?["authenticatorSelection"]?["residentKey"]?.string == "required")
        #expect(options.json?["authenticatorSelection"]?["requireResidentKey"]?.bool == true)
        let challenge = try #require(options.text("challenge"))
        #expect(challenge.hasSuffix("=") && Base64.decode(challenge)?.count == 32)
    }

    @Test(arguments: [("localhost", "localhost", "SUCCEEDED"), ("localhost", "belvo.com", "FAILED")])
    func `a credential is for the relying party that the options name`(
        set: String, used: String, end: String
    ) async throws {
        let merchant = Merchant {
            $0.relyingParty = set
            $0.variants.enrollmentSettlement = .immediately
        }
        let (id, _) = try await merchant.redirectedEnrollment()
        var registration = Device.Registration(challenge: try await merchant.challenge(id))
        registration.relyingParty = used
        let body = Device().confirmation(registration)
        #expect(await merchant.call(.post, "/payments/br/enrollments/\(id)/confirm/", body).status == 204)
        #expect(merchant.sandbox.status(of: id) == end)
    }

    @Test(arguments: [
        ("-03", true), ("-03:00", true), ("+05.5", true), ("+05.75", true), ("-09.5", true), ("+5.5", false),
        ("+05.", false), ("+05.555", false), ("05.5", false), ("+0530", false), ("+05,5", false), ("", false),
    ])
    func `an offset is spelled in hours, with minutes or decimals`(offset: String, isTaken: Bool) async throws {
        let merchant = Merchant()
        let signals = Bodies.signals.replacing(
            /"userTimeZoneOffset":"[^"]*"/, with: #""userTimeZoneOffset":"\#(offset)""#)
        #expect(signals.contains("\"\(offset)\""))
        let body = Bodies.enrollment(customer: try await merchant.customer(), signals: signals)
        let answer = await merchant.post("/payments/br/enrollments/", body)
        #expect(answer.status == (isTaken ? 201 : 400))
        #expect(answer.fields == (isTaken ? [] : ["details.risk_signals.userTimeZoneOffset"]))
    }

    @Test func `an intent needs no text for the statement, and shows its money within its charge`() async throws {
        let merchant = Merchant { $0.variants.paymentSettlement = .immediately }
        let device = Device()
        let enrollment = try await merchant.enrolled(device)
        let body = merchant.body(enrollment).replacing(/"statement_description":"[^"]*",?/, with: "")
        #expect(!body.contains("statement"))
        let created = await merchant.post("/payments/br/payment-intents/", body)
        #expect(created.status == 201, "\(created.body)")
        #expect(created.json?["statement_description"]?.isNull == true)
        let id = try #require(created.text("id"))
        let pix = created.json?["payment_method_information"]?["open_finance_biometric_pix"]
        let challenge = try #require(pix?["fido_options"]?["challenge"]?.string)
        let signed = device.authorization(Device.Signature(challenge: challenge))
        #expect(await merchant.call(.post, "/payments/br/payment-intents/\(id)/authorize/", signed).status == 204)
        let paid = await merchant.get("/payments/br/payment-intents/\(id)/")
        let charge = try #require(paid.json?["charges"]?.elements.first { _ in true })
        let money = try #require(charge["transactions"]?.elements.first { _ in true })
        #expect(money["transaction_type"]?.string == "INFLOW" && money["payment_intent"]?.string == id)
        let listed = await merchant.get("/payments/br/transactions/").results
        #expect(
            listed.map(\.raw).map { String(decoding: $0, as: UTF8.self) } == [
                String(decoding: money.raw, as: UTF8.self)
            ])
    }
}

extension Merchant {
    /// The registration options of a new enrollment on such a platform.
    fileprivate func options(on platform: String) async throws -> Answered {
        let body = Bodies.enrollment(customer: try await customer()).replacing("\"IOS\"", with: "\"\(platform)\"")
        let id = try #require(await post("/payments/br/enrollments/", body).text("id"))
        let reply = try sandbox.decide(enrollment: id, .approve)
        _ = await call(.post, "/payments/br/enrollments/complete-redirection/", reply.body)
        try sandbox.makeReady(enrollment: id)
        return await get("/payments/br/enrollments/\(id)/fido-registration-options/")
    }
}
