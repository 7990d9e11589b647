import AppRequests
import HTTP
import JSON
import SoftwareAuthenticator
import Transport

/// A user whose app does not give up: whatever goes wrong, it asks again, with the same key.
final class User: Sendable {
    let subject: String
    let testimony: Testimony
    /// Shared with the other users.
    let client: Client
    private let app: AppConnection
    let phone = LockedBox(Phone())
    let enrollment = LockedBox("")
    let signals = LockedBox<[UInt8]>([])

    private init(_ subject: String, token: String, client: Client, telling testimony: Testimony) {
        self.subject = subject
        self.testimony = testimony
        self.client = client
        app = AppConnection(token: token) { request in
            do {
                let response = try await client.send(request, deadline: Self.deadline)
                testimony.hear(response, to: request, of: subject)
                return response
            } catch {
                testimony.hear(nil, to: request, of: subject)
                throw error
            }
        }
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
        let enrolled = try await app.enroll(number, with: phone.value) { begun in
            guard let belvoID = begun["belvo_id"]?.string else { throw Unexpected("an enrollment without ids", begun) }
            let approval = try await belvo.control(.post, Target(path: "/sandbox/enrollments/\(belvoID)/approve"))
            guard let parameters = approval?["parameters"] else { throw CommandFailed(description: "no approval") }
            guard let bringBack else { return Array(parameters.raw) }
            try await bringBack(parameters)
            return nil
        }
        phone.value = enrolled.phone
        signals.value = enrolled.riskSignals
        enrollment.value = enrolled.enrollment
    }

    /// Sends a request once; nil when there was no answer.
    func ask(_ request: AppRequest) async -> AppAnswer? {
        // Why there was none does not matter to an app: it asks again.
        try? await app.ask(request)
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
