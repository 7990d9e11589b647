import Belvo
import HTTP
import Logging
import MerchantAPI
import MerchantAuth
import MerchantModel
import MerchantStore
import Payments
import Transport

import class FoundationEssentials.ProcessInfo
import struct FoundationEssentials.UUID

/// Everything that the server is told from outside, read once and never changed (merchant-api.md, "Configuration").
///
/// What is secret is of a type that prints as `‹redacted›`, so the whole may be interpolated by mistake without harm.
public struct Settings: Sendable {
    /// `DATABASE_URL`: a libpq URI or keyword string.
    public var databaseURL: Secret
    /// `PUBLIC_BASE_URL`: where phones, browsers and Belvo reach this server. It has no path.
    public var publicBaseURL: URL

    /// `BELVO_BASE_URL`, without a path.
    public var belvoBaseURL: URL
    /// `BELVO_SECRET_ID` and `BELVO_SECRET_PASSWORD`.
    public var belvoCredentials: Credentials
    /// `BELVO_BENEFICIARY_BANK_ACCOUNT`: the account that is paid.
    public var beneficiaryBankAccount: UUID
    /// `BELVO_WEBHOOK_TOKEN`: what Belvo's webhooks show.
    public var belvoWebhookToken: Secret
    /// `BELVO_CA_FILE`: a PEM file of authorities that are trusted beside the system's.
    public var belvoCAFile: String?
    /// `BELVO_RATE`: calls to Belvo per second; 0 is no limit.
    public var belvoRate: Int
    /// `BELVO_CALLS_MAX`: calls to Belvo under way at a time.
    public var belvoCallsMax: Int
    /// `BELVO_USER_RATE`: those of one user per second; 0 is no limit.
    public var belvoUserRate: Int
    /// `BELVO_STRANGER_RATE`: those for redirects of strangers, per second; 0 is no limit.
    public var belvoStrangerRate: Int
    /// `BELVO_DIALECT`: how Belvo is spoken to where its documents leave it open.
    public var belvoDialect: Dialect
    /// `WIDGET_TOKENS`.
    public var mintsWidgetTokens: Bool
    /// `BELVO_TOKEN_REFRESH_PATH`: where Belvo renews those tokens; nil while it is unknown, and they are minted anew.
    public var belvoTokenRefreshPath: String?

    /// `AUTH_*`: how the users' tokens are checked.
    public var auth: TokenRules

    /// `ENCRYPTION_KEYS`: the first one encrypts, all decrypt.
    public var encryptionKeys: [EncryptionKey]
    /// `LOOKUP_KEY`.
    public var lookupKey: LookupKey

    /// `LISTEN`.
    public var listen: SocketAddress
    /// `ADMIN_LISTEN`.
    public var adminListen: SocketAddress
    /// `TLS_CERT_FILE` and `TLS_KEY_FILE`; nil where a proxy terminates https.
    public var tls: TLSFiles?
    /// `TRUSTED_PROXIES`: whose word about the client's address is believed.
    public var trustedProxies: [IPNetwork]
    /// `CORS_ORIGINS`: the web origins that may call the API.
    public var corsOrigins: Set<URL.Origin>
    /// `HTTP_*`: the bounds of a connection and of what comes on it.
    public var connectionLimits: ServerConfiguration
    /// `HTTP_REQUESTS_IN_FLIGHT_*` and `HTTP_LONG_POLLS_MAX`.
    public var inFlightLimits: InFlightLimits
    /// `USER_RATE`: requests per second and user; 0 is no limit.
    public var userRate: Int
    /// `USER_OPEN_ENROLLMENTS_MAX`, `USER_ENROLLMENTS_PER_DAY_MAX` and `USER_OPEN_PAYMENTS_MAX`.
    public var userBounds: UserBounds
    /// `ADDRESS_RATE`: requests per second without a good token from one address; 0 is no limit.
    public var addressRate: Int
    /// `UNKNOWN_REDIRECTS_MAX`: redirects of strangers that wait for Belvo.
    public var unknownRedirectsMax: Int

    /// Where banks may send users back to, letter by letter: the server's own address first, which is the default,
    /// then those of `CALLBACK_URLS`.
    public var callbackURLs: [String]
    /// `APP_DEEP_LINK`: what the callback page opens.
    public var appDeepLink: String?
    /// `WEB_RETURN_URL`: where the callback page leads a user who enrolls in a browser.
    public var webReturnURL: String?
    /// `APPLE_APP_IDS`: `TEAM.bundle` each.
    public var appleAppIDs: [String]
    /// `ANDROID_APPS`.
    public var androidApps: [AndroidApp]

    /// `PAYMENT_MAX_AMOUNT`: the most that one payment may be.
    public var paymentMaxAmount: Money
    /// `ORDERS`.
    public var orders: OrderRule

    /// `SHOP_TOKEN`: what the shop shows when it places orders. Without one it can only write them into the database.
    public var shopToken: Secret?
    /// `SHOP_WEBHOOK_URL` and `SHOP_WEBHOOK_SECRET`; nil where no events are wanted.
    public var shopWebhook: ShopWebhook?

    /// `POLL_INTERVAL_MS`, `POLL_DEADLINE_MS`, `USER_DEADLINE_MS` and `BELVO_TIMEOUT_MS`.
    public var timeouts: Timeouts
    /// `LOG_LEVEL`.
    public var logLevel: Logger.Level
    /// `LOG_REQUESTS`: whether each answer has a line at the level `info`.
    public var logsRequests: Bool

    /// What works and makes an attack easier than it has to be.
    public var warnings: [SettingsProblem] = []

    /// Reads the settings of this process's environment and of the file at a path, if there is one.
    public static func load(file path: String?) throws -> Settings {
        let file = try path.map(SettingsFile.read) ?? SettingsFile()
        return try read(environment: ProcessInfo.processInfo.environment, file: file)
    }

    /// Reads the settings of the environment and of a file, over which the environment wins.
    ///
    /// Names in the environment that are none of ours belong to other programs; in the file they are mistakes. Throws
    /// everything that is wrong at once.
    public static func read(
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
public enum OrderRule: String, CaseIterable, Sendable {
    case required
    /// The app may name the amount: for demonstrations only.
    case optional
}

/// The PEM files with which the server speaks https itself.
public struct TLSFiles: Sendable {
    /// The certificate and its chain.
    public let certificateFile: String
    public let keyFile: String
}

/// Where the shop's events go, and the key that signs them.
public struct ShopWebhook: Sendable {
    public let url: URL
    public let secret: WebhookSecret
}
