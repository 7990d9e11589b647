import Belvo
import HTTP
import Logging
import MerchantAuth
import MerchantModel
import Payments
import Transport

extension Settings {
    /// Asks for every setting, so that everything wrong is known in the end; nil when one is missing.
    init?(_ reader: SettingsReader) {
        let databaseURL = reader.required(.databaseURL, .connectionString)
        let publicBaseURL = reader.required(.publicBaseURL, .secureBaseURL)
        let belvoBaseURL = reader.required(.belvoBaseURL, .secureBaseURL)
        let belvoCredentials = reader.belvoCredentials()
        let beneficiaryBankAccount = reader.required(.belvoBeneficiaryBankAccount, .uuid)
        let belvoWebhookToken = reader.required(.belvoWebhookToken, .bearerToken)
        let auth = reader.tokenRules()
        let encryptionKeys = reader.required(.encryptionKeys, .encryptionKeys)
        let lookupKey = reader.required(.lookupKey, .lookupKey)
        let listen = reader.optional(.listen, .address) ?? SocketAddress(numericHost: "127.0.0.1", port: 8080)
        let adminListen =
            reader.optional(.adminListen, .address) ?? SocketAddress(numericHost: "127.0.0.1", port: 9464)

        belvoCAFile = reader.optional(.belvoCAFile, .readableFile)
        belvoRate = reader.optional(.belvoRate, .number(0...1_000_000), default: 50)
        belvoCallsMax = reader.optional(.belvoCallsMax, .number(1...10_000), default: 64)
        belvoUserRate = reader.optional(.belvoUserRate, .number(0...1_000_000), default: 10)
        belvoStrangerRate = reader.optional(.belvoStrangerRate, .number(0...1_000_000), default: 5)
        belvoDialect = reader.optional(.belvoDialect, .dialect, default: Dialect())
        mintsWidgetTokens = reader.optional(.widgetTokens, .onOrOff, default: true)
        belvoTokenRefreshPath = reader.optional(.belvoTokenRefreshPath, .path)
        tls = reader.tlsFiles()
        trustedProxies = reader.optional(.trustedProxies, .list(of: .network), default: [])
        corsOrigins = Set(reader.optional(.corsOrigins, .list(of: .origin), default: []))
        userRate = reader.optional(.userRate, .number(0...1_000_000), default: 20)
        userBounds = reader.userBounds()
        addressRate = reader.optional(.addressRate, .number(0...1_000_000), default: 20)
        unknownRedirectsMax = reader.optional(.unknownRedirectsMax, .number(1...1_000_000), default: 500)
        let listedCallbackURLs = reader.optional(.callbackURLs, .list(of: .callbackURL), default: [])
        appDeepLink = reader.optional(.appDeepLink, .deepLink)
        webReturnURL = reader.optional(.webReturnURL, .webPage)
        appleAppIDs = reader.optional(.appleAppIDs, .list(of: .appleAppID), default: [])
        androidApps = reader.optional(.androidApps, .list(of: .androidApp), default: [])
        paymentMaxAmount = reader.optional(.paymentMaxAmount, .amount, default: Money(centavos: 500_00))
        orders = reader.optional(.orders, .word, default: .required)
        shopToken = reader.optional(.shopToken, .bearerToken)
        shopWebhook = reader.shopWebhook()
        timeouts = reader.timeouts()
        connectionLimits = reader.connectionLimits(timeouts: timeouts)
        inFlightLimits = reader.inFlightLimits()
        logLevel = reader.optional(.logLevel, .word, default: .info)
        logsRequests = reader.optional(.logRequests, .onOrOff, default: false)

        if let listen, let adminListen { reader.compare(listen: listen, adminListen: adminListen) }
        if let appDeepLink, let publicBaseURL { reader.compare(appDeepLink: appDeepLink, publicBaseURL: publicBaseURL) }
        guard let databaseURL, let publicBaseURL, let belvoBaseURL, let belvoCredentials, let beneficiaryBankAccount,
            let belvoWebhookToken, let auth, let encryptionKeys, let lookupKey, let listen, let adminListen
        else { return nil }
        self.databaseURL = databaseURL
        self.publicBaseURL = publicBaseURL
        self.belvoBaseURL = belvoBaseURL
        self.belvoCredentials = belvoCredentials
        self.beneficiaryBankAccount = beneficiaryBankAccount
        self.belvoWebhookToken = belvoWebhookToken
        self.auth = auth
        self.encryptionKeys = encryptionKeys
        self.lookupKey = lookupKey
        self.listen = listen
        self.adminListen = adminListen
        callbackURLs = ["\(publicBaseURL.origin)\(Settings.callbackPath)"] + listedCallbackURLs
    }

