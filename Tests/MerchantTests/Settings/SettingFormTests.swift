import HTTP
import Testing

@testable import MerchantAuth
@testable import MerchantServer

/// Each setting refuses what it cannot use, and repeats none of it.
struct SettingFormTests {
    private static let fingerprint = [String](repeating: "0F", count: 32).joined(separator: ":")

    private static let nearKey = String(key(1).dropLast(4))

    @Test(
        arguments: [
            ("DATABASE_URL", ["merchant", "mysql://a@b/c", "postgresql://a\u{0}b"]),
            (
                "PUBLIC_BASE_URL",
                [
                    "pay.shop.example", "http://pay.shop.example", "https://", "https://a b", "https://u:p@a.example",
                    "https://a.example/path", "https://a.example?x=1", "https://a.example/#x", "ftp://a.example",
                    "http://127.0.0.1.example", "http://localhost.example", "http://128.0.0.1", "http://[::2]",
                    "http://0.0.0.0:80", "https://a.example:99999", "https://a\\b.example", "HTTPS:/a.example",
                ]
            ),
            (
                "BELVO_BASE_URL",
                ["http://api.belvo.com", "https://api.belvo.com/api", "api.belvo.com", "http://10.0.0.1"]
            ),
            ("BELVO_SECRET_ID", ["a:b", "a\nb"]),
            ("BELVO_SECRET_PASSWORD", ["a\u{7F}", "a\nb"]),
            (
                "BELVO_BENEFICIARY_BANK_ACCOUNT",
                ["1", "5b3a1c7e90d44f268a510d6c2e9b7f10", "{5b3a1c7e-90d4-4f26-8a51-0d6c2e9b7f10}"]
            ),
            (
                "BELVO_WEBHOOK_TOKEN",
                ["x", "fifteen-of-thes", "a b a b a b a b a b", "ééééééééééééééé", "a\taaaaaaaaaaaaaaa"]
            ),
            ("AUTH_HS256_SECRET", [String(repeating: "s", count: 31)]),
            (
                "ENCRYPTION_KEYS",
                [
                    key(1), "a:" + nearKey, "a:\(key(1)),", "a:\(key(1)),a:\(key(2))", ",a:\(key(1))", ":\(key(1))",
                    "a b:\(key(1))", "a=\(key(1))", "a:\(key(1).dropLast())", "a:\(key(1)) b:\(key(1))", "a:",
                ]
            ),
            ("LOOKUP_KEY", ["a", nearKey, key(1) + "AAAA", "a:" + key(1), key(255).replacing("/", with: "_")]),
            (
                "LISTEN",
                [
                    "8080", ":8080", "localhost:8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "::1:80",
                    "[127.0.0.1]:1",
                ]
            ),
            ("ADMIN_LISTEN", ["0.0.0.0", "127.0.0.1:-1"]),
            (
                "TRUSTED_PROXIES",
                ["10.0.0.0/33", "10.0.0/8", "10.0.0.0/", "10.0.0.0/8/8", "proxy", "::/129", "10.0.0.1;::1"]
            ),
            (
                "CORS_ORIGINS",
                ["*", "null", "shop.example", "https://shop.example/x", "http://shop.example", "https://a,"]
            ),
            ("HTTP_REQUEST_LINE_BYTES_MAX", ["0", "16k"]), ("HTTP_HEADER_BYTES_MAX", ["-1"]),
            ("HTTP_HEADER_COUNT_MAX", ["0"]), ("HTTP_BODY_BYTES_MAX", ["1073741825"]),
            ("HTTP_HEADER_DEADLINE_MS", ["0"]), ("HTTP_BODY_BYTES_PER_SECOND_MIN", ["0"]),
            ("HTTP_HANDLER_DEADLINE_MS", ["30s"]), ("HTTP_WRITE_DEADLINE_MS", ["0"]),
            ("HTTP_IDLE_DEADLINE_MS", ["never"]), ("HTTP_LINGER_DEADLINE_MS", ["0"]),
            ("HTTP_REQUESTS_PER_CONNECTION_MAX", ["0"]), ("HTTP_CONNECTIONS_MAX", ["0"]),
            ("HTTP_CONNECTIONS_PER_ADDRESS_MAX", ["-1"]), ("HTTP_HANDSHAKE_RATE_PER_ADDRESS", ["-1", "1000001"]),
            ("HTTP_REQUESTS_IN_FLIGHT_MAX", ["0"]),
            ("HTTP_REQUESTS_IN_FLIGHT_PER_USER_MAX", ["many"]), ("HTTP_LONG_POLLS_MAX", ["-1"]),
            ("BELVO_CA_FILE", ["/nowhere"]),
            ("BELVO_TIMEOUT_MS", ["0", "-1", "+1", "1.5", "1e3", "10s", " 1", "86400001", "99999999999999999999"]),
            (
                "BELVO_DIALECT",
                [
                    "string", "amount=", "amount=words", "amount=string,amount=number", "sound=loud",
                    "intent_customer=id,",
                ]
            ),
            ("WIDGET_TOKENS", ["true", "1", "ON", "no"]),
            ("AUTH_ISSUER", ["a\nb"]),
            ("CALLBACK_URLS", ["http://shop.example/cb", "shopapp://cb", "https://u@shop.example/cb", "https://a#b"]),
            (
                "APP_DEEP_LINK",
                [
                    "enrollment", "://x", "shopapp:", "javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x",
                    "http://app.shop.example", "shopapp://a b", "shopapp://a\"b", "shopapp://<b>", "shopapp://a#b",
                    "1app://x", "shop_app://x", "https://", "https://pay.shop.example/app",
                ]
            ),
            (
                "WEB_RETURN_URL",
                [
                    "shop.example", "http://shop.example", "shopapp://x", "https://a#b", "javascript:alert(1)",
                    "https://a b",
                ]
            ),
            (
                "APPLE_APP_IDS",
                [
                    "shop.app", "ABCDE1234.shop.app", "ABCDE12345.", "ABCDE12345.a b", "ABCDE12345.a..b",
                    "ABCDE-2345.shop.app", "ABCDE12345.shop_app", "ABCDE12345.*",
                ]
            ),
            (
                "ANDROID_APPS",
                ["shop.app", "shop.app=AB", "shop.app=" + String(repeating: "AB", count: 32), "=AB:CD"]
                    + ["shop", "shop.1app", "shop.app-beta", "shop..app", "shop.*"].map { "\($0)=\(fingerprint)" }
            ),
            ("PAYMENT_MAX_AMOUNT", ["0", "0.00", "-1", "500,00", "1e2", "1.234", "R$ 5"]),
            ("ORDERS", ["Required", "none"]),
            ("USER_RATE", ["-1", "2.5", "1000001"]),
            ("SHOP_TOKEN", ["x", "fifteen-of-thes", "a b a b a b a b a b"]), ("ADDRESS_RATE", ["-1", "1000001"]),
            ("BELVO_USER_RATE", ["-1", "x"]), ("BELVO_STRANGER_RATE", ["-1"]), ("UNKNOWN_REDIRECTS_MAX", ["0"]),
            ("SHOP_WEBHOOK_URL", ["http://shop.example", "/x"]),
            (
                "SHOP_WEBHOOK_SECRET",
                ["secret", "whsec_", "whsec_c2VjcmV0", "whsec_" + nearKey.dropLast(12), "whsec:" + key(1)]
            ),
            ("POLL_INTERVAL_MS", ["0", "two"]),
            ("POLL_DEADLINE_MS", ["0"]),
            ("USER_DEADLINE_MS", ["forever"]),
            ("LOG_LEVEL", ["INFO", "verbose", "3"]), ("LOG_REQUESTS", ["yes", "ON", "1"]),
        ] as [(String, [String])])
    func `a malformed value is told by its name and what was expected, and not repeated`(
        name: String, values: [String]
    ) throws {
        for value in values {
            var environment = SettingsTests.required
            environment["SHOP_WEBHOOK_URL"] = "https://shop.example/events"
            environment["SHOP_WEBHOOK_SECRET"] = "whsec_\(key(1))"
            environment[name] = value
            let fault = try #require(throws: SettingsFault.self, "\(name)=\(value)") {
                try Settings.read(environment: environment)
            }
            #expect(fault.problems.map(\.name) == [name], "\(name)=\(value)")
            #expect(fault.problems.allSatisfy { $0.message.contains("expected ") })
            if value.count > 12 { #expect(!fault.description.contains(value)) }
        }
    }

