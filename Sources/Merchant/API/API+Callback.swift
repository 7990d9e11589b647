import Belvo
import HTTP
import JSON
import Payments

extension API {
    /// `GET /enrollments/callback`: the bank sends the user's browser here.
    ///
    /// A person reads the answer, so whatever happens is a page. The query is never logged: it holds a one-shot code.
    func landOnCallback(_ inbound: Inbound) async -> Response {
        // Without parameters they may be in the fragment, which only the page can see (belvo-api.md §4.3).
        // A HEAD is somebody's preview of the link: it must not spend the code.
        guard inbound.request.method == .get, let query = inbound.request.target.query, !query.isEmpty else {
            return callbackPage.response(.ok, .collecting, for: inbound)
        }
        do {
            return await receive(try FormFields(parsing: query), inbound)
        } catch {
            return callbackPage.response(.badRequest, .unreadable, for: inbound)
        }
    }

    /// `POST /enrollments/callback`: the same as a form, from a bank or from the page that found a fragment.
    func postCallback(_ inbound: Inbound) async throws -> Response {
        try inbound.requireMediaType("application/x-www-form-urlencoded")
        do {
            return await receive(try FormFields(parsing: inbound.request.body), inbound)
        } catch {
            return callbackPage.response(.badRequest, .unreadable, for: inbound)
        }
    }

    private func receive(_ fields: FormFields, _ inbound: Inbound) async -> Response {
        guard let redirection = Redirection(fields) else {
            return callbackPage.response(.badRequest, .unreadable, for: inbound)
        }
        do {
            let result = try await RedirectionJourney(world: world).receive(
                redirection, from: nil, on: occasion(inbound, .callback))
            switch result {
            case .settled(let enrollment):
                return callbackPage.response(.ok, .of(enrollment.record), for: inbound, enrollment: enrollment.record)
            case .pending(let enrollment):
                return callbackPage.response(.ok, .working, for: inbound, enrollment: enrollment?.record)
            }
        } catch {
            let described = refusal(error, to: inbound)
            // Stored, and tried again by itself, unless the bank's answer was refused or could not be stored.
            let isKept = (error as? BelvoError)?.leftNothing ?? false
            return isKept
                ? callbackPage.response(.ok, .working, for: inbound)
                : callbackPage.response(described.status, .failed, for: inbound)
        }
    }
}

extension Redirection {
    /// Reads what a bank put into a query or a form: a success or an error, not both, each parameter once.
    init?(_ fields: FormFields) {
        func one(_ name: String, max: Int) -> String? {
            let values = fields.values(name)
            guard values.count == 1, !values[0].isEmpty, values[0].utf8.count <= max else { return nil }
            return values[0]
        }
        guard let state = one("state", max: 2048) else { return nil }
        let known = ["state", "code", "id_token", "error", "error_description"]
        guard known.allSatisfy({ fields.values($0).count <= 1 }) else { return nil }
        let hasCode = !fields.values("code").isEmpty || !fields.values("id_token").isEmpty
        if !fields.values("error").isEmpty {
            guard !hasCode, let error = one("error", max: 256) else { return nil }
            self = .rejected(state: state, error: error, errorDescription: one("error_description", max: 2048))
        } else {
            guard let code = one("code", max: 16_384) else { return nil }
            let idToken = one("id_token", max: 16_384)
            // Passing on a part of what the bank sent would spend the code for nothing.
            guard idToken != nil || fields.values("id_token").isEmpty else { return nil }
            self = .approved(state: state, code: code, idToken: idToken)
        }
    }
}
