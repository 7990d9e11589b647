/// The name of every setting, in the order in which faults in them are reported. `config/merchant.env` says what each
/// one means; docs/adding-a-setting.md lists the places that a new one touches.
enum SettingName: String, CaseIterable {
    case databaseURL = "DATABASE_URL"
    case publicBaseURL = "PUBLIC_BASE_URL"
    case belvoBaseURL = "BELVO_BASE_URL"
    case belvoSecretID = "BELVO_SECRET_ID"
    case belvoSecretPassword = "BELVO_SECRET_PASSWORD"
    case belvoBeneficiaryBankAccount = "BELVO_BENEFICIARY_BANK_ACCOUNT"
    case belvoWebhookToken = "BELVO_WEBHOOK_TOKEN"
    case authHS256Secret = "AUTH_HS256_SECRET"
    case authJWKSFile = "AUTH_JWKS_FILE"
    case authJWKSURL = "AUTH_JWKS_URL"
    case encryptionKeys = "ENCRYPTION_KEYS"
    case lookupKey = "LOOKUP_KEY"
    case listen = "LISTEN"
    case adminListen = "ADMIN_LISTEN"
    case tlsCertFile = "TLS_CERT_FILE"
    case tlsKeyFile = "TLS_KEY_FILE"
    case trustedProxies = "TRUSTED_PROXIES"
    case corsOrigins = "CORS_ORIGINS"
    case requestLineBytesMax = "HTTP_REQUEST_LINE_BYTES_MAX"
    case headerBytesMax = "HTTP_HEADER_BYTES_MAX"
    case headerCountMax = "HTTP_HEADER_COUNT_MAX"
    case bodyBytesMax = "HTTP_BODY_BYTES_MAX"
    case headerDeadline = "HTTP_HEADER_DEADLINE_MS"
    case bodyBytesPerSecondMin = "HTTP_BODY_BYTES_PER_SECOND_MIN"
    case handlerDeadline = "HTTP_HANDLER_DEADLINE_MS"
    case writeDeadline = "HTTP_WRITE_DEADLINE_MS"
    case idleDeadline = "HTTP_IDLE_DEADLINE_MS"
    case lingerDeadline = "HTTP_LINGER_DEADLINE_MS"
    case requestsPerConnectionMax = "HTTP_REQUESTS_PER_CONNECTION_MAX"
    case connectionsMax = "HTTP_CONNECTIONS_MAX"
    case connectionsPerAddressMax = "HTTP_CONNECTIONS_PER_ADDRESS_MAX"
    case handshakeRatePerAddress = "HTTP_HANDSHAKE_RATE_PER_ADDRESS"
    case unsentBytesMax = "HTTP_UNSENT_BYTES_MAX"
    case unsentBytesPerOwnerMax = "HTTP_UNSENT_BYTES_PER_CLIENT_MAX"
    case unfinishedBytesMax = "HTTP_UNFINISHED_BYTES_MAX"
    case unfinishedBytesPerOwnerMax = "HTTP_UNFINISHED_BYTES_PER_CLIENT_MAX"
    case requestsMax = "HTTP_REQUESTS_IN_FLIGHT_MAX"
    case requestsPerUserMax = "HTTP_REQUESTS_IN_FLIGHT_PER_USER_MAX"
    case longPollsMax = "HTTP_LONG_POLLS_MAX"
    case belvoCAFile = "BELVO_CA_FILE"
    case belvoTimeout = "BELVO_TIMEOUT_MS"
    case belvoRate = "BELVO_RATE"
    case belvoCallsMax = "BELVO_CALLS_MAX"
    case belvoUserRate = "BELVO_USER_RATE"
    case belvoStrangerRate = "BELVO_STRANGER_RATE"
    case belvoDialect = "BELVO_DIALECT"
    case widgetTokens = "WIDGET_TOKENS"
    case belvoTokenRefreshPath = "BELVO_TOKEN_REFRESH_PATH"
    case authIssuer = "AUTH_ISSUER"
    case authAudience = "AUTH_AUDIENCE"
    case callbackURLs = "CALLBACK_URLS"
    case appDeepLink = "APP_DEEP_LINK"
    case webReturnURL = "WEB_RETURN_URL"
    case appleAppIDs = "APPLE_APP_IDS"
    case androidApps = "ANDROID_APPS"
    case paymentMaxAmount = "PAYMENT_MAX_AMOUNT"
    case orders = "ORDERS"
    case userRate = "USER_RATE"
    case addressRate = "ADDRESS_RATE"
    case openEnrollmentsMax = "USER_OPEN_ENROLLMENTS_MAX"
    case enrollmentsPerDayMax = "USER_ENROLLMENTS_PER_DAY_MAX"
    case openPaymentsMax = "USER_OPEN_PAYMENTS_MAX"
    case paymentsPerDayMax = "USER_PAYMENTS_PER_DAY_MAX"
    case unknownRedirectsMax = "UNKNOWN_REDIRECTS_MAX"
    case shopToken = "SHOP_TOKEN"
    case shopWebhookURL = "SHOP_WEBHOOK_URL"
    case shopWebhookSecret = "SHOP_WEBHOOK_SECRET"
    case pollInterval = "POLL_INTERVAL_MS"
    case pollDeadline = "POLL_DEADLINE_MS"
    case userDeadline = "USER_DEADLINE_MS"
    case logLevel = "LOG_LEVEL"
    case logRequests = "LOG_REQUESTS"

    /// The settings whose values only the server may know.
    static let secrets: [SettingName] = [
        .databaseURL, .belvoSecretPassword, .belvoWebhookToken, .authHS256Secret, .encryptionKeys, .lookupKey,
        .shopToken, .shopWebhookSecret,
    ]

    /// The name under which a file's path is given instead of the value; none where the value is a path itself.
    var fileVariant: String? {
        rawValue.hasSuffix("_FILE") ? nil : rawValue + "_FILE"
    }

    /// Every name that a settings file may hold.
    static let allSpellings = allCases.flatMap { [$0.rawValue] + ($0.fileVariant.map { [$0] } ?? []) }

    /// The permitted name that an unknown one was probably meant to be: at most two letters away.
    static func nearest(to unknown: String) -> String? {
        let nearest = allSpellings.map { ($0, distance(from: Array(unknown.utf8), to: Array($0.utf8))) }
            .min { $0.1 < $1.1 }
        return nearest.flatMap { $0.1 <= 2 ? $0.0 : nil }
    }

    /// The letters to put in, take out or replace on the way from one name to another (Levenshtein).
    private static func distance(from source: [UInt8], to target: [UInt8]) -> Int {
        var row = Array(0...target.count)
        for (index, letter) in source.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in target.indices {
                let replaced = diagonal + (target[column] == letter ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, diagonal + 1, row[column] + 1)
            }
        }
        return row[target.count]
    }
}
