import Belvo
import HTTP
import Testing

/// Answers that claim success and are none (reliability.md, promise 12): nothing is guessed from them, and a
/// call that changes something is in doubt after them rather than failed.
struct HostileAnswerTests {
    /// Bodies that answer no call that expects an object.
    static let bodies: [(name: String, body: String)] = [
        ("nothing", ""),
        ("HTML", "<html><body>OK</body></html>"),
        ("truncated", #"{"id":"82666cde-3f80-4350-b0f7-24cb8e9294c9","stat"#),
        ("two texts", #"{"access":"a.b.c"}{"access":"a.b.c"}"#),
        ("null", "null"),
        ("an array", "[]"),
        ("a string", #""82666cde-3f80-4350-b0f7-24cb8e9294c9""#),
        ("no id", #"{"status":"PENDING"}"#),
        ("a null id", #"{"id":null,"status":"PENDING"}"#),
        ("a number for an id", #"{"id":7,"status":"PENDING"}"#),
        ("a path for an id", #"{"id":"../../customers","status":"PENDING"}"#),
        ("an id with a tail", #"{"id":"82666cde-3f80-4350-b0f7-24cb8e9294c9/confirm","status":"PENDING"}"#),
        ("two ids", #"{"id":"82666cde-3f80-4350-b0f7-24cb8e9294c9","id":"\#(Sample.stranger)"}"#),
        ("an empty object", "{}"),
        ("an error in disguise", #"[{"code":"required","message":"This field is required."}]"#),
        ("depth", String(repeating: "[", count: 100_000)),
        ("size", #"{"id":""# + String(repeating: "x", count: 2_200_000) + #""}"#),
    ]

    @Test(arguments: bodies.indices, Operation.all.filter { !["", "[]"].contains($0.success) })
    func `an object that is not there is never taken for one`(index: Int, operation: Operation) async throws {
        let (name, body) = HostileAnswerTests.bodies[index]
        // Before the bank has spoken, options without a challenge are what is expected.
        let isExpected = operation.call == .readRegistrationOptions && !HostileAnswerTests.isNonsense(for: name)
        let belvo = Upstream(reply(200, body))
        do {
            try await operation.perform(belvo.client())
            #expect(isExpected, "\(name) was taken for a success")
        } catch let error as BelvoError {
            switch (error, operation.call.kind) {
            case (.outcomeUnknown(.malformedAnswer), .creating), (.outcomeUnknown(.malformedAnswer), .moving): break
            case (.malformedAnswer, .reading), (.malformedAnswer, .listing): break
            default: Issue.record("\(name) to \(operation.call) means \(error)")
            }
        }
    }

    /// Whether a body is no answer even to a client that waits for registration options.
    private static func isNonsense(for name: String) -> Bool {
        ["HTML", "truncated", "two texts", "an array", "a string", "two ids", "an error in disguise", "depth", "size"]
            .contains(name)
    }

    @Test(arguments: [
        #""amount":true"#, #""amount":"0,13""#, #""amount":"-0.13""#, #""amount":-0.13"#, #""amount":0.135"#,
        #""amount":1e2"#, #""amount":"1e400""#, #""amount":"NaN""#, #""amount":"""#, #""amount":".5""#,
        #""amount":"5.""#,
        #""amount":"1.2.3""#, #""amount":" 1""#, #""amount":"+1""#, #""amount":"92233720368547758.08""#,
        #""amount":99999999999999999999999999"#, #""amount":"٣""#, #""amount":{"value":"0.13"}"#,
        #""currency":986"#, #""currency":["BRL"]"#,
        #""customer":"23100299900""#, #""customer":7"#, #""customer":{"id":"x"}"#, #""customer":{"id":null}"#,
        #""external_id":7"#, #""external_id":{}"#, #""external_id":"a\u0007b""#,
        #""payment_method_details":"x""#, #""payment_method_details":{"open_finance_biometric_pix":[]}"#,
        #""payment_method_details":{"open_finance_biometric_pix":{"enrollment":"x"}}"#,
        #""payment_method_details":{"open_finance_biometric_pix":{"beneficiary_bank_account":1}}"#,
        #""payment_method_information":[]"#,
        #""payment_method_information":{"open_finance_biometric_pix":{"fido_options":"x"}}"#,
        #""payment_method_information":{"open_finance_biometric_pix":{"fido_options":{"challenge":7}}}"#,
        #""payment_method_information":{"open_finance_biometric_pix":{"end_to_end_id":7}}"#,
        #""payment_method_information":{"open_finance_biometric_pix":{"consent_id":{}}}"#,
    ])
    func `a member on which money hangs is right or the whole answer is nonsense`(member: String) async throws {
        let body = #"{"id":"\#(Sample.intent)","status":"SUCCEEDED",\#(member)}"#
        let belvo = Upstream(reply(200, body), reply(201, body))
        let client = try belvo.client()
        let reading = try await #require(throws: BelvoError.self) {
            try await client.readPaymentIntent(Sample.id(Sample.intent))
        }
        let creating = try await #require(throws: BelvoError.self) {
            try await client.createPaymentIntent(Sample.newPaymentIntent())
        }
        guard case .malformedAnswer(let reason, _) = reading else {
            Issue.record("\(reading)")
            return
        }
        #expect(creating == .outcomeUnknown(.malformedAnswer(reason: reason)))
    }

    @Test(arguments: [
        #""details":"x""#, #""details":{"customer":"x"}"#, #""details":{"institution":7}"#,
        #""details":{"redirect_url":7}"#, #""details":{"redirect_url":"javascript:alert(1)"}"#,
        #""details":{"redirect_url":"https://bank.example@evil.example/"}"#,
        #""details":{"redirect_url":"https://bank.example/\u202Egpj"}"#,
        #""details":{"redirect_url":"http://bank.example/"}"#, #""details":{"redirect_url":"https://"}"#,
        #""details":{"redirect_url":"https://bank.example/ x"}"#, #""details":{"redirect_url":"//bank.example/"}"#,
        #""details":{"redirect_url":"https://bank.example/\"><script>"}"#,
        #""details":{"redirect_url":"https://bank.example/\r\nSet-Cookie: a"}"#, #""external_id":[]"#,
    ])
    func `an enrollment that would lead somewhere else is nonsense`(member: String) async throws {
        let belvo = Upstream(reply(200, #"{"id":"\#(Sample.enrollment)","status":"PENDING",\#(member)}"#))
        let error = try await #require(throws: BelvoError.self) {
            try await belvo.client().readEnrollment(Sample.id(Sample.enrollment))
        }
        #expect(error.isNonsense)
    }

    @Test(arguments: [
        "https://bank.example", "HTTPS://bank.example/a?b=c#d", "https://bank.example/?scope=a|b",
        "http://127.0.0.1:9000/approve?x=1", "http://localhost/approve", "http://[::1]:9000/approve",
    ])
    func `an address that a person may open is kept as it came`(address: String) async throws {
        let body = #"{"id":"\#(Sample.enrollment)","details":{"redirect_url":"\#(address)"}}"#
        let enrollment = try await Upstream(reply(200, body)).client().readEnrollment(Sample.id(Sample.enrollment))
        #expect(enrollment.details.redirectURL == address)
    }

    @Test(arguments: [
        #""status_reason_message":{"pt":"não"}"#, #""status_reason_code":7"#, #""created_at":1732620057"#,
        #""type":null"#, #""metadata":"text""#, #""details":{"name":7,"platform":[],"expires_at":{}}"#,
        #""unheard_of":{"deep":[[[]]]}"#,
    ])
    func `a member that only informs spoils nothing`(member: String) async throws {
        let belvo = Upstream(reply(200, #"{"id":"\#(Sample.enrollment)","status":"SUCCEEDED",\#(member)}"#))
        let enrollment = try await belvo.client().readEnrollment(Sample.id(Sample.enrollment))
        #expect(enrollment.status == .succeeded)
        #expect(enrollment.statusReasonMessage == nil)
    }

    @Test func `a text that is none, anybody's in a list too, hides nothing else`() async throws {
        let odd = #""metadata":{"\ud800":"\u0000"},"failure_message":"half \ud83d of a pair, and \u0000""#
        let body = #"{"id":"\#(Sample.intent)","status":"SUCCEEDED",\#(odd)}"#
        let belvo = Upstream(reply(200, body), reply(200, Sample.page(body)))
        let client = try belvo.client()
        #expect(try await client.readPaymentIntent(Sample.id(Sample.intent)).status == .succeeded)
        let list = try await client.listPaymentIntents(createdFrom: "2026-11-21", to: "2026-11-22")
        #expect(list.items.map(\.status) == [.succeeded])
        #expect(list.unreadable.isEmpty)
    }

    @Test func `an answer about another object is nonsense`() async throws {
        let body = #"{"id":"\#(Sample.stranger)","status":"SUCCEEDED"}"#
        let belvo = Upstream(reply(200, body), reply(200, body), reply(200, body))
        let client = try belvo.client()
        let malformedAnswer = BelvoError.malformedAnswer(reason: "id is another object's")
        await #expect(throws: malformedAnswer) { try await client.readPaymentIntent(Sample.id(Sample.intent)) }
        await #expect(throws: malformedAnswer) { try await client.readEnrollment(Sample.id(Sample.enrollment)) }
        await #expect(throws: malformedAnswer) { try await client.readCustomer(Sample.id(Sample.customer)) }
    }

    @Test func `a creation answered with another's identity is in doubt`() async throws {
        let body = #"{"id":"\#(Sample.intent)","status":"PENDING","external_id":"another"}"#
        let belvo = Upstream(reply(201, body), reply(201, body), reply(201, body))
        let client = try belvo.client()
        let doubt = BelvoError.outcomeUnknown(.malformedAnswer(reason: "external_id is another object's"))
        await #expect(throws: doubt) { try await client.createPaymentIntent(Sample.newPaymentIntent()) }
        await #expect(throws: doubt) { try await client.createEnrollment(Sample.newEnrollment()) }
        // A customer under another name is who has this tax number already.
        let known = await #expect(throws: BelvoError.self) { try await client.createCustomer(Sample.newCustomer()) }
        if case .conflict? = known {} else { Issue.record("\(String(describing: known))") }
    }

    @Test func `identities are the same when their bytes are`() async throws {
        // U+212A KELVIN SIGN, for which Swift's `==` takes a K.
        let body = #"{"id":"\#(Sample.customer)","external_id":"order-\u212A"}"#
        let customer = NewCustomer(externalID: "order-K", identifier: "23100299900", name: "Ana Souza")
        let client = try Upstream(reply(201, body)).client()
        await #expect(throws: BelvoError.self) { try await client.createCustomer(customer) }
    }

    @Test(arguments: [
        #"{"refresh":"a.b.c"}"#, #"{"access":""}"#, #"{"access":7}"#, #"{"access":"a b"}"#, #"{"access":"é"}"#,
    ])
    func `a token that cannot be sent as one is nonsense`(body: String) async throws {
        let error = try await #require(throws: BelvoError.self) {
            try await Upstream(reply(200, body)).client().mintWidgetToken()
        }
        #expect(error.isNonsense)
    }

    @Test func `a reason repeats nothing of the answer`() async throws {
        let belvo = Upstream(reply(200, #"{"id":"\#(Sample.intent)","customer":"23100299900"}"#))
        await #expect(throws: BelvoError.malformedAnswer(reason: "customer is no UUID")) {
            try await belvo.client().readPaymentIntent(Sample.id(Sample.intent))
        }
    }
}