    @Test func `what makes no sense together is told`() throws {
        let file = try TemporaryFile("x")
        for (more, problem) in [
            (["LISTEN": "127.0.0.1:1", "ADMIN_LISTEN": "127.0.0.1:1"], "ADMIN_LISTEN contradictory"),
            (["POLL_INTERVAL_MS": "3", "POLL_DEADLINE_MS": "2"], "POLL_INTERVAL_MS contradictory"),
            (
                ["HTTP_HANDLER_DEADLINE_MS": "9999", "BELVO_TIMEOUT_MS": "10000"],
                "HTTP_HANDLER_DEADLINE_MS contradictory"
            ),
            (["TLS_CERT_FILE": file.path], "TLS_KEY_FILE missing"),
            (["TLS_KEY_FILE": file.path], "TLS_CERT_FILE missing"),
            (["SHOP_WEBHOOK_URL": "https://a.example"], "SHOP_WEBHOOK_SECRET missing"),
            (["SHOP_WEBHOOK_SECRET": "whsec_\(key(1))"], "SHOP_WEBHOOK_URL missing"),
            (["APP_DEEP_LINK": "https://PAY.shop.example/x"], "APP_DEEP_LINK contradictory"),
            (["AUTH_JWKS_FILE": file.path], "AUTH_JWKS_FILE contradictory"),
            (["AUTH_JWKS_URL": "https://a.example"], "AUTH_JWKS_URL contradictory"),
        ] {
            let fault = try #require(throws: SettingsFault.self) {
                try Settings.read(environment: SettingsTests.required.merging(more) { $1 })
            }
            #expect(fault.problems.map { "\($0.name) \($0.kind)" } == [problem])
        }
    }

    @Test(arguments: ["AUTH_JWKS_FILE", "AUTH_JWKS_URL"])
    func `a key set takes the place of the secret`(name: String) throws {
        let file = try TemporaryFile("{}")
        var environment = SettingsTests.required
        environment["AUTH_HS256_SECRET"] = nil
        environment[name] = name == "AUTH_JWKS_FILE" ? file.path : "https://login.shop.example/jwks.json"
        switch try Settings.read(environment: environment).auth.keys {
        case .hs256: Issue.record("there is no secret")
        case .jwksFile(let path): #expect(path == file.path)
        case .jwksURL(let url): #expect(url.description == "https://login.shop.example/jwks.json")
        }
    }

    @Test(arguments: [
        ("https://login.shop.example/jwks.json", true), ("http://127.0.0.1:8081/jwks.json?v=1", true),
        ("http://login.shop.example/jwks.json", false), ("http://127.0.0.1.example/jwks.json", false),
        ("http://10.0.0.1/jwks.json", false), ("file:///jwks.json", false), ("login.shop.example/jwks.json", false),
    ])
    func `keys come over https, or do not leave the machine`(url: String, isTaken: Bool) throws {
        var environment = SettingsTests.required
        environment["AUTH_HS256_SECRET"] = nil
        environment["AUTH_JWKS_URL"] = url
        do {
            _ = try Settings.read(environment: environment)
            #expect(isTaken)
        } catch {
            #expect(!isTaken && error.problems.map { "\($0.name) \($0.kind)" } == ["AUTH_JWKS_URL malformed"])
        }
    }

    @Test(arguments: [
        "http://localhost:8443", "http://127.0.0.1", "http://127.9.9.9:1", "http://[::1]:8080", "http://LOCALHOST/",
        "http://[::ffff:127.0.0.1]", "https://api.belvo.com/",
    ])
    func `http is good enough for what does not leave the machine`(url: String) throws {
        _ = try Settings.read(environment: SettingsTests.required.merging(["BELVO_BASE_URL": url]) { $1 })
    }
}
