import BelvoSandbox
import HTTP
import JSON
import Testing

/// A browser is enrolled and pays, with its own authenticator: what it makes is sent as it is.
@Suite(.enabled(if: Chromium.path != nil, "\(Chromium.absence)"), .timeLimit(.minutes(3)))
struct WebFlowTests {
    /// The capabilities of a browser with its authenticator.
    struct Machine: Sendable, CustomTestStringConvertible {
        let algorithm: Algorithms
        let residentKey: ResidentKey
        var keepsKeys = true
        var spelling = OptionBytes.base64URL

        var testDescription: String {
            "\(algorithm), \(residentKey)\(keepsKeys ? "" : ", without a store of keys")"
        }

        static let all = [
            Machine(algorithm: .both, residentKey: .unsaid), Machine(algorithm: .es256, residentKey: .discouraged),
            Machine(algorithm: .es256, residentKey: .required), Machine(algorithm: .rs256, residentKey: .discouraged),
            Machine(algorithm: .rs256, residentKey: .required),
            Machine(algorithm: .es256, residentKey: .unsaid, keepsKeys: false),
        ]

        var variants: Variants {
            var variants = Variants()
            variants.algorithms = algorithm
            variants.residentKey = residentKey
            variants.optionBytes = spelling
            return variants
        }
    }

    @Test(arguments: Machine.all, ShopSite.Dialect.allCases)
    func `a page enrolls its browser and pays with what the browser gives`(
        machine: Machine, dialect: ShopSite.Dialect
    ) async throws {
        try await Self.play(machine, dialect)
    }

    @Test(arguments: [OptionBytes.paddedBase64URL, .base64])
    func `Belvo's web SDK reads options in any base64, and the browser's own functions do not`(
        spelling: OptionBytes
    ) async throws {
        let machine = Machine(algorithm: .both, residentKey: .unsaid, spelling: spelling)
        try await Self.play(machine, .sdk)
        try await ShopSite.open(.native) { site in
            let challenge = spelling == .base64 ? "+/+/" : "-_-_AA=="
            let user = "{id: 'AAAA', name: 'x', displayName: 'x'}"
            let options = "{rp: {name: 'x'}, user: \(user), challenge: '\(challenge)', pubKeyCredParams: []}"
            let parsing = "PublicKeyCredential.parseCreationOptionsFromJSON(\(options)).challenge.byteLength"
            let result = try await site.text("(() => { try { return '' + \(parsing) } catch (e) { return e.name } })()")
            #expect(result == "EncodingError")
        }
    }

    private static func play(_ machine: Machine, _ dialect: ShopSite.Dialect) async throws {
        try await ShopSite.open(dialect, .init(keepsKeys: machine.keepsKeys), variants: machine.variants) { site in
            let (harness, tab) = (site.harness, site.tab)
            let enrollment = try await tab.value("enroll('\(AppClient.bank)')")
            #expect(enrollment["next_action"]?["type"]?.string == "redirect")
            let id = try #require(enrollment["id"]?.string)
            let belvoID = try #require(enrollment["belvo_id"]?.string)

            // The bank sends the browser to the merchant's page, and that to the shop's.
            let reply = try harness.sandbox.decide(enrollment: belvoID, .approve)
            let start = tab.mark
            try await tab.call("Page.navigate") { $0.member("url", harness.address("?\(Browser.form(reply))")) }
            try await tab.event("Page.frameNavigated", after: start) {
                $0["frame"]?["url"]?.string?.contains("localhost") == true
            }
            let isThere = "document.readyState === 'complete' ? done(true) : addEventListener('load', () => done(true))"
            _ = try await tab.value("new Promise(done => \(isThere))")
            try harness.sandbox.makeReady(enrollment: belvoID)
            try await harness.poll()
            #expect(try await tab.text("new URLSearchParams(location.search).get('enrollment')") == id)
            #expect(try await tab.text("new URLSearchParams(location.search).get('from')") == "bank")

            let registered = try await tab.value("register(new URLSearchParams(location.search).get('enrollment'))")
            #expect(registered["status"]?.int64 == 204)
            #expect(registered["algorithm"]?.int64 == (machine.algorithm == .es256 ? -7 : -257))
            let registration = try #require(registered["sent"]?["response"])
            #expect((registration["publicKey"] != nil) == (dialect == .native))
            #expect(registration["transports"] != nil)
            try harness.sandbox.settle(enrollment: belvoID)
            try await harness.poll()

            let paid = try await tab.value("pay('\(id)')")
            #expect(paid["status"]?.int64 == 204)
            let handle = paid["sent"]?["response"]?["userHandle"]?.string
            let keepsHandle = machine.residentKey == .required && dialect == .native
            #expect(handle.map { !$0.isEmpty } == (keepsHandle ? true : dialect == .native ? nil : false))
            try harness.sandbox.settle(intent: try #require(paid["intent"]?["belvo_id"]?.string))
            try await harness.poll()
            let intent = try #require(paid["intent"]?["id"]?.string)
            let payment = try await harness.app(of: "ana").send(.get, "/v1/payment-intents/\(intent)")
            #expect(try payment.string("status") == "SUCCEEDED")
            #expect(harness.sandbox.calls.allSatisfy { $0.remark == nil })
        }
    }

    @Test func `a browser registers nothing while the options carry the extension of phones`() async throws {
        var variants = Variants()
        variants.appID = .everywhere
        try await ShopSite.open(.native, variants: variants) { site in
            let (harness, tab) = (site.harness, site.tab)
            let enrollment = try await tab.value("enroll('\(AppClient.bank)')")
            let belvoID = try #require(enrollment["belvo_id"]?.string)
            let reply = try harness.sandbox.decide(enrollment: belvoID, .approve)
            _ = try await harness.browser().follow(reply)
            try harness.sandbox.makeReady(enrollment: belvoID)
            try await harness.poll()
            let id = try #require(enrollment["id"]?.string)
            #expect(try await tab.text("register('\(id)').catch(error => error.name)") == "NotSupportedError")
            // What is left out by the page is the page's to leave out: nothing was sent, and it goes on without.
            let without =
                "call('GET', '/v1/enrollments/\(id)/fido-registration-options')"
                + ".then(answer => { delete answer.body.extensions.appid; return create(answer.body) })"
                + ".then(made => call('POST', '/v1/enrollments/\(id)/confirm', {confirmation_data: made.json}))"
            #expect(try await tab.value(without)["status"]?.int64 == 204)
        }
    }
}
