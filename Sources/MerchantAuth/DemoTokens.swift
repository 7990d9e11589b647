import JWTKit
import MerchantModel
import Payments

/// Tokens for trying the server out, signed with the secret that it checks them with.
package enum DemoTokens {
    /// A token that says it is this user's, good from now on for so long; with `iss` and `aud` where they are checked.
    package static func issue(
        subject: UserSubject, secret: SharedSecret, lifetime: Duration, now: Timestamp, issuer: String? = nil,
        audience: String? = nil
    ) async throws -> String {
        let claims = Claims(
            sub: subject.text, iat: now.secondsSince1970, exp: (now + lifetime).secondsSince1970, iss: issuer,
            aud: audience)
        let keys = JWTKeyCollection()
        await keys.add(hmac: HMACKey(from: secret.bytes), digestAlgorithm: .sha256)
        return try await keys.sign(claims)
    }

    private struct Claims: JWTPayload {
        let sub: String
        let iat: Int64
        let exp: Int64
        let iss: String?
        let aud: String?

        /// Nothing to check in what we write ourselves; `Authenticator` reads tokens without this type.
        func verify(using algorithm: some JWTAlgorithm) {}
    }
}
