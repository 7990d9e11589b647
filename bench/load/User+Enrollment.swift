import HTTP
import JSON
import SoftwareAuthenticator
import Transport

extension User {
    /// Enrolls a phone for each token, all at once.
    static func enrollAll(
        tokens: [String], namingReferences: Bool, at merchant: Client, bank: Client, on loop: EventLoop
    ) async throws -> [User] {
        let tasks = tokens.enumerated().map { number, token in
            loop.task { try await enroll(number, App(client: merchant, token: token), bank: bank, on: loop) }
        }
        var users: [User] = []
        for task in tasks { users.append(try await task.value) }
        for place in users.indices { users[place].namesReferences = namingReferences }
        return users
    }

    /// From a new user to an enrollment that can pay.
    private static func enroll(_ number: Int, _ app: App, bank: Client, on loop: EventLoop) async throws -> User {
        var phone = Phone()
        let banks = try await app.get("/v1/institutions")
        guard let institution = banks["results"]?.elements.first(where: { _ in true })?["id"]?.string else {
            throw Unexpected("no bank", banks)
        }
        let customer = try await app.send(.put, "/v1/customer") {
            $0.member("name", "Load \(number)")
            $0.member("identifier", TaxNumber.cpf(number))
        }
        guard let tenure = customer["account_tenure"]?.string else {
            throw Unexpected("a customer without tenure", customer)
        }
        let riskSignals = phone.riskSignals(accountTenure: tenure)

        let enrollment = try await app.send(.post, "/v1/enrollments") {
            $0.member("institution", institution)
            $0.member("platform", "IOS")
            $0.memberRaw("risk_signals", riskSignals)
        }
        guard let id = enrollment["id"]?.string,
            let page = enrollment["next_action"]?["url"]?.string.flatMap({ URL($0) })
        else { throw Unexpected("an enrollment without redirection", enrollment) }
        let handed = try await approve(page, at: bank)
        _ = try await app.send(.post, "/v1/enrollments/complete-redirection") { body in
            for name in ["state", "code", "id_token"] { body.member(name, handed[name]) }
        }

        let path = "/v1/enrollments/\(id)"
        let ready = try await app.look(at: path, on: loop) { $0["next_action"]?["fido_registration_options"] != nil }
        guard let options = ready["next_action"]?["fido_registration_options"] else {
            throw Unexpected("no options", ready)
        }
        let confirmation = try phone.register(options)
        _ = try await app.send(.post, "\(path)/confirm") { $0.memberRaw("confirmation_data", confirmation) }
        _ = try await app.look(at: path, on: loop) { try $0.hasSucceeded }
        return User(app: app, phone: phone, enrollment: id, riskSignals: riskSignals)
    }

    /// The user says yes on the bank's page; gives what the bank hands to the app.
    private static func approve(_ page: URL, at bank: Client) async throws -> FormFields {
        var form = try FormFields(parsing: page.target.query ?? "")
        form.append("decision", "approve")
        let request = Request(
            .post, Target(path: page.target.path), headers: ["content-type": "application/x-www-form-urlencoded"],
            body: Array(form.encoded.utf8))
        let response = try await bank.send(request, deadline: App.deadline)
        guard let callback = response.headers["location"].flatMap({ URL($0) }) else {
            throw Unexpected(request, response)
        }
        return try FormFields(parsing: callback.target.query ?? "")
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
