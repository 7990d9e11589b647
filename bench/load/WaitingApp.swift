import AppRequests
import HTTP
import JSON
import SoftwareAuthenticator
import Transport

/// An app with an enrollment whose user is at the bank, on a connection of its own.
struct WaitingApp: Sendable {
    private let client: Client
    private let token: String
    private let enrollment: String
    /// What stands for the enrollment in the bank's redirect.
    private let state: String
    /// Which state of the enrollment the app has.
    private let tag: String

    /// Makes the user of a token a customer and starts enrollments.
    static func start(
        _ count: Int, of number: Int, token: String, at origin: URL.Origin, through client: Client
    ) async throws -> [WaitingApp] {
        let user = AppConnection(token: token, at: client)
        let (institution, riskSignals) = try await user.introduce(number, with: Phone())
        var apps: [WaitingApp] = []
        for _ in 0..<count {
            let enrollment = try await user.expect(
                .createEnrollment(institution: institution, riskSignals: riskSignals))
            guard let id = enrollment["id"]?.string,
                let page = enrollment["next_action"]?["url"]?.string.flatMap({ URL($0) }),
                let state = try FormFields(parsing: page.target.query ?? "")["state"]
            else { throw Unexpected("an enrollment without redirection", enrollment) }
            let request = AppRequest.readEnrollment(id).message(token: token)
            let answer = try await client.send(request, deadline: AppConnection.deadline)
            guard let tag = answer.headers["etag"] else { throw Unexpected("an enrollment without a tag", enrollment) }
            let own = Client(origin: origin, configuration: .patient)
            apps.append(WaitingApp(client: own, token: token, enrollment: id, state: state, tag: tag))
        }
        return apps
    }

    /// Reads the enrollment once, on another connection than the app's own if one is named.
    func read(through other: Client? = nil) async throws {
        try await AppConnection(token: token, at: other ?? client).expect(.readEnrollment(enrollment))
    }

    /// Waits for as long as it takes, and gives the moment at which the app was told.
    func waitForChange() async throws -> Monotonic {
        var request = AppRequest.readEnrollment(enrollment).message(token: token)
        request.target = Target(path: request.target.path, query: "wait=30")
        request.headers.append("if-none-match", tag)
        while true {
            let answer = try await client.send(request, deadline: .seconds(40))
            if answer.status == .ok { return .now() }
            guard answer.status == .notModified else { throw Unexpected(request, answer) }
        }
    }

    /// The user has said no at the bank, and the bank's redirect comes in elsewhere.
    func giveUp(through other: Client) async throws {
        let refusal = JSONWriter.object {
            $0.member("state", state)
            $0.member("error", "access_denied")
        }
        try await AppConnection(token: token, at: other).expect(.completeRedirection(refusal))
    }
}

extension ClientConfiguration {
    /// One connection, kept for as long as the server does.
    fileprivate static var patient: ClientConfiguration {
        var configuration = ClientConfiguration()
        configuration.connectionsMax = 1
        configuration.idleDeadline = .seconds(600)
        return configuration
    }
}
