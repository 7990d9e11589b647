import JSON

/// HS256 tokens (RFC 7519), minted by the sandbox and read only by it.
enum JSONWebToken {
    static func mint(claims: [UInt8], key: [UInt8]) -> String {
        let header = Base64URL.encode(#"{"alg":"HS256","typ":"JWT"}"#.utf8)
        let signed = "\(header).\(Base64URL.encode(claims))"
        return "\(signed).\(Base64URL.encode(Digest.hmacSHA256(key: key, Array(signed.utf8))))"
    }

    /// The claims of a token that this key has signed. The header is not believed: there is one algorithm.
    static func claims(of token: String, key: [UInt8]) -> JSONValue? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let claims = Base64URL.decode(parts[1]) else { return nil }
        guard mint(claims: claims, key: key) == token else { return nil }
        // What we signed was JSON; anything else is no token of ours.
        return try? JSONDocument(parsing: claims).root
    }
}
