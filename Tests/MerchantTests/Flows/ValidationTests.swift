import BelvoSandbox
import HTTP
import SoftwareAuthenticator
import Testing

@testable import MerchantAPI

/// All faults of a request are reported at once, each with its place.
@Suite struct ValidationTests {
    /// A body with faults, and each fault's place and code in the order in which they are told.
    struct Faulty: Sendable, CustomTestStringConvertible {
        let method: HTTP.Method
        let path: String
        let body: String
        let faults: [String]

        var testDescription: String { "\(method) \(path) \(body.prefix(60))" }
    }

    static let bodies = [
        Faulty(
            method: .put, path: "/v1/customer", body: "{}", faults: ["/name required", "/identifier required"]),
        Faulty(
            method: .put, path: "/v1/customer",
            body: #"{"name": 7, "identifier": "111.111.111-11", "email": "nobody", "phone": "12", "vip": true}"#,
            faults: [
                "/name wrong_type", "/identifier repeated_digit", "/email malformed", "/phone malformed",
                "/vip unknown_member",
            ]),
        Faulty(
            method: .post, path: "/v1/enrollments",
            body: #"""
                {"platform": "WINDOWS", "callback_url": "https://evil.example/", "risk_signals": {"deviceId": ""}}
                """#,
            faults: [
                "/institution required", "/platform not_allowed", "/callback_url not_allowed",
                "/risk_signals/deviceId too_short",
                "/risk_signals/osVersion required", "/risk_signals/userTimeZoneOffset required",
                "/risk_signals/language required", "/risk_signals/screenDimensions required",
                "/risk_signals/accountTenure required",
            ]),
        Faulty(
            method: .post, path: "/v1/enrollments/complete-redirection", body: "{}",
            faults: ["/state required", "/code required"]),
        Faulty(
            method: .post, path: "/v1/enrollments/complete-redirection",
            body: #"{"state": "s", "code": "c", "error": "access_denied"}"#, faults: ["/error contradictory"]),
        Faulty(
            method: .post, path: "/v1/enrollments/00000000-0000-7000-8000-000000000000/confirm",
            body: #"""
                {"confirmation_data": {"authenticatorAttachment": "cross-platform", "id": "a", "rawId": "b",
                 "type": "password", "response": {"clientDataJSON": "a*b"}}}
                """#,
            faults: [
                "/confirmation_data/authenticatorAttachment not_allowed", "/confirmation_data/rawId differs",
                "/confirmation_data/type not_allowed", "/confirmation_data/response/attestationObject required",
                "/confirmation_data/response/clientDataJSON malformed",
            ]),
        Faulty(
            method: .post, path: "/v1/payment-intents/00000000-0000-7000-8000-000000000000/authorize",
            body: #"""
                {"platform": "Ios", "risk_signals": {}, "colour": "red", "assertion": {"id": "YQ", "rawId": "Yg==",
                 "clientExtensionResults": [], "response": {"authenticatorData": "a", "clientDataJSON": "",
                 "signature": "YQ===", "userHandle": "?"}}}
                """#,
            faults: [
                "/platform not_allowed", "/colour unknown_member", "/risk_signals/deviceId required",
                "/risk_signals/osVersion required", "/risk_signals/userTimeZoneOffset required",
                "/risk_signals/language required", "/risk_signals/screenDimensions required",
                "/risk_signals/accountTenure required", "/assertion/rawId differs",
                "/assertion/clientExtensionResults wrong_type", "/assertion/response/authenticatorData malformed",
                "/assertion/response/clientDataJSON too_short", "/assertion/response/signature malformed",
                "/assertion/response/userHandle malformed",
            ]),
        Faulty(
            method: .post, path: "/v1/payment-intents",
            body: #"{"enrollment": "nothing", "amount": 1e2, "metadata": [], "tip": 1}"#,
            faults: [
                "/enrollment not_found", "/amount not_decimal", "/metadata wrong_type", "/description required",
                "/tip unknown_member",
            ]),
    ]

    @Test(arguments: bodies)
    func `every fault of a body is named at once`(faulty: Faulty) async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            let answer = try await app.send(
                faulty.method, faulty.path, faulty.body, headers: ["idempotency-key": "tap"])
            #expect(answer.status == 400)
            #expect(answer.response.headers["content-type"] == "application/problem+json")
            #expect(try answer.string("code") == "invalid_request")
            let told = try zip(answer.each("field", in: "errors"), answer.each("code", in: "errors")).map {
                "\($0 ?? "?") \($1 ?? "?")"
            }
            #expect(told.sorted() == faulty.faults.sorted())
            #expect(harness.sandbox.calls.isEmpty)
        }
    }

    @Test(arguments: [
        "0", "0.00", "-1", "1.234", "1e400", "NaN", "99999999999999", "500.01", "01", "1.", ".5", "true", "null",
        #""""#,
        #""1,00""#, #"" 1""#, #""+1""#,
    ])
    func `an amount that is no amount is refused at its place`(amount: String) async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.enroll()
            let answer = try await client.app.send(
                .post, "/v1/payment-intents", client.paymentBody(enrollment, amount: amount),
                headers: ["idempotency-key": "tap"])
            #expect(answer.status == 400, "\(answer.text)")
            if amount != "NaN", !["01", "1.", ".5"].contains(amount) {
                #expect(try answer.each("field", in: "errors") == ["/amount"])
            } else {
                #expect(try answer.string("code") == "malformed_json")
            }
            #expect(harness.countCalls(.createPaymentIntent) == 0)
        }
    }

    @Test func `what is no JSON is refused with the place of the mistake`() async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            let answer = try await app.send(.put, "/v1/customer", "{\n \"name\": \"Ana\",\n}")
            #expect(answer.status == 400)
            #expect(try answer.string("code") == "malformed_json")
            #expect(try answer.string("detail").contains("line 3, column 1"))
            for body in ["", "[]", "null", "{\"name\": \"a\", \"name\": \"b\"}", "{} {}", "\u{FEFF}{}"] {
                #expect(try await app.send(.put, "/v1/customer", body).status == 400, "\(body)")
            }
        }
    }

    @Test func `a body of another media type is refused with 415`() async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            for operation in Operation.allCases where operation.method != .get && operation.access == .user {
                guard operation != .mintWidgetToken else { continue }
                // What needs no body takes an empty object as well.
                let whenEmpty = operation == .cancelPaymentIntent ? 404 : 400
                let target = "\(operation.path)".replacing("{id}", with: "00000000-0000-7000-8000-000000000000")
                for type in ["text/plain", "application/x-www-form-urlencoded", "application/jsonp"] {
                    let answer = try await app.raw(
                        operation.method, target, body: "{}",
                        headers: ["content-type": type, "idempotency-key": "tap"])
                    #expect(answer.status == 415, "\(operation) \(type)")
                }
                let charset = try await app.raw(
                    operation.method, target, body: "{}",
                    headers: ["content-type": "Application/JSON; charset=utf-8", "idempotency-key": "tap"])
                #expect(charset.status == whenEmpty, "\(operation)")
            }
        }
    }

    @Test func `a callback address of somebody else is refused`() async throws {
        try await TestHarness.open { harness in
            let client = try await AppClient.arrive(on: harness)
            for url in [
                "https://evil.example/", "https://shop.example.evil.example/enrollments/callback",
                "https://shop.example/enrollments/callback/", "http://shop.example/enrollments/callback",
                "https://shop.example@evil.example/enrollments/callback", #"https:\\shop.example"#, "",
            ] {
                let body =
                    client.enrollmentBody.dropLast() + #", "callback_url": "\#(url.replacing(#"\"#, with: #"\\"#))"}"#
                let answer = try await client.app.send(.post, "/v1/enrollments", String(body))
                #expect(answer.status == 400, "\(url)")
                #expect(try answer.each("field", in: "errors") == ["/callback_url"], "\(url)")
            }
            #expect(harness.countCalls(.createEnrollment) == 0)
        }
    }

    @Test(arguments: [(Flaw.challenge, "wrong_challenge"), (.type, "wrong_ceremony")])
    func `what answers another challenge or ceremony is not sent to Belvo, and the right answer still is`(
        flaw: Flaw, code: String
    ) async throws {
        try await TestHarness.open { harness in
            var client = try await AppClient.arrive(on: harness)
            let enrollment = try await client.reachFingerprint()
            let unregistered = try await client.confirm(enrollment, with: flaw)
            #expect(unregistered.status == 400)
            #expect(try unregistered.each("code", in: "errors") == [code])
            #expect(harness.countCalls(.confirmEnrollment) == 0)
            #expect(try await client.confirm(enrollment).status == 204)
            try harness.sandbox.settle(enrollment: enrollment.belvoID)
            try await harness.poll()

            let payment = try await client.openPayment(enrollment)
            let unsigned = try await client.authorize(payment, with: flaw)
            #expect(unsigned.status == 400)
            #expect(try unsigned.each("code", in: "errors") == [code])
            #expect(try unsigned.each("field", in: "errors") == ["/assertion/response/clientDataJSON"])
            #expect(harness.countCalls(.authorizePaymentIntent) == 0)
            #expect(try await client.authorize(payment).status == 204)
        }
    }
}
