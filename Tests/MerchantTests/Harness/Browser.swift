import BelvoSandbox
import HTTP

/// The user's browser, which a bank sends back: without a token, and with forms in place of JSON.
struct Browser: Sendable {
    let client: HTTP.Client
    var languages: String?

    static let path = "/enrollments/callback"

    /// Follows the bank's redirect.
    func follow(_ reply: BankReply, method: HTTP.Method = .get) async throws -> Answer {
        try await open("?\(Browser.form(reply))", method: method)
    }

    /// Opens the callback address with this behind its path.
    func open(_ query: String, method: HTTP.Method = .get) async throws -> Answer {
        try await send(Request(method, Target(stringLiteral: Browser.path + query)))
    }

    /// Submits the bank's form.
    func post(_ reply: BankReply) async throws -> Answer {
        try await post(form: Browser.form(reply))
    }

    func post(form: String, type: String = "application/x-www-form-urlencoded") async throws -> Answer {
        let target = Target(stringLiteral: Browser.path)
        return try await send(Request(.post, target, headers: ["content-type": type], body: Array(form.utf8)))
    }

    static func form(_ reply: BankReply) -> String {
        var fields = FormFields()
        for (name, value) in reply.parameters { fields.append(name, value) }
        return fields.encoded
    }

    private func send(_ request: Request) async throws -> Answer {
        var request = request
        if let languages { request.headers.append("accept-language", languages) }
        return Answer(try await client.send(request, deadline: .seconds(20)))
    }
}

extension TestHarness {
    /// A browser that asks for these languages.
    func browser(_ languages: String? = "en") -> Browser { Browser(client: client, languages: languages) }

    /// How often Belvo was called at an endpoint.
    func countCalls(_ endpoint: Endpoint) -> Int {
        sandbox.calls.filter { $0.endpoint == endpoint }.count
    }

    /// Has so many looks taken, one after the other.
    func poll(times count: Int) async throws {
        for _ in 0..<count { try await poll() }
    }

    /// Lets that much time pass, and has the looks taken that are due by then.
    func pass(_ duration: Duration) async throws {
        try await advance(by: duration)
        try await work()
    }
}
