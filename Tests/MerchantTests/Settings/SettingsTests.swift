import Belvo
import FoundationEssentials
import Glibc
import HTTP
import Logging
import Payments
import Testing
import Transport

@testable import MerchantAPI
@testable import MerchantAuth
@testable import MerchantModel
@testable import MerchantServer
@testable import MerchantStore
@testable import MerchantWorkflows

struct SettingsTests {
    /// The required settings, and no others.
    static let required = [
        "DATABASE_URL": "postgresql://merchant:hunter2@db1,db2/merchant",
        "PUBLIC_BASE_URL": "https://pay.shop.example",
        "BELVO_BASE_URL": "https://api.belvo.com",
        "BELVO_SECRET_ID": "id",
        "BELVO_SECRET_PASSWORD": "hunter2:é",
        "BELVO_BENEFICIARY_BANK_ACCOUNT": "5b3a1c7e-90d4-4f26-8a51-0d6c2e9b7f10",
        "BELVO_WEBHOOK_TOKEN": "hunter2-hunter2-hunter2",
        "AUTH_HS256_SECRET": "hunter2 and more than thirty-two bytes",
        "ENCRYPTION_KEYS": "b:\(key(1)),a:\(key(2))",
        "LOOKUP_KEY": key(3),
    ]

    @Test func `what works and makes an attack easier is told, and no value with it`() throws {
        let secret = try TemporaryFile("hunter2-hunter2-hunter2")
        let keys = try TemporaryFile(#"{"keys": []}"#)
        chmod(secret.path, 0o644)
        chmod(keys.path, 0o644)
        var environment = Self.required
        environment["BELVO_WEBHOOK_TOKEN"] = nil
        environment["BELVO_WEBHOOK_TOKEN_FILE"] = secret.path
        environment["AUTH_HS256_SECRET"] = nil
        environment["AUTH_JWKS_FILE"] = keys.path
        let told = try Settings.read(environment: environment).warnings
        #expect(told.map(\.name) == ["BELVO_WEBHOOK_TOKEN_FILE", "AUTH_AUDIENCE"])
        #expect(!told.contains { $0.message.contains("hunter2") })
        chmod(secret.path, 0o640)
        environment["AUTH_AUDIENCE"] = "merchant"
        #expect(try Settings.read(environment: environment).warnings.isEmpty)
        // The file of settings itself, once there is a secret in it.
        let file = try TemporaryFile("USER_RATE=1\n")
        chmod(file.path, 0o644)
        #expect(try Settings.read(environment: environment, file: SettingsFile.read(file.path)).warnings.isEmpty)
        try file.write("SHOP_TOKEN=hunter2-hunter2-hunter2\n")
        let read = try Settings.read(environment: environment, file: SettingsFile.read(file.path))
        #expect(read.warnings.map(\.name) == ["the file"])
    }

    @Test func `the required settings are enough, and the others have the documented defaults`() throws {
        let settings = try Settings.read(environment: Self.required)
        #expect(settings.databaseURL.text == Self.required["DATABASE_URL"])
        #expect(settings.publicBaseURL.origin.description == "https://pay.shop.example")
        #expect(settings.belvoBaseURL.origin.description == "https://api.belvo.com")
        #expect(settings.beneficiaryBankAccount.uuidString.lowercased() == "5b3a1c7e-90d4-4f26-8a51-0d6c2e9b7f10")
        #expect(settings.belvoWebhookToken.isEqual(to: "hunter2-hunter2-hunter2"))
        #expect(!settings.belvoWebhookToken.isEqual(to: "hunter3-hunter2-hunter2"))
        #expect(settings.encryptionKeys.map(\.id) == ["b", "a"])
        guard case .hs256 = settings.auth.keys else { return #expect(Bool(false)) }
        #expect(settings.auth.issuer == nil && settings.auth.audience == nil)

        #expect(settings.listen.description == "127.0.0.1:8080")
        #expect(settings.adminListen.description == "127.0.0.1:9464")
        #expect(settings.tls == nil && settings.trustedProxies.isEmpty && settings.corsOrigins.isEmpty)
        #expect(settings.userRate == 20 && settings.addressRate == 20 && settings.unknownRedirectsMax == 500)
        #expect(settings.userBounds == UserBounds())
        #expect(settings.belvoUserRate == 10 && settings.belvoStrangerRate == 5 && settings.warnings.isEmpty)
        var limits = ServerConfiguration()
        limits.handshakeRatePerAddress = 20
        #expect(settings.connectionLimits.bounds == limits.bounds)
        #expect(settings.inFlightLimits == InFlightLimits())
        #expect(settings.belvoCAFile == nil && settings.belvoDialect == Dialect() && settings.mintsWidgetTokens)
        #expect(settings.belvoTokenRefreshPath == nil)
        #expect(settings.callbackURLs == ["https://pay.shop.example/enrollments/callback"])
        #expect(settings.appDeepLink == nil && settings.webReturnURL == nil)
        #expect(settings.appleAppIDs.isEmpty && settings.androidApps.isEmpty)
        #expect(settings.paymentMaxAmount.description == "500.00" && settings.orders == .required)
        #expect(settings.shopToken == nil && settings.shopWebhook == nil)
        #expect(settings.timeouts == Timeouts())
        #expect(settings.logLevel == .info)
    }

    @Test func `nothing at all names everything that is required, once each and in order`() throws {
        let fault = try #require(throws: SettingsFault.self) { try Settings.read(environment: [:]) }
        #expect(
            fault.problems.map(\.name) == [
                "DATABASE_URL", "PUBLIC_BASE_URL", "BELVO_BASE_URL", "BELVO_SECRET_ID", "BELVO_SECRET_PASSWORD",
                "BELVO_BENEFICIARY_BANK_ACCOUNT", "BELVO_WEBHOOK_TOKEN", "AUTH_HS256_SECRET", "ENCRYPTION_KEYS",
                "LOOKUP_KEY",
            ])
        #expect(fault.problems.allSatisfy { $0.kind == .missing })
        #expect(
            fault.description.hasPrefix("10 problems with the settings:\n  DATABASE_URL is missing: expected a URI"))
    }

