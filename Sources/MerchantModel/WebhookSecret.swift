import JSON
import Payments

/// The key that signs the events for the shop.
///
/// Written as Standard Webhooks has it: `whsec_` and the base64 of 24 to 64 bytes. The libraries that check the
/// signatures take the prefix for optional, so it is here too.
package struct WebhookSecret: Sendable, Redacted {
    /// The bytes that key the HMAC.
    package let key: [UInt8]

    /// Takes the text as the setting has it; nothing when it is no such secret.
    package init?(_ text: String) {
        let prefix = "whsec_"
        let encoded = text.hasPrefix(prefix) ? text.dropFirst(prefix.count) : text[...]
        guard let key = Base64.decode(encoded), (24...64).contains(key.count) else { return nil }
        self.key = key
    }
}
