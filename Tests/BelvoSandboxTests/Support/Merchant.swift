import HTTP
import JSON
import Testing

@testable import BelvoSandbox

/// One who calls the sandbox as a merchant does.
struct Merchant {
    let sandbox: Sandbox

    init(_ change: (inout SandboxConfiguration) -> Void = { _ in }) {
        var configuration = SandboxConfiguration.test()
        change(&configuration)
        sandbox = Sandbox(configuration: configuration)
    }

    static let authorization = "Basic c2FuZGJveC1pZDpzYW5kYm94LXBhc3N3b3Jk"

    /// A call with credentials.
    func call(
        _ method: HTTP.Method, _ target: String, _ body: [UInt8] = [],
        headers extra: KeyValuePairs<HeaderName, String> = [:]
    ) async -> Answered {
        var headers = Headers(extra)
        if !headers.contains("authorization") { headers.append("authorization", Merchant.authorization) }
        if !body.isEmpty { headers.append("content-type", "application/json") }
        let request = Request(method, Target(stringLiteral: target), headers: headers, body: body)
        return Answered(await sandbox.respond(to: request))
    }

    func get(_ target: String) async -> Answered { await call(.get, target) }

    func post(_ target: String, _ body: String, headers: KeyValuePairs<HeaderName, String> = [:]) async -> Answered {
        await call(.post, target, Array(body.utf8), headers: headers)
    }

    /// The id of a new customer.
    func customer() async throws -> String {
        try #require(await post("/payments/br/customers/", Bodies.customer()).text("id"))
    }

    /// A new enrollment with its redirection completed.
    func redirectedEnrollment() async throws -> (id: String, customer: String) {
        let customer = try await customer()
        let created = await post("/payments/br/enrollments/", Bodies.enrollment(customer: customer))
        let id = try #require(created.text("id"))
        let reply = try sandbox.decide(enrollment: id, .approve)
        let completed = await call(.post, "/payments/br/enrollments/complete-redirection/", reply.body)
        #expect(completed.status == 200)
        return (id, customer)
    }

    /// A new challenge for an enrollment whose options are there.
    func challenge(_ enrollment: String) async throws -> String {
        try sandbox.makeReady(enrollment: enrollment)
        let options = await get("/payments/br/enrollments/\(enrollment)/fido-registration-options/")
        return try #require(options.text("challenge"))
    }

    /// A SUCCEEDED enrollment of the device.
    func enrolled(_ device: Device) async throws -> (id: String, customer: String) {
        let (id, customer) = try await redirectedEnrollment()
        let body = device.confirmation(Device.Registration(challenge: try await challenge(id)))
        let confirmed = await call(.post, "/payments/br/enrollments/\(id)/confirm/", body)
        #expect(confirmed.status == 204)
        try sandbox.settle(enrollment: id)
        return (id, customer)
    }

    /// A new intent of that enrollment.
    func intent(_ enrollment: (id: String, customer: String)) async throws -> (id: String, challenge: String) {
        let created = await post("/payments/br/payment-intents/", body(enrollment))
        let options = created.json?["payment_method_information"]?["open_finance_biometric_pix"]?["fido_options"]
        return (try #require(created.text("id")), try #require(options?["challenge"]?.string))
    }

    func body(_ enrollment: (id: String, customer: String), amount: String = "0.13") -> String {
        Bodies.intent(
            amount: amount, customer: enrollment.customer, enrollment: enrollment.id,
            beneficiary: sandbox.beneficiary)
    }
}

/// An answer, easy to look into.
struct Answered {
    let answer: SandboxAnswer

    init(_ answer: SandboxAnswer) { self.answer = answer }

    var status: Int { answer.response.status.code }
    var body: String { String(decoding: answer.response.body, as: UTF8.self) }
    var json: JSONValue? { try? JSONDocument(parsing: answer.response.body).root }
    func text(_ name: String) -> String? { json?[name]?.string }

    /// The fields that an error array names, in order.
    var fields: [String] { json?.elements.compactMap { $0["field"]?.string } ?? [] }
    var codes: [String] { json?.elements.compactMap { $0["code"]?.string } ?? [] }
    var results: [JSONValue] { json?["results"].map { Array($0.elements) } ?? [] }
}
