import HTTP
import JSON

/// The mock bank: its page, and what it answers to a consent.
extension SandboxState {
    /// A request below `/bank/`.
    mutating func bank(_ request: Request) -> Response {
        catchUp()
        guard request.target.path == BankPage.path else { return notice(.notFound, "Página não encontrada.") }
        switch request.method {
        case .get: return showConsent(request)
        case .post: return decide(request)
        default: return refuse(.methodNotAllowed([.get, .post]))
        }
    }

    /// The bank's redirect: the callback's parameters in their order. Asked again, it says the same.
    mutating func answerConsent(_ id: String, _ decision: BankDecision) -> [(name: String, value: String)]? {
        guard let enrollment = enrollments[id], enrollment.status == .pending else { return nil }
        let answer =
            enrollment.redirection.answer
            ?? {
                switch decision {
                case .approve:
                    .approved(code: entropy.base64URL(32), idToken: idToken(enrollment))
                case .refuse(let error, let description):
                    .refused(error: error, description: description)
                }
            }()
        enrollments.change(id) { $0.redirection.answer = answer }
        let state = (name: "state", value: enrollment.redirection.state)
        return switch answer {
        case .approved(let code, let idToken): [state, ("code", code), ("id_token", idToken)]
        case .refused(let error, let description): [state, ("error", error), ("error_description", description)]
        }
    }

    /// The callback URL with the bank's answer in its query or its fragment.
    func callbackAddress(_ enrollment: Enrollment, _ parameters: [(name: String, value: String)]) -> String {
        let encoded = FormFields(parameters).encoded
        return switch variants.callback {
        case .fragment: "\(enrollment.callbackURL)#\(encoded)"
        case .query: "\(enrollment.callbackURL)\(enrollment.callbackURL.contains("?") ? "&" : "?")\(encoded)"
        }
    }

    private func showConsent(_ request: Request) -> Response {
        guard let query = try? FormFields(parsing: request.target.query ?? ""), let enrollment = find(query) else {
            return notice(.notFound, "Este pedido de autorização não existe.")
        }
        guard enrollment.status == .pending, enrollment.redirection.answer == nil else {
            return notice(.ok, "Este pedido já foi respondido. Volte para a loja.")
        }
        let bank = configuration.institutions.first { $0.id == enrollment.institution }?.displayName ?? "banco"
        let customer = customers[enrollment.customer]?.name ?? "cliente"
        return Page.response(.ok, BankPage.question(enrollment, bank: bank, customer: customer))
    }

    private mutating func decide(_ request: Request) -> Response {
        guard let form = try? FormFields(parsing: request.body), let enrollment = find(form),
            let decision = BankDecision(word: form["decision"] ?? "")
        else { return notice(.badRequest, "Este pedido de autorização não existe.") }
        guard let parameters = answerConsent(enrollment.id, decision) else {
            return notice(.ok, "Este pedido já não pode ser respondido. Volte para a loja.")
        }
        let address = callbackAddress(enrollment, parameters)
        return Response(
            Status(302),
            headers: Headers(["location": address, "cache-control": "no-store", "referrer-policy": "no-referrer"]))
    }

    /// The enrollment that a link or a form of the page speaks of.
    private func find(_ fields: FormFields) -> Enrollment? {
        enrollments.all.first {
            $0.redirection.requestURI == fields["request_uri"] || $0.redirection.state == fields["state"]
        }
    }

    private func notice(_ status: Status, _ text: String) -> Response {
        Page.response(status, BankPage.notice(text))
    }

    /// The `id_token` that OpenID's hybrid flow returns beside the code. Belvo hands it back unread, so a token of ours
    /// does.
    private func idToken(_ enrollment: Enrollment) -> String {
        let moment = now
        let claims = JSONWriter.object { claims in
            claims.member("iss", "\(configuration.publicURL)/bank")
            claims.member("aud", "belvo")
            claims.member("sub", entropy.uuid())
            claims.member("nonce", enrollment.redirection.nonce)
            claims.member("iat", moment.seconds)
            claims.member("exp", (moment + .seconds(300)).seconds)
        }
        return JSONWebToken.mint(claims: claims, key: tokenKey)
    }
}

/// The decision of the person at the bank.
public enum BankDecision: Sendable, Equatable {
    case approve
    /// Sent back with an error of RFC 6749 §4.1.2.1.
    case refuse(error: String, description: String)

    /// The user says no.
    public static let refuse = BankDecision.refuse(
        error: "access_denied", description: "The resource owner denied the request.")

    init?(word: String) {
        switch word {
        case "approve": self = .approve
        case "refuse": self = .refuse
        default: return nil
        }
    }
}
