import HTTP
import JSON

extension SandboxState {
    /// Basic authentication with the API key (RFC 7617), or an SDK access token as a bearer (belvo-api.md §1).
    func authenticate(_ request: Request) throws(Refusal) {
        let fields = request.headers.values("authorization")
        guard fields.count == 1, let field = fields.first else { throw .unauthorized }
        let parts = field.split(separator: " ", maxSplits: 1)
        guard parts.count == 2 else { throw .unauthorized }
        switch parts[0].lowercased() {
        case "basic":
            let expected = Array("\(configuration.secretID):\(configuration.secretPassword)".utf8)
            guard let given = Base64.decode(parts[1]), given == expected else { throw .unauthorized }
        case "bearer":
            guard isLiveAccessToken(String(parts[1])) else { throw .tokenNotValid }
        default:
            throw .unauthorized
        }
    }

    private func isLiveAccessToken(_ token: String) -> Bool {
        guard let claims = JSONWebToken.claims(of: token, key: tokenKey) else { return false }
        return claims["token_type"]?.string == "access" && (claims["exp"]?.int64 ?? 0) > now.seconds
    }
}
