import Crypto
import FoundationEssentials
import HTTP
import MerchantModel
import Payments

/// How an event is carried so that the shop can verify that it is from here, whole and fresh: the Standard Webhooks
/// format (standardwebhooks.com, "Specification").
package struct StandardWebhook: Sendable {
    /// The answer of the shop counts when it comes within this time, in all.
    static let deadline = Duration.seconds(15)

    let target: Target
    let secret: WebhookSecret

    package init(target: Target, secret: WebhookSecret) {
        self.target = target
        self.secret = secret
    }

    /// The request of one attempt. `moment` is that of the attempt: receivers refuse what is minutes old.
    func request(id: UUID, body: [UInt8], at moment: Timestamp) -> Request {
        let id = id.uuidString.lowercased()
        let seconds = "\(moment.secondsSince1970)"
        return Request(
            .post, target,
            headers: [
                "content-type": "application/json", "webhook-id": id, "webhook-timestamp": seconds,
                "webhook-signature": "v1,\(signature(id, seconds, body))", "user-agent": "biometric-pix-merchant",
            ],
            body: body)
    }

    /// HMAC-SHA-256 over `id.timestamp.body`, in base64.
    private func signature(_ id: String, _ seconds: String, _ body: [UInt8]) -> String {
        var code = HMAC<SHA256>(key: SymmetricKey(data: secret.key))
        code.update(data: Array("\(id).\(seconds).".utf8))
        code.update(data: body)
        return Data(code.finalize()).base64EncodedString()
    }
}
