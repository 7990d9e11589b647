import Testing

/// `config/merchant.env` is where a reader learns what can be set.
@Suite struct ConfigurationFileTests {
    /// The contract's settings, in its order.
    private static let settings = """
        DATABASE_URL PUBLIC_BASE_URL BELVO_BASE_URL BELVO_SECRET_ID BELVO_SECRET_PASSWORD BELVO_BENEFICIARY_BANK_ACCOUNT
        BELVO_WEBHOOK_TOKEN AUTH_HS256_SECRET AUTH_JWKS_FILE AUTH_JWKS_URL ENCRYPTION_KEYS LOOKUP_KEY
        LISTEN ADMIN_LISTEN BELVO_CA_FILE BELVO_TIMEOUT_MS AUTH_ISSUER AUTH_AUDIENCE CALLBACK_URLS APP_DEEP_LINK
        WEB_RETURN_URL APPLE_APP_IDS ANDROID_APPS PAYMENT_MAX_AMOUNT ORDERS SHOP_TOKEN SHOP_WEBHOOK_URL
        SHOP_WEBHOOK_SECRET WIDGET_TOKENS POLL_INTERVAL_MS POLL_DEADLINE_MS USER_DEADLINE_MS USER_RATE TRUSTED_PROXIES
        CORS_ORIGINS TLS_CERT_FILE TLS_KEY_FILE LOG_LEVEL LOG_REQUESTS
        """.split(whereSeparator: \.isWhitespace)

    private let lines: [Substring]

    init() throws {
        lines = try #require(Checkout.text(at: "config/merchant.env")).lines
    }

    @Test(arguments: settings)
    func `every setting of the contract stands in the file once`(setting: Substring) {
        #expect(lines.count { $0.hasPrefix("#\(setting)=") } == 1)
    }

    @Test func `every setting is explained above it`() {
        for index in lines.indices where isSetting(lines[index]) {
            var above = index - 1
            while above >= 0, isSetting(lines[above]) { above -= 1 }
            #expect(above >= 0 && lines[above].hasPrefix("# "), "\(lines[index])")
        }
    }

    @Test func `the file changes nothing as it is`() {
        #expect(lines.filter { !$0.isEmpty && !$0.hasPrefix("#") } == [])
    }

    @Test func `no setting has an empty value, which is a mistake`() {
        #expect(lines.filter { isSetting($0) && $0.hasSuffix("=") } == [])
    }

    /// `#NAME=value`: prose has a blank behind its `#`.
    private func isSetting(_ line: Substring) -> Bool {
        let name = line.dropFirst().prefix { $0 != "=" }
        return line.hasPrefix("#") && line.contains("=")
            && name.allSatisfy { $0.isUppercase || $0.isNumber || $0 == "_" }
    }
}
