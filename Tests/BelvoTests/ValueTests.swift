import Belvo
import HTTP
import Testing

/// The values from which requests are built, and what must never show in print.
struct ValueTests {
    @Test(arguments: [
        "", "x", "82666cde3f804350b0f724cb8e9294c9", "{82666cde-3f80-4350-b0f7-24cb8e9294c9}",
        "82666cde-3f80-4350-b0f7-24cb8e9294c", "82666cde-3f80-4350-b0f7-24cb8e9294c99",
        "82666cde-3f80-4350-b0f7-24cb8e9294cg", " 82666cde-3f80-4350-b0f7-24cb8e9294c9",
        "82666cde-3f80-4350-b0f7-24cb8e9294c9/", "8266-6cde3f80-4350-b0f7-24cb8e9294c9",
        // Foundation reads up to a NUL and takes this one for a UUID.
        "82666cde-3f80-4350-b0f7-24cb8e9294c9\u{0}/../",
        "8２666cde-3f80-4350-b0f7-24cb8e9294c9",
    ])
    func `what is no UUID is no id`(text: String) {
        #expect(Enrollment.ID(text) == nil)
    }

    @Test func `an id is spelled in lower case and compared by value`() throws {
        let id = try #require(Enrollment.ID(Sample.enrollment.uppercased()))
        #expect(id.description == Sample.enrollment)
        #expect(id == Enrollment.ID(Sample.enrollment))
        #expect(id == Enrollment.ID(id.uuid))
    }

    @Test(arguments: [
        "", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
        "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0\n",
        "00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01",
    ])
    func `what is no traceparent is not passed on`(text: String) {
        #expect(TraceParent(text) == nil)
    }

    @Test(arguments: [("", "p"), ("i", ""), ("a:b", "p"), ("i\n", "p"), ("i", "p\r\nx: y"), ("i", "\u{0}")])
    func `credentials that Basic authentication cannot carry are none`(id: String, password: String) {
        #expect(Credentials(secretID: id, secretPassword: password) == nil)
    }

    @Test(arguments: [
        ("a", "b", "YTpi"), ("a", "bc", "YTpiYw=="), ("a", "bcd", "YTpiY2Q="), ("a", "ü:", "YTrDvDo="),
        ("a", "~~~?>", "YTp+fn4/Pg=="),
    ])
    func `credentials are sent in base64`(id: String, password: String, base64: String) async throws {
        let credentials = try #require(Credentials(secretID: id, secretPassword: password))
        let belvo = Upstream(reply(200, "[]"))
        _ = try await belvo.client { $0.credentials = credentials }.listInstitutions()
        #expect(belvo.requests[0].headers["authorization"] == "Basic \(base64)")
    }

    @Test(arguments: ["", "{", "{}x", "risk"])
    func `what is no JSON is never passed on as such`(text: String) {
        #expect(throws: (any Error).self) { try RawJSON(parsing: Array(text.utf8)) }
    }

    @Test func `secrets and personal data do not show in print`() async throws {
        let belvo = Upstream(
            reply(200, Sample.customerAnswer),
            reply(200, Sample.enrollmentFailed),
            reply(200, Sample.intentCreated),
            reply(200, Sample.registrationOptions),
            reply(200, #"{"access":"\#(Sample.token)","refresh":"r.e.f"}"#)
        )
        let client = try belvo.client()
        var printed = ""
        for value: Any in [
            try await client.readCustomer(Sample.id(Sample.customer)),
            try await client.readEnrollment(Sample.id(Sample.enrollment)),
            try await client.readPaymentIntent(Sample.id(Sample.intent)),
            try await client.readRegistrationOptions(of: Sample.id(Sample.enrollment)),
            try await client.mintWidgetToken(),
            Sample.newCustomer(), try Sample.newEnrollment(), try Sample.newPaymentIntent(),
            try Sample.authorization(), Redirection.approved(state: "st", code: "co", idToken: "idt"), client,
        ] {
            print(value, to: &printed)
            debugPrint(value, to: &printed)
            print([value], to: &printed)
            dump(value, to: &printed)
        }
        for secret in [
            "Ana", "231002", "23***", "6789", "R3dsT2", "oGW096", "eyJ", "r.e.f", "a1b2c3", "AfD-uI4L", "c2Vj",
            "secret-", "Pedido", "\"st\"", "\"co\"", "idt", "enrollment_request", "urn:", "E43215",
        ] {
            #expect(!printed.contains(secret), "\(secret)")
        }
        #expect(printed.contains("enrollment \(Sample.enrollment) FAILED"))
        #expect(printed.contains("payment intent \(Sample.intent) PENDING"))
        #expect(printed.contains("customer \(Sample.customer)"))
    }
}
