import AppRequests
import HTTP
import JSON
import SoftwareAuthenticator
import Transport

/// A user with an app on an enrolled phone.
struct User: Sendable {
    private let app: AppConnection
    private var phone: EnrolledPhone
    /// Whether each payment has a reference of its own.
    private let namesReferences: Bool

    /// Enrolls a phone for each token, all at once.
    static func enrollAll(
        tokens: [String], namingReferences: Bool, at merchant: Client, bank: Client, on loop: EventLoop
    ) async throws -> [User] {
        let tasks = tokens.enumerated().map { number, token in
            loop.task {
                let app = AppConnection(token: token, at: merchant)
                let phone = try await app.enroll(number) { try await approve($0, at: bank) }
                return User(app: app, phone: phone, namesReferences: namingReferences)
            }
        }
        var users: [User] = []
        for task in tasks { users.append(try await task.value) }
        return users
    }

    /// The user says yes on the bank's page; gives what the bank hands to the app.
    private static func approve(_ enrollment: JSONValue, at bank: Client) async throws -> [UInt8] {
        guard let page = enrollment["next_action"]?["url"]?.string.flatMap({ URL($0) }) else {
            throw Unexpected("an enrollment without redirection", enrollment)
        }
        var form = try FormFields(parsing: page.target.query ?? "")
        form.append("decision", "approve")
        let request = Request(
            .post, Target(path: page.target.path), headers: ["content-type": "application/x-www-form-urlencoded"],
            body: Array(form.encoded.utf8))
        let response = try await bank.send(request, deadline: AppConnection.deadline)
        guard let callback = response.headers["location"].flatMap({ URL($0) }) else {
            throw Unexpected(request, response)
        }
        let handed = try FormFields(parsing: callback.target.query ?? "")
        return JSONWriter.object { body in
            for name in ["state", "code", "id_token"] { body.member(name, handed[name]) }
        }
    }

    /// Opens a payment and gives it as the server shows it, ready to be signed.
    func createPayment() async throws -> JSONValue {
        let payment = try await app.expect(
            .createPayment(
                from: phone.enrollment, reference: namesReferences ? .randomKey() : nil, key: .randomKey()))
        guard payment["next_action"]?["fido_options"] != nil else {
            throw Unexpected("a payment without options", payment)
        }
        return payment
    }

    /// Opens a payment and signs it; gives its id.
    mutating func signPayment() async throws -> String {
        let payment = try await createPayment()
        guard let id = payment["id"]?.string, let options = payment["next_action"]?["fido_options"] else {
            throw Unexpected("a payment without id", payment)
        }
        let assertion = try phone.phone.sign(options)
        try await app.expect(.authorizePayment(id, riskSignals: phone.riskSignals, assertion: assertion))
        return id
    }

    /// Opens a payment, signs it, and looks until it is paid, as often as the server tells an app to.
    mutating func pay() async throws {
        try await app.look(.readPayment(try await signPayment())) { try $0.hasSucceeded }
    }
}

extension AppConnection {
    /// Longer than the server itself waits for any client.
    static let deadline = Duration.seconds(15)

    init(token: String, at merchant: Client) {
        self.init(token: token) { try await merchant.send($0, deadline: Self.deadline) }
    }
}

extension String {
    /// 128 random bits in hexadecimal: as good as a UUID for a key that is used once.
    static func randomKey() -> String {
        String(UInt64.random(in: .min ... .max), radix: 16) + "-" + String(UInt64.random(in: .min ... .max), radix: 16)
    }
}
