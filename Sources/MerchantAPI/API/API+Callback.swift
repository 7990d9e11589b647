import Belvo
import BelvoGate
import HTTP
import JSON
import MerchantModel
import MerchantStore
import MerchantWorkflows
import Payments

extension API {
    /// `GET /enrollments/callback`: the bank sends the user's browser here, and its page asks here how things stand.
    ///
    /// A person reads the answer, so whatever happens is a page. The query is never logged: it holds a one-shot code.
    func landOnCallback(_ inbound: Inbound) async -> Response {
        // Without parameters they may be in the fragment, which only the page can see (belvo-api.md §4.3).
        // A HEAD is a preview of the link: it must not spend the code.
        guard inbound.request.method == .get, let query = inbound.request.target.query, !query.isEmpty else {
            return callbackPage.response(.ok, .collecting, for: inbound)
        }
        do {
            let fields = try FormFields(parsing: query)
            return fields.names == ["ticket"]
                ? await show(ticket: fields["ticket"] ?? "", inbound) : await receive(fields, inbound)
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
            let workflow = RedirectionWorkflow(dependencies: dependencies)
            let arrival = try await workflow.arrival(of: redirection, at: inbound.client)
            if !arrival.isRepeat {
                try access.admitRedirect(of: arrival.enrollment?.record.id, from: nil, at: inbound.client)
            }
            let callback = try await CallOrigin.$current.withValue(.address(inbound.client)) {
                try await workflow.receiveCallback(arrival, on: callContext(inbound, .callback))
            }
            let refused = callback.failure.map { refusal($0, to: inbound) }
            // Workers continue what is stored: for the user that is no error.
            let status = CallbackPage.State(callback) == .failed ? refused?.status ?? .ok : .ok
            return page(status, callback, inbound)
        } catch {
            return unavailable(error, inbound)
        }
    }

    /// Where the redirect of a ticket stands. Belvo is not asked: the workers do that.
    private func show(ticket text: String, _ inbound: Inbound) async -> Response {
        guard let ticket = CallbackTicket(text, { digest($0, for: .callbackTicket) }) else {
            return callbackPage.response(.badRequest, .unreadable, for: inbound)
        }
        do {
            guard
                let callback = try await RedirectionWorkflow(dependencies: dependencies).callbackResult(ticket.receipt)
            else {
                return callbackPage.response(.gone, .expired, for: inbound)
            }
            return page(.ok, callback, inbound)
        } catch {
            return unavailable(error, inbound)
        }
    }

    private func page(_ status: HTTP.Status, _ callback: CallbackResult, _ inbound: Inbound) -> Response {
        let ticket = CallbackTicket.text(for: callback.receipt.id) { digest($0, for: .callbackTicket) }
        return callbackPage.response(status, callback, ticket: ticket, for: inbound)
    }

    /// The page for a browser whose address has sent too many requests.
    func tooManyCallbacks(_ error: any Error, _ inbound: Inbound) -> Response {
        unavailable(error, inbound)
    }

    /// The redirect is nowhere but in the browser: as long as its page stays open it is brought again.
    private func unavailable(_ error: any Error, _ inbound: Inbound) -> Response {
        let described = refusal(error, to: inbound)
        // What was posted is not posted again with the address.
        let state: CallbackPage.State = inbound.request.method == .get ? .unavailable : .failed
        var response = callbackPage.response(described.status, state, for: inbound)
        if let wait = described.headers["retry-after"] { response.headers.append(.retryAfter, wait) }
        return response
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
