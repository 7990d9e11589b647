import Belvo
import HTTP
import Logging
import MerchantAPI
import MerchantAuth
import MerchantModel
import MerchantStore
import MerchantWorkflows
import Payments
import Transport

import class FoundationEssentials.ProcessInfo
import struct FoundationEssentials.UUID

/// All settings of the server, read once and never changed (merchant-api.md, "Configuration").
///
/// What is secret is of a type that prints as `‹redacted›`, so the whole may be interpolated by mistake without harm.
package struct Settings: Sendable {
    /// `DATABASE_URL`: a libpq URI or keyword string.
    package var databaseURL: Secret
    /// `PUBLIC_BASE_URL`: where phones, browsers and Belvo reach this server. It has no path.
    package var publicBaseURL: URL

    /// `BELVO_BASE_URL`, without a path.
    package var belvoBaseURL: URL
    /// `BELVO_SECRET_ID` and `BELVO_SECRET_PASSWORD`.
    package var belvoCredentials: Credentials
    /// `BELVO_BENEFICIARY_BANK_ACCOUNT`: the account that is paid.
    package var beneficiaryBankAccount: UUID
    /// `BELVO_WEBHOOK_TOKEN`: what Belvo's webhooks show.
    package var belvoWebhookToken: Secret
    /// `BELVO_CA_FILE`: a PEM file of authorities that are trusted beside the system's.
    package var belvoCAFile: String?
    /// `BELVO_RATE`: calls to Belvo per second; 0 is no limit.
    package var belvoRate: Int
    /// `BELVO_CALLS_MAX`: calls to Belvo in flight at a time.
    package var belvoCallsMax: Int
    /// `BELVO_USER_RATE`: those of one user per second; 0 is no limit.
    package var belvoUserRate: Int
    /// `BELVO_STRANGER_RATE`: those for redirects of strangers, per second; 0 is no limit.
    package var belvoStrangerRate: Int
    /// `BELVO_DIALECT`: how Belvo is spoken to where its documents leave it open.
    package var belvoDialect: Dialect
    /// `WIDGET_TOKENS`.
    package var mintsWidgetTokens: Bool
    /// `BELVO_TOKEN_REFRESH_PATH`: where Belvo renews those tokens; nil while it is unknown, and they are minted anew.
    package var belvoTokenRefreshPath: String?

    /// `AUTH_*`: how the users' tokens are checked.
    package var auth: TokenRules

    /// `ENCRYPTION_KEYS`: the first one encrypts, all decrypt.
    package var encryptionKeys: [EncryptionKey]
    /// `LOOKUP_KEY`.
    package var lookupKey: LookupKey

    /// `LISTEN`.
    package var listen: SocketAddress
    /// `ADMIN_LISTEN`.
    package var adminListen: SocketAddress
    /// `TLS_CERT_FILE` and `TLS_KEY_FILE`; nil where a proxy terminates https.
    package var tls: TLSFiles?
    /// `TRUSTED_PROXIES`: the proxies whose header about the client's address is believed.
    package var trustedProxies: [IPNetwork]
    /// `CORS_ORIGINS`: the web origins that may call the API.
    package var corsOrigins: Set<URL.Origin>
    /// `HTTP_*`: the bounds of a connection and of what comes on it.
    package var connectionLimits: ServerConfiguration
    /// `HTTP_REQUESTS_IN_FLIGHT_*` and `HTTP_LONG_POLLS_MAX`.
    package var inFlightLimits: InFlightLimits
    /// `USER_RATE`: requests per second and user; 0 is no limit.
    package var userRate: Int
    /// `USER_OPEN_ENROLLMENTS_MAX`, `USER_ENROLLMENTS_PER_DAY_MAX`, `USER_OPEN_PAYMENTS_MAX` and
    /// `USER_PAYMENTS_PER_DAY_MAX`.
    package var userBounds: UserBounds
    /// `ADDRESS_RATE`: requests per second without a good token from one address; 0 is no limit.
    package var addressRate: Int
    /// `UNKNOWN_REDIRECTS_MAX`: redirects of strangers that wait for Belvo.
    package var unknownRedirectsMax: Int

    /// Where banks may send users back to, letter by letter: the server's own address first, which is the default,
    /// then those of `CALLBACK_URLS`.
    package var callbackURLs: [String]
    /// `APP_DEEP_LINK`: what the callback page opens.
    package var appDeepLink: String?
    /// `WEB_RETURN_URL`: where the callback page leads a user who enrolls in a browser.
    package var webReturnURL: String?
    /// `APPLE_APP_IDS`: `TEAM.bundle` each.
    package var appleAppIDs: [String]
    /// `ANDROID_APPS`.
    package var androidApps: [AndroidApp]

    /// `PAYMENT_MAX_AMOUNT`: the most that one payment may be.
    package var paymentMaxAmount: Money
    /// `ORDERS`.
    package var orders: OrderRule

    /// `SHOP_TOKEN`: what the shop shows when it places orders. Without one it can only write them into the database.
    package var shopToken: Secret?
    /// `SHOP_WEBHOOK_URL` and `SHOP_WEBHOOK_SECRET`; nil where no events are wanted.
    package var shopWebhook: ShopWebhook?

    /// `POLL_INTERVAL_MS`, `POLL_DEADLINE_MS`, `USER_DEADLINE_MS` and `BELVO_TIMEOUT_MS`.
    package var timeouts: Timeouts
    /// `LOG_LEVEL`.
    package var logLevel: Logger.Level
    /// `LOG_REQUESTS`: whether each answer has a line at the level `info`.
    package var logsRequests: Bool

    /// Warnings about values that work and make an attack easier.
    package var warnings: [SettingsProblem] = []

    /// Reads the settings of this process's environment and of the file at a path, if there is one.
    package static func load(file path: String?) throws -> Settings {
        let file = try path.map(SettingsFile.read) ?? SettingsFile()
        return try read(environment: ProcessInfo.processInfo.environment, file: file)
    }

    /// Reads the settings of the environment and of a file, over which the environment wins.
    ///
    /// Names in the environment that are none of ours belong to other programs; in the file they are mistakes. Throws
    /// everything that is wrong at once.
    package static func read(
        environment: [String: String], file: SettingsFile = SettingsFile()
    ) throws(SettingsFault) -> Settings {
        let reader = SettingsReader(environment: environment, file: file)
        var settings = Settings(reader)
        if let fault = reader.fault { throw fault }
        settings?.warnings = reader.warnings
        guard let settings else { preconditionFailure("settings without a fault are complete") }
        return settings
    }
}

/// Whether a payment needs an order that sets its price.
package enum OrderRule: String, CaseIterable, Sendable {
    case required
    /// The app may name the amount: for demonstrations only.
    case optional
}

/// The PEM files with which the server speaks https itself.
package struct TLSFiles: Sendable {
    /// The certificate and its chain.
    package let certificateFile: String
    package let keyFile: String
}

/// Where the shop's events go, and the key that signs them.
package struct ShopWebhook: Sendable {
    package let url: URL
    package let secret: WebhookSecret
}
