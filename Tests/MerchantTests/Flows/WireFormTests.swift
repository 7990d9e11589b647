import Belvo
import BelvoSandbox
import HTTP
import JSON
import Payments
import SoftwareAuthenticator
import Testing

@testable import MerchantAPI
@testable import MerchantWorkflows

/// Credentials of browsers, phones and Belvo's SDKs are accepted as they are, whatever members they have and however
/// they spell bytes.
@Suite struct WireFormTests {
    @Test(arguments: WireForm.all)
    func `an app registers and pays with what its platform gives`(form: WireForm) async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.reachFingerprint(on: form.platform)
            let confirmation = #"{"confirmation_data": \#(try form.registration(await client.register(enrollment)))}"#
            let confirm = "/v1/enrollments/\(enrollment.id)/confirm"
            for _ in 0..<2 {
                let answer = try await client.app.send(.post, confirm, confirmation)
                #expect(answer.status == 204, "\(answer.text)")
            }
            try harness.sandbox.settle(enrollment: enrollment.belvoID)
            try await harness.poll()
            #expect(try await client.enrollment(enrollment).string("status") == "SUCCEEDED")

            let payment = try await client.openPayment(enrollment)
            let assertion = try form.assertion(client.sign(payment))
            let body = #"{\#(form.beside)"risk_signals": \#(client.signals), "assertion": \#(assertion)}"#
            for _ in 0..<2 {
                let answer = try await client.app.send(.post, "/v1/payment-intents/\(payment.id)/authorize", body)
                #expect(answer.status == 204, "\(answer.text)")
            }
            try harness.sandbox.settle(intent: payment.belvoID)
            try await harness.poll()
            #expect(try await client.payment(payment).string("status") == "SUCCEEDED")
            #expect(harness.countCalls(.confirmEnrollment) == 1 && harness.countCalls(.authorizePaymentIntent) == 1)
        }
    }

    @Test(arguments: WireForm.all)
    func `it is passed on as it came, but for a user handle that is not there`(form: WireForm) throws {
        var phone = Phone()
        let registration = try form.registration(
            phone.register(JSONDocument(parsing: Array(Self.creationOptions.utf8)).root))
        #expect(
            try Self.passedOn(registration, as: "confirmation_data", MerchantAPI.Credential.registration)
                == registration)

        let assertion = try form.assertion(phone.sign(JSONDocument(parsing: Array(Self.requestOptions.utf8)).root))
        let sent = try Self.passedOn(assertion, as: "assertion", MerchantAPI.Credential.assertion)
        let handle = try JSONDocument(parsing: Array(sent.utf8)).root["response"]?["userHandle"]?.string
        switch form.userHandle {
        case nil, .present: #expect(sent == assertion)
        case .null:
            #expect(handle == "")
            #expect(sent.replacing(#""userHandle":"""#, with: #""userHandle":null"#) == assertion)
        case .missing:
            #expect(handle == "")
            #expect(sent.replacing(#","userHandle":"""#, with: "") == assertion)
        }
    }

    @Test func `a signature without a user handle is the same with an empty one`() async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(try await client.enroll())
            let made = try client.sign(payment)
            var form = WireForm(testDescription: "")
            for presence in [WireForm.Presence.missing, .null, .present] {
                form.userHandle = presence
                let body = #"{"risk_signals": \#(client.signals), "assertion": \#(try form.assertion(made))}"#
                let answer = try await client.app.send(.post, "/v1/payment-intents/\(payment.id)/authorize", body)
                #expect(answer.status == 204, "\(presence) \(answer.text)")
            }
            #expect(harness.countCalls(.authorizePaymentIntent) == 1)
        }
    }

    @Test(arguments: OptionBytes.allCases)
    func `a challenge is the same in every spelling that a bank may give it in`(spelling: OptionBytes) async throws {
        try await TestHarness.open { harness in
            harness.sandbox.variants.optionBytes = spelling
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(try await client.enroll())
            #expect(try await client.authorize(payment).status == 204)
        }
    }

    @Test(arguments: [
        ("-_-_AA", "-_-_AA"), ("-_-_AA==", "-_-_AA"), ("+/+/AA==", "-_-_AA"), ("+/+/AA", "-_-_AA=="),
        ("-_-_AA", "+/+/AA=="), ("no base64!", "no base64!"),
    ])
    func `a challenge is compared by its bytes`(given: String, signed: String) throws {
        try ClientData.check(Self.clientData(signed), ceremony: .create, challenge: given)
        let padded =
            Base64URL.encode(
                Array("{\"type\":\"webauthn.create\",\"challenge\":\"\(signed)\"} ".utf8)) + "="
        try ClientData.check(padded, ceremony: .create, challenge: given)
    }

    @Test(arguments: [
        ("-_-_AA", "-_-_BA"), ("-_-_AA", "-_-_"), ("-_-_", "-_-_AA"), ("-_-_AA", ""), ("", ""), ("", "="),
        ("no base64!", "no base64?"), ("AAAA", "A"),
    ])
    func `another challenge is refused in every spelling`(given: String, signed: String) {
        #expect(throws: ClientData.Fault.wrongChallenge) {
            try ClientData.check(Self.clientData(signed), ceremony: .create, challenge: given)
        }
    }

    @Test func `client data of the other ceremony is refused`() {
        #expect(throws: ClientData.Fault.wrongType) {
            try ClientData.check(Self.clientData("AAAA"), ceremony: .get, challenge: "AAAA")
        }
    }

    @Test(arguments: ["*", "A", "e30", "e30=", "bnVsbA", "W10", ""])
    func `what is no client data is refused`(text: String) {
        #expect(throws: ClientData.Fault.malformed) {
            try ClientData.check(text, ceremony: .get, challenge: "AAAA")
        }
    }

    @Test(arguments: [("IOS", 204), ("ios", 204), ("ANDROID", 400), ("browser", 400), ("Ios", 400), ("WINDOWS", 400)])
    func `a platform beside a signature is the enrollment's`(platform: String, status: Int) async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let payment = try await client.openPayment(try await client.enroll())
            let body = #"{"platform": "\#(platform)", \#(try client.authorization(of: payment).dropFirst())"#
            let path = "/v1/payment-intents/\(payment.id)/authorize"
            let answer = try await client.app.send(.post, path, body)
            #expect(answer.status == status, "\(answer.text)")
            if status == 400 { #expect(try answer.each("field", in: "errors") == ["/platform"]) }
            #expect(harness.countCalls(.authorizePaymentIntent) == (status == 204 ? 1 : 0))
            // No user learns from it what another user has.
            let stranger = try await harness.app(of: "bea").send(.post, path, body)
            #expect(stranger.status == (["Ios", "WINDOWS"].contains(platform) ? 400 : 404))
        }
    }

    @Test func `signals without a device's id are refused with where to find it`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            let signals = client.signals.replacing("\"deviceId\"", with: "\"device\"")
            let body = client.enrollmentBody.replacing(client.signals, with: signals)
            let answer = try await client.app.send(.post, "/v1/enrollments", body)
            #expect(answer.status == 400)
            #expect(try answer.each("field", in: "errors") == ["/risk_signals/deviceId"])
            #expect(try answer.each("code", in: "errors") == ["required"])
            #expect(answer.text.contains("visitorId of getDevice()"))
        }
    }

    @Test(arguments: [(400, "invalid"), (422, "ORIGEM_FIDO_INVALIDA"), (400, "too_many_device_registration_attempts")])
    func `what Belvo refuses of a registration is not to be sent again`(status: Int, code: String) async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.reachFingerprint()
            let body = try await client.confirmation(of: enrollment)
            let other = try await client.confirmation(of: enrollment)
            harness.sandbox.next(.refused(status, code: code), on: .confirmEnrollment)
            for _ in 0..<2 {
                let answer = try await client.app.send(.post, "/v1/enrollments/\(enrollment.id)/confirm", body)
                #expect(answer.status == 422, "\(answer.text)")
                #expect(try answer.string("code") == "confirmation_refused")
                #expect(try answer.raw("next_action") == #"{"type":"retry","reason":"enroll_again"}"#)
                #expect(answer.response.headers["retry-after"] == nil)
            }
            let failed = try await client.enrollment(enrollment)
            #expect(try failed.string("status") == "FAILED")
            #expect(try failed.string("status_reason_code") == code)
            #expect(try failed.raw("next_action") == #"{"type":"retry","reason":"enroll_again"}"#)
            #expect(try await client.app.send(.post, "/v1/enrollments/\(enrollment.id)/confirm", other).status == 409)
            #expect(harness.countCalls(.confirmEnrollment) == 1)
        }
    }

    @Test func `what helps after a refused registration is what the bank's reason says, and never to wait`() {
        let advice = [
            "device_not_supports_biometric_authentication": RetryReason.otherBank, "rejected_other": .contactBank,
            "unexpected": .enrollAgain, "expired": .enrollAgain, "timed_out": .enrollAgain,
        ]
        for (code, reason) in advice {
            #expect(RetryReason.afterRefusedConfirmation(failureCode: code) == reason, "\(code)")
        }
        #expect(RetryReason.afterRefusedConfirmation(failureCode: nil) == .enrollAgain)
    }

    private static let creationOptions = #"""
        {"rp": {"id": "belvo.com"}, "user": {"id": "dXNlcg"}, "challenge": "Y2hhbGxlbmdl",
         "pubKeyCredParams": [{"type": "public-key", "alg": -7}]}
        """#
    private static let requestOptions = #"{"rpId": "belvo.com", "challenge": "Y2hhbGxlbmdl"}"#

    private static func clientData(_ challenge: String) -> String {
        Base64URL.encode(Array("{\"type\":\"webauthn.create\",\"challenge\":\"\(challenge)\"}".utf8))
    }

    /// A member as Belvo gets it.
    private static func passedOn(
        _ text: String, as name: String, _ read: (JSONReader) -> MerchantAPI.Credential?
    ) throws -> String {
        let reader = JSONReader(try JSONDocument(parsing: Array("{\"\(name)\": \(text)}".utf8)).root)
        let credential = try #require(read(reader))
        #expect(reader.isFaultless)
        return String(decoding: credential.raw.bytes, as: UTF8.self)
    }
}

extension AppClient {
    /// Registers with the registration options as the authenticator reads them.
    fileprivate mutating func register(_ enrollment: Enrollment) async throws -> [UInt8] {
        let options = try await app.send(.get, "/v1/enrollments/\(enrollment.id)/fido-registration-options")
        return try phone.register(options.json)
    }

    /// Signs the payment's options as the authenticator reads them.
    fileprivate mutating func sign(_ payment: OpenedPayment) throws -> [UInt8] {
        let pix = try payment.answer.json["payment_method_information"]?["open_finance_biometric_pix"]
        return try phone.sign(#require(pix?["fido_options"]))
    }
}
