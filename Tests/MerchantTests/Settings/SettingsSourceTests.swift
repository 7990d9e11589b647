import Testing

@testable import MerchantServer

/// Where a setting may stand, and which place wins.
struct SettingsSourceTests {
    @Test func `the environment wins over the file, name by name`() throws {
        let file = SettingsFile.parse("USER_RATE=1\nORDERS=optional\nLOOKUP_KEY_FILE=/nowhere")
        let settings = try Settings.read(environment: with(["USER_RATE": "2"]), file: file)
        #expect(settings.userRate == 2 && settings.orders == .optional)
    }

    @Test func `any setting may stand in a file of its own`() throws {
        let secret = try TemporaryFile(" \(key(9))\r\n")
        var environment = with(["LOOKUP_KEY_FILE": secret.path])
        environment["LOOKUP_KEY"] = nil
        _ = try Settings.read(environment: environment)
        environment["LOOKUP_KEY_FILE"] = nil
        _ = try Settings.read(environment: environment, file: SettingsFile.parse("LOOKUP_KEY_FILE=\(secret.path)"))

        let rate = try TemporaryFile("7\n")
        let settings = try Settings.read(
            environment: with(["USER_RATE_FILE": rate.path]), file: SettingsFile.parse("USER_RATE=8"))
        #expect(settings.userRate == 7)
    }

    @Test func `a value and a file for it in one place contradict each other`() throws {
        let file = try TemporaryFile("7")
        let settings = SettingsFile.parse("USER_RATE=8\nUSER_RATE_FILE=\(file.path)")
        #expect(problems(Self.required, settings) == ["USER_RATE contradictory"])
        #expect(problems(with(["ORDERS": "optional", "ORDERS_FILE": file.path])) == ["ORDERS contradictory"])
        #expect(problems(with(["USER_RATE": "1"]), settings) == [])
    }

    @Test func `a file that cannot be read, is empty or is no text is told without its path`() throws {
        let empty = try TemporaryFile(" \n")
        for path in ["/nowhere/at all", "/tmp", empty.path, "/proc/self/exe"] {
            var environment = Self.required
            environment["BELVO_WEBHOOK_TOKEN"] = nil
            environment["BELVO_WEBHOOK_TOKEN_FILE"] = path
            let fault = try #require(throws: SettingsFault.self) { try Settings.read(environment: environment) }
            #expect(fault.problems.map(\.name) == ["BELVO_WEBHOOK_TOKEN"])
            #expect(fault.problems.map(\.kind) == [.malformed])
            #expect(!fault.description.contains(path))
        }
    }

    @Test(arguments: SettingName.allCases)
    func `an empty value is a mistake in either place`(name: SettingName) throws {
        // Beside a secret an empty key set's address is a contradiction, too.
        let expected = "\(name.rawValue) malformed"
        #expect(problems(with([name.rawValue: ""])).contains(expected))
        var environment = Self.required
        environment[name.rawValue] = nil
        #expect(problems(environment, SettingsFile.parse("\(name.rawValue)=")).contains(expected))
        if let variant = name.fileVariant {
            environment[variant] = ""
            #expect(problems(environment).contains(expected))
        }
    }

    @Test(arguments: [
        ("LISTE", "LISTEN"), ("BELVO_TIMEOUT", nil), ("BELVO_TIMEOUT_SM", "BELVO_TIMEOUT_MS"), ("PORT", nil),
        ("SHOP_TOKENS", "SHOP_TOKEN"), ("LOOKUP_KEY_FIEL", "LOOKUP_KEY_FILE"), ("AUTH_JWKS_FILE_FILE", nil),
        ("TLS_KEY_FILE_FILE", nil), ("HOME", nil),
    ])
    func `an unknown name in the file is told, with what it may have been meant for`(
        name: String, meant: String?
    ) throws {
        let file = SettingsFile.parse("\(name)=hunter2")
        let fault = try #require(throws: SettingsFault.self) {
            try Settings.read(environment: Self.required, file: file)
        }
        let advice = meant.map { ": did you mean \($0)?" } ?? ""
        #expect(fault.problems == [SettingsProblem(name, .unknown, "is no setting\(advice)")])
    }

    @Test func `names in the environment that are none of ours are left alone`() throws {
        _ = try Settings.read(environment: with(["PATH": "", "LISTE": "x", "POSTGRES_PASSWORD": "x"]))
    }

    private static let required = SettingsTests.required

    private func with(_ more: [String: String]) -> [String: String] {
        Self.required.merging(more) { $1 }
    }

    private func problems(_ environment: [String: String], _ file: SettingsFile = SettingsFile()) -> [String] {
        do {
            _ = try Settings.read(environment: environment, file: file)
            return []
        } catch {
            return error.problems.map { "\($0.name) \($0.kind)" }
        }
    }
}
