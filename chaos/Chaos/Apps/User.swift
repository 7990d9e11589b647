import HTTP
import JSON
import SoftwareAuthenticator
import Transport

/// A user whose app does not give up: whatever goes wrong, it asks again, with the same key.
final class User: Sendable {
    let subject: String
    let client: Client
    let token: String
    let testimony: Testimony
    let phone = LockedBox(Phone())
    let enrollment = LockedBox("")
    let signals = LockedBox<[UInt8]>([])

    private init(_ subject: String, token: String, client: Client, telling testimony: Testimony) {
        self.subject = subject
        self.token = token
        self.client = client
        self.testimony = testimony
    }

    /// Longer than the server itself waits for any client.
    private static let deadline = Duration.seconds(8)

    /// Users with an enrolled phone each. Nothing goes wrong yet.
    static func enroll(
        _ count: Int, at door: UInt16, belvo: BelvoStandIn, telling testimony: Testimony, tools: Tools,
        settings: [String: String]
    ) async throws -> [User] {
        guard let url = URL("http://127.0.0.1:\(door)/") else { preconditionFailure("a URL made of a port") }
        var configuration = ClientConfiguration()
        configuration.connectionsMax = 512
        let client = Client(origin: url.origin, configuration: configuration)
        var users: [User] = []
        for number in 0..<count {
            let subject = "user-\(number)"
            let token = try await Tokens.shared.token(of: subject, tools: tools, settings: settings)
            users.append(User(subject, token: token, client: client, telling: testimony))
        }
        let tasks = users.enumerated().map { number, user in Loop.task { try await user.enroll(number, at: belvo) } }
        for task in tasks { try await task.value }
        return users
    }

    /// From a new user to an enrollment that can pay.
    ///
    /// `bringBack` carries what the bank hands over to the server; by default the app does so.
    func enroll(
        _ number: Int, at belvo: BelvoStandIn, bringBack: ((_ parameters: JSONValue) async throws -> Void)? = nil
    ) async throws {
        let banks = try await expect(.get, "/v1/institutions")
        guard let institution = banks["results"]?.elements.first(where: { _ in true })?["id"]?.string else {
            throw CommandFailed(description: "no bank")
        }
        let customer = try await expect(
            .put, "/v1/customer",
            JSONWriter.object {
                $0.member("name", "User \(number)")
                $0.member("identifier", TaxNumber.cpf(number))
            })
        let signals = phone.value.riskSignals(accountTenure: customer["account_tenure"]?.string ?? "")
        self.signals.value = signals
        let begun = try await expect(
            .post, "/v1/enrollments",
            JSONWriter.object {
                $0.member("institution", institution)
                $0.member("platform", "IOS")
                $0.memberRaw("risk_signals", signals)
            })
        guard let id = begun["id"]?.string, let belvoID = begun["belvo_id"]?.string else {
            throw CommandFailed(description: "an enrollment without ids")
        }
        let approval = try await belvo.control(.post, Target(path: "/sandbox/enrollments/\(belvoID)/approve"))
        guard let parameters = approval?["parameters"] else { throw CommandFailed(description: "no approval") }
        if let bringBack {
            try await bringBack(parameters)
        } else {
            try await expect(.post, "/v1/enrollments/complete-redirection", Array(parameters.raw))
        }
        let path = "/v1/enrollments/\(id)"
        let ready = try await look(at: path) { $0["next_action"]?["fido_registration_options"] != nil }
        guard let options = ready["next_action"]?["fido_registration_options"] else {
            throw CommandFailed(description: "no options")
        }
        let confirmation = try phone.update { phone in Result { try phone.register(options) } }.get()
        try await expect(
            .post, "\(path)/confirm", JSONWriter.object { $0.memberRaw("confirmation_data", confirmation) })
        _ = try await look(at: path) { $0["status"]?.string == "SUCCEEDED" }
        enrollment.value = id
    }

    private func look(at path: String, until isSo: (JSONValue) -> Bool) async throws -> JSONValue {
        let deadline = Monotonic.now() + .seconds(30)
        while Monotonic.now() < deadline {
            let resource = try await expect(.get, path)
            if isSo(resource) { return resource }
            try await Loop.sleep(.milliseconds(100))
        }
        throw CommandFailed(description: "\(path) does not come to its end")
    }

    @discardableResult
    private func expect(_ method: HTTP.Method, _ path: String, _ body: [UInt8] = []) async throws -> JSONValue {
        let heard = await ask(method, path, body)
        guard let heard, (200..<300).contains(heard.status) else {
            throw CommandFailed(description: "\(method) \(path): \(heard?.text ?? "no answer")")
        }
        return try JSONDocument(parsing: heard.body.isEmpty ? Array("null".utf8) : heard.body).root
    }

    /// An answer that arrived.
    struct Heard: Sendable {
        let status: Int
        let body: [UInt8]

        var json: JSONValue? { try? JSONDocument(parsing: body).root }
        /// The `code` of a problem.
        var code: String? { json?["code"]?.string }
        var text: String { "\(status) \(String(decoding: body.prefix(400), as: UTF8.self))" }
    }

    /// Sends a request once; nil when there was no answer.
    func ask(_ method: HTTP.Method, _ path: String, _ body: [UInt8] = [], key: String? = nil) async -> Heard? {
        var request = Request(method, Target(path: path), headers: ["authorization": "Bearer \(token)"], body: body)
        if !body.isEmpty { request.headers.append("content-type", "application/json") }
        if let key { request.headers.append("idempotency-key", key) }
        // Why there was none does not matter to an app: it asks again.
        let response = try? await client.send(request, deadline: Self.deadline)
        testimony.hear(response?.status.code ?? 0, to: request, of: subject, body: response?.body ?? [])
        return response.map { Heard(status: $0.status.code, body: $0.body) }
    }
}

/// Tokens of users, each made once: the secret is always the same.
final class Tokens: Sendable {
    static let shared = Tokens()
    private let known = LockedBox<[String: String]>([:])

    func token(of subject: String, tools: Tools, settings: [String: String]) async throws -> String {
        if let token = known.value[subject] { return token }
        let run = try await runTool(
            [tools.program("merchant"), "token", "--subject", subject], environment: settings,
            log: "\(tools.scratch)/token.log")
        let token = run.output.filter { !$0.isWhitespace }
        known.update { $0[subject] = token }
        return token
    }
}

/// Brazilian tax numbers of people who do not exist.
enum TaxNumber {
    /// A CPF with its two check digits, another for each number.
    static func cpf(_ number: Int) -> String {
        // Beginning with 1 and 2, so that no number is one digit repeated, which would be none.
        var digits = "\(120_000_000 + number)".utf8.map { Int($0) - 48 }
        for _ in 0..<2 {
            // Weights from 2 upwards, from the right; a remainder of 10 is written 0.
            let sum = digits.reversed().enumerated().reduce(0) { $0 + $1.element * ($1.offset + 2) }
            digits.append(sum * 10 % 11 % 10)
        }
        return digits.map(String.init).joined()
    }
}
