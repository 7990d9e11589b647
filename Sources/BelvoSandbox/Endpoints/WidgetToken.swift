import HTTP
import JSON

extension SandboxState {
    /// `POST /payments/api/widget-token/`: an access token for the SDK (belvo-api.md §2.1).
    func createWidgetToken(_ call: Call) throws(Refusal) -> Response {
        let (access, refresh) = (
            token("access", configuration.accessTokenLifetime), token("refresh", configuration.refreshTokenLifetime)
        )
        return Answer.object(.ok) { body in
            body.member("access", access)
            body.member("refresh", refresh)
        }
    }

    /// `POST /payments/api/widget-token/refresh/`: a path of the sandbox's own (belvo-api.md §12.2).
    mutating func refreshWidgetToken(_ call: Call) throws(Refusal) -> Response {
        guard variants.tokenRefresh != .absent else { throw .notFound }
        let reader = JSONReader(try call.document())
        let given = reader.string("refresh")
        guard let given, accepts(reader) else { throw refusal(reader) }
        guard let claims = JSONWebToken.claims(of: given, key: tokenKey), claims["token_type"]?.string == "refresh",
            let id = claims["jti"]?.string, (claims["exp"]?.int64 ?? 0) > now.seconds,
            !spentRefreshTokens.contains(id)
        else { throw .tokenNotValid }
        if variants.tokenRefresh == .rotated { spentRefreshTokens.insert(id) }
        let access = token("access", configuration.accessTokenLifetime)
        let refresh = variants.tokenRefresh == .rotated ? token("refresh", configuration.refreshTokenLifetime) : nil
        return Answer.object(.ok) { body in
            body.member("access", access)
            if let refresh { body.member("refresh", refresh) }
        }
    }

    /// The claims that Belvo's SDK reads.
    private func token(_ kind: String, _ lifetime: Duration) -> String {
        let (moment, id) = (now, entropy.hexadecimal(16))
        let claims = JSONWriter.object { claims in
            claims.member("token_type", kind)
            claims.member("exp", (moment + lifetime).seconds)
            claims.member("iat", moment.seconds)
            claims.member("jti", id)
            claims.member("user_id", merchant)
            claims.member("environment", "sandbox")
            claims.member("iss", "belvo-sandbox")
            claims.memberArray("scopes") { $0.element("payments") }
            claims.memberArray("use_cases") { cases in
                cases.element("ENROLLMENT")
                cases.element("PAYMENT_INTENT")
            }
            claims.memberObject("user_data") { user in
                user.member("id", merchant)
                user.member("username", configuration.secretID)
                user.member("email", "merchant@sandbox.example")
                user.member("certification_state", "CERTIFIED")
                user.memberObject("organization") { organization in
                    organization.member("id", merchant)
                    organization.member("country_code", "BR")
                }
            }
        }
        return JSONWebToken.mint(claims: claims, key: tokenKey)
    }
}
