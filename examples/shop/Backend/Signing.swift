import COpenSSL
import FoundationEssentials
import JSON

/// What a shop's backend signs and checks.
enum Signing {
    /// Wraps `EVP_Q_mac`.
    static func hmacSHA256(key: [UInt8], _ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        var count = 0
        let outcome = EVP_Q_mac(
            nil, "HMAC", nil, "SHA256", nil, key, key.count, bytes, bytes.count, &digest, digest.count, &count)
        precondition(outcome != nil && count == 32, "HMAC is part of every OpenSSL")
        return digest
    }

    static func base64URL(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Compares in a time that does not depend on where they differ.
    static func isEqual(_ a: [UInt8], _ b: [UInt8]) -> Bool {
        a.count == b.count && zip(a, b).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

extension Signing {
    /// A user's token for the merchant server: a JWT with the shop's own user id.
    static func userToken(subject: String, secret: [UInt8], now: Int, lifetime: Int) -> String {
        let header = base64URL(Array(#"{"alg":"HS256","typ":"JWT"}"#.utf8))
        let claims = base64URL(
            JSONWriter.object {
                $0.member("sub", subject)
                $0.member("iat", now)
                $0.member("exp", now + lifetime)
            })
        let signed = "\(header).\(claims)"
        return "\(signed).\(base64URL(hmacSHA256(key: secret, Array(signed.utf8))))"
    }

    /// Whether an event is the merchant server's own, and of the last five minutes (Standard Webhooks).
    static func isGenuine(
        body: [UInt8], id: String?, timestamp: String?, signatures: String?, secret: [UInt8], now: Int
    ) -> Bool {
        guard let id, let timestamp, let signatures, let moment = Int(timestamp), abs(now - moment) <= 300 else {
            return false
        }
        let expected = hmacSHA256(key: secret, Array("\(id).\(timestamp).".utf8) + body)
        return signatures.split(separator: " ").contains { signature in
            guard signature.hasPrefix("v1,"), let bytes = Data(base64Encoded: String(signature.dropFirst(3))) else {
                return false
            }
            return isEqual(Array(bytes), expected)
        }
    }
}

/// A visitor who comes back: the user id, and a proof that this shop has given it.
struct Session: Sendable {
    static let cookie = "shop_session"

    let subject: String

    /// A new user.
    init() {
        subject = "visitor-\(UUID().uuidString.lowercased().prefix(8))"
    }

    /// Reads the cookie; nil where there is none, or one that this shop did not give.
    init?(cookies: String?, secret: [UInt8]) {
        for cookie in (cookies ?? "").split(separator: ";") {
            let parts = cookie.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0] == Session.cookie else { continue }
            let value = parts[1].split(separator: ".").map(String.init)
            guard value.count == 2, value[1] == Session.proof(of: value[0], secret) else { return nil }
            subject = value[0]
            return
        }
        return nil
    }

    func setCookie(secret: [UInt8]) -> String {
        let value = "\(subject).\(Session.proof(of: subject, secret))"
        return "\(Session.cookie)=\(value); Path=/; HttpOnly; SameSite=Lax; Max-Age=2592000"
    }

    private static func proof(of subject: String, _ secret: [UInt8]) -> String {
        Signing.base64URL(Signing.hmacSHA256(key: secret, Array("session \(subject)".utf8)))
    }
}
