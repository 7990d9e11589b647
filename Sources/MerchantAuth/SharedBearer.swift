import MerchantModel

/// One token that everybody on the other side shares: the shop's, or the one that Belvo's webhooks show.
package struct SharedBearer: Sendable {
    let secret: Secret

    package init(secret: Secret) {
        self.secret = secret
    }

    /// Whether the word `Bearer` has to stand before the token. Belvo may send the token alone (belvo-api.md §8).
    package enum Scheme: Sendable {
        case required, optional
    }

    /// Throws unless the values of a request's `Authorization` fields are the token, compared in constant time.
    package func check(_ authorizationValues: [String], scheme: Scheme = .required) throws(AuthenticationFault) {
        if scheme == .optional, authorizationValues.count == 1, secret.isEqual(to: authorizationValues[0]) { return }
        let bearer = try BearerToken(authorizationValues: authorizationValues)
        guard secret.isEqual(to: String(decoding: bearer.bytes, as: UTF8.self)) else { throw .wrongToken }
    }
}