    @Test func `everything optional is read`() throws {
        let file = try TemporaryFile("PEM")
        var environment = Self.required
        environment.merge([
            "LISTEN": "[::1]:0", "ADMIN_LISTEN": "127.0.0.1:1", "TLS_CERT_FILE": file.path, "TLS_KEY_FILE": file.path,
            "HTTP_REQUEST_LINE_BYTES_MAX": "1", "HTTP_HEADER_BYTES_MAX": "2", "HTTP_HEADER_COUNT_MAX": "3",
            "HTTP_BODY_BYTES_MAX": "4", "HTTP_HEADER_DEADLINE_MS": "5", "HTTP_BODY_BYTES_PER_SECOND_MIN": "6",
            "HTTP_HANDLER_DEADLINE_MS": "7", "HTTP_WRITE_DEADLINE_MS": "8", "HTTP_IDLE_DEADLINE_MS": "9",
            "HTTP_LINGER_DEADLINE_MS": "10", "HTTP_REQUESTS_PER_CONNECTION_MAX": "11", "HTTP_CONNECTIONS_MAX": "12",
            "HTTP_CONNECTIONS_PER_ADDRESS_MAX": "13", "HTTP_HANDSHAKE_RATE_PER_ADDRESS": "21",
            "HTTP_REQUESTS_IN_FLIGHT_MAX": "14",
            "HTTP_UNSENT_BYTES_MAX": "17", "HTTP_UNSENT_BYTES_PER_CLIENT_MAX": "18",
            "HTTP_UNFINISHED_BYTES_MAX": "19", "HTTP_UNFINISHED_BYTES_PER_CLIENT_MAX": "20",
            "HTTP_REQUESTS_IN_FLIGHT_PER_USER_MAX": "15", "HTTP_LONG_POLLS_MAX": "16",
            "TRUSTED_PROXIES": "10.0.0.0/8, ::1", "CORS_ORIGINS": "https://a.example,http://localhost:3000",
            "BELVO_CA_FILE": file.path, "BELVO_TIMEOUT_MS": "1", "BELVO_DIALECT": "amount=string,customer_version=v2",
            "WIDGET_TOKENS": "off", "BELVO_TOKEN_REFRESH_PATH": "/token/refresh/", "AUTH_ISSUER": "https://login",
            "AUTH_AUDIENCE": "pay",
            "CALLBACK_URLS": "https://Shop.example/cb?x=1,http://127.0.0.1:3000/cb",
            "APP_DEEP_LINK": "shopapp://enrollment?x=1", "WEB_RETURN_URL": "https://Shop.example/pay?x=1",
            "APPLE_APP_IDS": "ABCDE12345.shop.app",
            "ANDROID_APPS": "shop.app=\(fingerprint),shop.app.beta=\(fingerprint.lowercased())",
            "PAYMENT_MAX_AMOUNT": "0.01", "ORDERS": "optional", "USER_RATE": "0", "SHOP_TOKEN": "sixteen-of-these",
            "SHOP_WEBHOOK_URL": "http://localhost:1/x", "SHOP_WEBHOOK_SECRET": "whsec_\(key(7))",
            "POLL_INTERVAL_MS": "10", "POLL_DEADLINE_MS": "20", "USER_DEADLINE_MS": "30", "LOG_LEVEL": "trace",
            "LOG_REQUESTS": "on",
        ]) { $1 }
        let settings = try Settings.read(environment: environment)
        #expect(settings.listen.description == "[::1]:0" && settings.adminListen.port == 1)
        #expect(settings.tls?.certificateFile == file.path && settings.tls?.keyFile == file.path)
        #expect(settings.trustedProxies.count == 2 && settings.corsOrigins.count == 2)
        #expect(settings.belvoCAFile == file.path && !settings.mintsWidgetTokens)
        #expect(settings.logsRequests)
        #expect(settings.belvoTokenRefreshPath == "/token/refresh/")
        #expect(settings.belvoDialect.amount == .string && settings.belvoDialect.customerVersion == .v2)
        #expect(settings.belvoDialect.intentCustomer == Dialect().intentCustomer)
        #expect(settings.auth.issuer == "https://login" && settings.auth.audience == "pay")
        #expect(settings.callbackURLs.dropFirst() == ["https://Shop.example/cb?x=1", "http://127.0.0.1:3000/cb"])
        #expect(settings.webReturnURL == "https://Shop.example/pay?x=1")
        #expect(settings.appDeepLink == "shopapp://enrollment?x=1" && settings.appleAppIDs == ["ABCDE12345.shop.app"])
        #expect(settings.androidApps.map(\.package) == ["shop.app", "shop.app.beta"])
        #expect(Set(settings.androidApps.map(\.fingerprint)) == [fingerprint])
        #expect(settings.paymentMaxAmount == Money(centavos: 1) && settings.orders == .optional)
        #expect(settings.connectionLimits.bounds == Array(1...13) + [21, 17, 18, 19, 20])
        #expect(settings.inFlightLimits.requestsMax == 14 && settings.inFlightLimits.requestsPerUserMax == 15)
        #expect(settings.inFlightLimits.longPollsMax == 16)
        #expect(settings.userRate == 0 && settings.shopToken?.text == "sixteen-of-these")
        #expect(settings.shopWebhook?.url.description == "http://localhost:1/x")
        #expect(settings.shopWebhook?.secret.key == [UInt8](repeating: 7, count: 32))
        #expect(
            settings.timeouts.pollInterval == .milliseconds(10) && settings.timeouts.pollDeadline == .milliseconds(20))
        #expect(
            settings.timeouts.userDeadline == .milliseconds(30) && settings.timeouts.callDeadline == .milliseconds(1))
        #expect(settings.logLevel == .trace)
    }

    @Test func `all problems are told at once, whatever they are`() throws {
        var environment = Self.required
        environment["DATABASE_URL"] = nil
        environment["LISTEN"] = "8080"
        environment["SHOP_WEBHOOK_URL"] = "https://shop.example"
        environment["APP_DEEP_LINK"] = ""
        let file = SettingsFile.parse("LISTE=1\nnonsense\nUSER_RATE=many\nBELVO_TIMEOUT_MS=5\nORDERS=maybe\n")
        let fault = try #require(throws: SettingsFault.self) { try Settings.read(environment: environment, file: file) }
        #expect(
            fault.problems.map { "\($0.name) \($0.kind)" } == [
                "line 2 malformed", "LISTE unknown", "DATABASE_URL missing", "LISTEN malformed",
                "APP_DEEP_LINK malformed", "ORDERS malformed", "USER_RATE malformed", "SHOP_WEBHOOK_SECRET missing",
            ])
    }

    @Test func `settings print no secret`() throws {
        let settings = try Settings.read(environment: Self.required)
        var dumped = ""
        dump(settings, to: &dumped)
        for text in [dumped, "\(settings)", String(reflecting: settings)] {
            #expect(!text.contains("hunter2") && text.contains("‹redacted›"))
        }
    }

    private let fingerprint = [String](repeating: "AB", count: 32).joined(separator: ":")
}

/// The base64 of 32 bytes of that value.
func key(_ byte: UInt8) -> String {
    let key = base64URL([UInt8](repeating: byte, count: 32)) + "="
    return key.replacing("-", with: "+").replacing("_", with: "/")
}

extension ServerConfiguration {
    /// The values that are settings, in their order; durations in milliseconds.
    var bounds: [Int] {
        func milliseconds(_ duration: Duration) -> Int { Int(duration / .milliseconds(1)) }
        return [
            message.startLineBytesMax, message.headerBytesMax, message.headerCountMax, message.bodyBytesMax,
            milliseconds(headerDeadline), bodyBytesPerSecondMin, milliseconds(handlerDeadline),
            milliseconds(writeDeadline), milliseconds(idleDeadline), milliseconds(lingerDeadline),
            requestsPerConnectionMax, connectionsMax, connectionsPerAddressMax, handshakeRatePerAddress,
            unsentBytesMax, unsentBytesPerOwnerMax, unfinishedBytesMax, unfinishedBytesPerOwnerMax,
        ]
    }
}
