import JSON
import MerchantAuth
import MerchantModel
import MerchantStore

extension SettingForm<[EncryptionKey]> {
    static let encryptionKeys = SettingForm(
        "id:base64 of 32 bytes, or several with different ids separated by commas"
    ) { text in
        guard let keys = SettingForm<[EncryptionKey]>.list(of: .encryptionKey).parse(text),
            Set(keys.map(\.id)).count == keys.count
        else { return nil }
        return keys
    }
}

extension SettingForm<EncryptionKey> {
    static let encryptionKey = SettingForm("id:base64 of 32 bytes") { text in
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let bytes = Base64.decode(parts[1]) else { return nil }
        return EncryptionKey(id: String(parts[0]), bytes: bytes)
    }
}

extension SettingForm<LookupKey> {
    static let lookupKey = SettingForm("base64 of 32 bytes") { text in
        Base64.decode(text).flatMap { LookupKey(bytes: $0) }
    }
}

extension SettingForm<SharedSecret> {
    static let sharedSecret = SettingForm("a secret of \(SharedSecret.bytesMin) bytes or more") { SharedSecret($0) }
}

extension SettingForm<WebhookSecret> {
    static let webhookSecret = SettingForm("whsec_ and base64 of 24 to 64 bytes") { WebhookSecret($0) }
}