    /// Where banks send users back to when no other address is configured.
    static let callbackPath = "/enrollments/callback"
}

extension SettingsReader {
    fileprivate func compare(listen: SocketAddress, adminListen: SocketAddress) {
        guard listen.description == adminListen.description, listen.port != 0 else { return }
        add(.adminListen, .contradictory, "contradicts LISTEN: expected another address or port")
    }

    /// iOS opens no universal link to the domain of the page on which it stands.
    fileprivate func compare(appDeepLink: String, publicBaseURL: URL) {
        guard let link = URL(appDeepLink), link.origin.host == publicBaseURL.origin.host else { return }
        add(.appDeepLink, .contradictory, "contradicts PUBLIC_BASE_URL: expected another host, or the app's own scheme")
    }

    fileprivate func belvoCredentials() -> Credentials? {
        let id = required(.belvoSecretID, .credentialID)
        let password = required(.belvoSecretPassword, .secret)
        guard let id, let password else { return nil }
        let credentials = Credentials(secretID: id.text, secretPassword: password.text)
        if credentials == nil { add(.belvoSecretID, .malformed, "cannot be sent with Basic authentication") }
        return credentials
    }

    fileprivate func tokenRules() -> TokenRules? {
        requireExactlyOne(of: [.authHS256Secret, .authJWKSFile, .authJWKSURL])
        let secret = optional(.authHS256Secret, .sharedSecret).map { TokenKeySource.hs256($0) }
        let file = optional(.authJWKSFile, .readableFile).map { TokenKeySource.jwksFile($0) }
        let url = optional(.authJWKSURL, .secureURL).map { TokenKeySource.jwksURL($0) }
        let issuer = optional(.authIssuer, .text)
        let audience = optional(.authAudience, .text)
        if file != nil || url != nil, audience == nil {
            warn(
                SettingName.authAudience.rawValue,
                "is missing: a token that the same keys have signed for another program is accepted too")
        }
        return (secret ?? file ?? url).map { TokenRules(keys: $0, issuer: issuer, audience: audience) }
    }

    fileprivate func tlsFiles() -> TLSFiles? {
        requireTogether(.tlsCertFile, .tlsKeyFile)
        let certificate = optional(.tlsCertFile, .readableFile)
        let key = optional(.tlsKeyFile, .readableFile)
        guard let certificate, let key else { return nil }
        warnIfReadable(key, named: SettingName.tlsKeyFile.rawValue)
        return TLSFiles(certificateFile: certificate, keyFile: key)
    }

    fileprivate func shopWebhook() -> ShopWebhook? {
        requireTogether(.shopWebhookURL, .shopWebhookSecret)
        let url = optional(.shopWebhookURL, .secureURL)
        let secret = optional(.shopWebhookSecret, .webhookSecret)
        guard let url, let secret else { return nil }
        return ShopWebhook(url: url, secret: secret)
    }

    fileprivate func timeouts() -> Timeouts {
        var timeouts = Timeouts()
        timeouts.pollInterval = optional(.pollInterval, .milliseconds, default: timeouts.pollInterval)
        timeouts.pollDeadline = optional(.pollDeadline, .milliseconds, default: timeouts.pollDeadline)
        timeouts.userDeadline = optional(.userDeadline, .milliseconds, default: timeouts.userDeadline)
        timeouts.callDeadline = optional(.belvoTimeout, .milliseconds, default: timeouts.callDeadline)
        if timeouts.pollInterval > timeouts.pollDeadline {
            add(.pollInterval, .contradictory, "contradicts POLL_DEADLINE_MS: expected at most that")
        }
        return timeouts
    }
}
