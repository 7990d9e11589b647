import HTTP
import JSON
import SoftwareAuthenticator
import Transport

/// An app with an enrollment whose user is at the bank, on a connection of its own.
struct WaitingApp: Sendable {
    private let app: App
    private let path: String
    /// What stands for the enrollment in the bank's redirect.
    private let state: String
    /// Which state of the enrollment the app has.
    private let tag: String

    /// Makes a user a customer and starts enrollments.
    static func start(_ count: Int, of number: Int, _ user: App, at origin: URL.Origin) async throws -> [WaitingApp] {
        let banks = try await user.get("/v1/institutions")
        guard let institution = banks["results"]?.elements.first(where: { _ in true })?["id"]?.string else {
            throw Unexpected("no bank", banks)
        }
        let customer = try await user.send(.put, "/v1/customer") {
            $0.member("name", "Waiting \(number)")
            $0.member("identifier", TaxNumber.cpf(number))
        }
        guard let tenure = customer["account_tenure"]?.string else {
            throw Unexpected("a customer without tenure", customer)
        }
        let riskSignals = Phone().riskSignals(accountTenure: tenure)
        var apps: [WaitingApp] = []
        for _ in 0..<count {
            let enrollment = try await user.send(.post, "/v1/enrollments") {
                $0.member("institution", institution)
                $0.member("platform", "IOS")
                $0.memberRaw("risk_signals", riskSignals)
            }
            guard let id = enrollment["id"]?.string,
                let page = enrollment["next_action"]?["url"]?.string.flatMap({ URL($0) }),
                let state = try FormFields(parsing: page.target.query ?? "")["state"]
            else { throw Unexpected("an enrollment without redirection", enrollment) }
            let path = "/v1/enrollments/\(id)"
            let answer = try await user.answer(to: Request(.get, Target(path: path)))
            guard let tag = answer.headers["etag"] else { throw Unexpected("an enrollment without a tag", enrollment) }
            let own = App(client: Client(origin: origin, configuration: .patient), token: user.token)
            apps.append(WaitingApp(app: own, path: path, state: state, tag: tag))
        }
        return apps
    }

    /// Reads the enrollment once.
    func read() async throws {
        _ = try await app.get(path)
    }

    /// Reads it on another connection than the app's own.
    func read(through client: Client) async throws {
        _ = try await App(client: client, token: app.token).get(path)
    }

    /// Waits for as long as it takes, and gives the moment at which the app was told.
    func waitForChange() async throws -> Monotonic {
        while true {
            let request = Request(.get, Target(path: path, query: "wait=30"), headers: ["if-none-match": tag])
            let answer = try await app.answer(to: request, within: .seconds(40))
            if answer.status == .ok { return .now() }
            guard answer.status == .notModified else { throw Unexpected(request, answer) }
        }
    }

    /// The user has said no at the bank, and the bank's redirect comes in elsewhere.
    func giveUp(through other: Client) async throws {
        _ = try await App(client: other, token: app.token).send(.post, "/v1/enrollments/complete-redirection") {
            $0.member("state", state)
            $0.member("error", "access_denied")
        }
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
