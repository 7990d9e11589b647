import BelvoSandbox
import FoundationEssentials
import HTTP
import JSON
import Payments
import Postgres
import Testing
import Transport

@testable import MerchantModel
@testable import MerchantServer
@testable import MerchantStore
@testable import MerchantWorkflows

/// The token for Belvo's SDK: one for each user, given again while it lives, its secrets kept.
@Suite struct WidgetTokenTests {
    @Test func `a token counts as held for its whole life, whatever Belvo's clock says`() async throws {
        var sandbox = SandboxConfiguration.test()
        sandbox.now = { BelvoSandbox.Timestamp.now() + .seconds(-700) }
        try await TestHarness.open(sandbox: sandbox) { harness in
            #expect(try await harness.app(of: "ana").send(.post, "/v1/widget-token").status == 201)
            try await harness.advance(by: .seconds(590))
            #expect(try await harness.lines("SELECT holds_widget_token('ana')::text AS line") == ["true"])
        }
    }

    @Test func `a token that its user may hold is not forgotten until two minutes after its end`() async throws {
        try await TestHarness.open(clock: HandClock().intervals) { harness in
            try await harness.stopClock()
            #expect(try await harness.app(of: "ana").send(.post, "/v1/widget-token").status == 201)
            let left = try await harness.lines(
                "SELECT extract(epoch FROM expires_at - app_now())::bigint::text AS line FROM widget_tokens")
            let life = try #require(left.first.flatMap { Int($0) })
            try await harness.advance(by: .seconds(life + 118))
            await #expect(throws: DatabaseError.self) {
                try await harness.database.execute("DELETE FROM widget_tokens")
            }
            try await harness.advance(by: .seconds(4))
            #expect(try await harness.database.execute("DELETE FROM widget_tokens").affectedCount == 1)
        }
    }

    @Test func `a token is given again until a minute before it ends`() async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            let first = try await app.send(.post, "/v1/widget-token")
            #expect(first.status == 201)
            try await harness.passEverywhere(.seconds(535))
            let again = try await app.send(.post, "/v1/widget-token")
            #expect(again.status == 201 && again.text == first.text)
            #expect(harness.countCalls(.createWidgetToken) == 1)
            try await harness.passEverywhere(.seconds(10))
            let next = try await app.send(.post, "/v1/widget-token")
            #expect(try next.string("access") != first.string("access"))
            #expect(try next.string("expires_at") > first.string("expires_at"))
            #expect(harness.countCalls(.createWidgetToken) == 2 && harness.countCalls(.refreshWidgetToken) == 0)
        }
    }

    @Test func `a token is shown to end when it says that it ends`() async throws {
        try await TestHarness.open { harness in
            let answer = try await harness.app(of: "ana").send(.post, "/v1/widget-token")
            let claims = try #require(try answer.string("access").split(separator: ".").dropFirst().first)
            let padded = claims.replacing("-", with: "+").replacing("_", with: "/")
            let bytes = try #require(
                Data(base64Encoded: padded + String(repeating: "=", count: (4 - padded.count % 4) % 4)))
            let end = try #require(try JSONDocument(parsing: Array(bytes)).root["exp"]?.int64)
            let shown = Timestamp(microsecondsSince1970: end * 1_000_000).description
            #expect(try answer.string("expires_at") == shown)
        }
    }

    @Test func `no two users get the same token`() async throws {
        try await TestHarness.open { harness in
            var tokens: [String] = []
            for subject in ["ana", "bia", "ana", "Ana"] {
                tokens.append(try await harness.app(of: subject).send(.post, "/v1/widget-token").string("access"))
            }
            #expect(tokens[0] == tokens[2])
            #expect(Set(tokens).count == 3)
            #expect(harness.countCalls(.createWidgetToken) == 3)
        }
    }

    @Test func `many who ask at once, on two instances, have one token minted`() async throws {
        try await TestHarness.open { harness in
            try await harness.withSecondInstance { second in
                let here = try await harness.app(of: "ana")
                let there = App(client: second, token: here.token)
                let answers = try await withThrowingTaskGroup { group in
                    for number in 0..<40 {
                        group.addTask(executorPreference: harness.loop) {
                            try await (number.isMultiple(of: 2) ? here : there).send(.post, "/v1/widget-token")
                        }
                    }
                    return try await group.reduce(into: [Answer]()) { $0.append($1) }
                }
                #expect(answers.allSatisfy { $0.status == 201 })
                #expect(try Set(answers.map { try $0.string("access") }).count == 1)
                #expect(harness.countCalls(.createWidgetToken) == 1)
            }
        }
    }

    @Test func `who waits for a turn looks soon, and ever less often`() {
        let pauses = sequence(first: WidgetTokenWorkflow.firstPause) { WidgetTokenWorkflow.pause(after: $0) }
        #expect(pauses.prefix(4).reduce(.zero, +) < .milliseconds(500))
        #expect(pauses.prefix(32).reduce(.zero, +) > .seconds(25))
    }

    @Test func `a server that died in its turn holds nobody up for ever`() async throws {
        try await TestHarness.open { harness in
            try await harness.database.execute(
                """
                INSERT INTO widget_tokens (id, subject, leased_until)
                VALUES (gen_random_uuid(), 'ana', app_now() + interval '10 minutes')
                """)
            async let waiting = harness.app(of: "ana").send(.post, "/v1/widget-token")
            try await harness.advance(by: .seconds(601))
            #expect(try await waiting.status == 201)
        }
    }

    @Test func `a server that was away for longer than its turn does not overwrite what came since`() async throws {
        try await TestHarness.open { harness in
            let store = harness.store
            func claim() async throws -> WidgetTokenClaim? {
                try await store.claimWidgetToken(of: UserSubject("ana"), id: UUID(), lease: .seconds(10))
            }
            func keep(_ text: String, _ turn: WidgetTokenClaim) async throws -> Bool {
                try await store.keep(
                    WidgetTokenPair(access: Secret(text), refresh: nil, expiresAt: nil),
                    reuse: WidgetTokenReuse(margin: .seconds(60), withoutEnd: .seconds(60)), of: turn)
            }
            let late = try #require(try await claim())
            #expect(try await claim() == nil)
            try await harness.advance(by: .seconds(11))
            let turn = try #require(try await claim())
            try await store.release(late)
            #expect(try await claim() == nil)
            #expect(try await keep("newer", turn))
            #expect(try await !keep("older", late))
            #expect(try await store.widgetToken(of: UserSubject("ana"))?.access.text == "newer")
            #expect(try await claim() == nil)
        }
    }

    @Test func `a failure of Belvo's is told as elsewhere, and the next request asks again`() async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            for trouble in Trouble.turnedAway {
                harness.sandbox.next(trouble.fault, on: .createWidgetToken)
                try trouble.expectTold(on: harness, try await app.send(.post, "/v1/widget-token"))
            }
            for doubt in Trouble.doubts {
                harness.sandbox.next(doubt.fault, on: .createWidgetToken)
                let answer = try await app.send(.post, "/v1/widget-token")
                let isNonsense = doubt.fault == .garbageBody
                #expect(answer.status == (isNonsense ? 502 : 503), "\(doubt.name)")
                #expect(try answer.string("code") == (isNonsense ? "belvo_nonsense" : "belvo_unavailable"))
                #expect((answer.response.headers["retry-after"] == "2") == !isNonsense, "\(doubt.name)")
            }
            #expect(try await app.send(.post, "/v1/widget-token").status == 201)
        }
    }

    @Test func `both tokens are encrypted where they stand, and the refresh token goes nowhere else`() async throws {
        try await TestHarness.open(environment: ["BELVO_TOKEN_REFRESH_PATH": Self.refreshPath]) { harness in
            harness.sandbox.variants.tokenRefresh = .kept
            let answer = try await harness.app(of: "ana").send(.post, "/v1/widget-token")
            let access = try answer.string("access")
            let row = try #require(
                try await harness.database.rows("SELECT id, access_ciphertext, refresh_ciphertext FROM widget_tokens")
                    .first)
            let id: UUID = try row.decode("id")
            let kept: [UInt8] = try row.decode("refresh_ciphertext")
            let refresh = String(
                decoding: try harness.vault.open(kept, in: .widgetTokensRefresh, of: id), as: UTF8.self)
            #expect(refresh.hasPrefix("ey") && refresh != access)
            #expect(throws: VaultFault.notAuthentic) { try harness.vault.open(kept, in: .widgetTokensAccess, of: id) }
            #expect(throws: VaultFault.notAuthentic) {
                try harness.vault.open(kept, in: .widgetTokensRefresh, of: UUID())
            }

            try await harness.passEverywhere(.seconds(545))
            harness.sandbox.next(.refused(401, code: "token_not_valid"), on: .refreshWidgetToken)
            let next = try await harness.app(of: "ana").send(.post, "/v1/widget-token")
            for text in [answer.text, next.text] { #expect(!text.contains(refresh)) }
            let secrets = [access, try next.string("access"), refresh]
            #expect(try await harness.tablesHolding(secrets).isEmpty)
            for secret in secrets { #expect(!harness.log.all.contains { $0.contains(secret) }) }
            #expect(harness.log.holds("widget_token.minted") && harness.log.holds("widget_token.not_renewed"))
        }
    }

    @Test(arguments: [TokenRefresh.kept, .rotated])
    func `a token is renewed where its endpoint is known`(refresh: TokenRefresh) async throws {
        try await TestHarness.open(environment: ["BELVO_TOKEN_REFRESH_PATH": Self.refreshPath]) { harness in
            harness.sandbox.variants.tokenRefresh = refresh
            let app = try await harness.app(of: "ana")
            var tokens: Set<String> = []
            for round in 0..<3 {
                let answer = try await app.send(.post, "/v1/widget-token")
                #expect(answer.status == 201)
                tokens.insert(try answer.string("access"))
                #expect(harness.countCalls(.refreshWidgetToken) == round)
                try await harness.passEverywhere(.seconds(545))
            }
            #expect(tokens.count == 3)
            #expect(harness.countCalls(.createWidgetToken) == 1)
        }
    }

    @Test func `a token that Belvo does not renew is minted anew`() async throws {
        try await TestHarness.open(environment: ["BELVO_TOKEN_REFRESH_PATH": Self.refreshPath]) { harness in
            let app = try await harness.app(of: "ana")
            let first = try await app.send(.post, "/v1/widget-token").string("access")
            // There is no such path at Belvo, the token is not valid, or a page is all that comes.
            let faults: [Fault?] = [nil, .refused(401, code: "token_not_valid"), .forbiddenPage, .garbageBody]
            for (number, fault) in faults.enumerated() {
                try await harness.passEverywhere(.seconds(545))
                if let fault { harness.sandbox.next(fault, on: .refreshWidgetToken) }
                let answer = try await app.send(.post, "/v1/widget-token")
                #expect(answer.status == 201)
                #expect(try answer.string("access") != first)
                #expect(harness.countCalls(.refreshWidgetToken) == number + 1)
                #expect(harness.countCalls(.createWidgetToken) == number + 2)
            }
            #expect(!harness.log.holds("belvo.denied"))
        }
    }

    @Test func `while Belvo wants no requests none is added to the one that was turned away`() async throws {
        try await TestHarness.open(environment: ["BELVO_TOKEN_REFRESH_PATH": Self.refreshPath]) { harness in
            harness.sandbox.variants.tokenRefresh = .kept
            let app = try await harness.app(of: "ana")
            try await app.send(.post, "/v1/widget-token")
            try await harness.passEverywhere(.seconds(545))
            harness.sandbox.next(.tooManyRequests(retryAfter: 7), on: .refreshWidgetToken)
            let answer = try await app.send(.post, "/v1/widget-token")
            #expect(answer.status == 503 && answer.response.headers["retry-after"] == "7")
            #expect(harness.countCalls(.createWidgetToken) == 1)
            harness.clock.advance(by: .seconds(10))
            #expect(try await app.send(.post, "/v1/widget-token").status == 201)
            #expect(harness.countCalls(.createWidgetToken) == 1 && harness.countCalls(.refreshWidgetToken) == 2)
        }
    }

    @Test func `a refresh token that has ended is not tried`() async throws {
        try await TestHarness.open(environment: ["BELVO_TOKEN_REFRESH_PATH": Self.refreshPath]) { harness in
            harness.sandbox.variants.tokenRefresh = .kept
            let app = try await harness.app(of: "ana")
            try await app.send(.post, "/v1/widget-token")
            try await harness.passEverywhere(.seconds(86_401))
            #expect(try await app.send(.post, "/v1/widget-token").status == 201)
            #expect(harness.countCalls(.createWidgetToken) == 2 && harness.countCalls(.refreshWidgetToken) == 0)
        }
    }

    @Test func `a token that does not say when it ends is given again for a minute`() async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            harness.sandbox.next(.altered([Fault.Alteration("/access", #""opaque""#)]), on: .createWidgetToken)
            #expect(try await app.send(.post, "/v1/widget-token").text == #"{"access":"opaque","expires_at":null}"#)
            try await harness.passEverywhere(.seconds(55))
            #expect(try await app.send(.post, "/v1/widget-token").string("access") == "opaque")
            try await harness.passEverywhere(.seconds(6))
            #expect(try await app.send(.post, "/v1/widget-token").string("access") != "opaque")
        }
    }

    @Test func `a token that ends soon is given again for half of what it has left`() async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            // By the database's clock it has half a minute.
            try await harness.advance(by: .seconds(570))
            let first = try await app.send(.post, "/v1/widget-token").text
            #expect(try await app.send(.post, "/v1/widget-token").text == first)
            try await harness.advance(by: .seconds(16))
            #expect(try await app.send(.post, "/v1/widget-token").text != first)
            // One that has ended on arrival is passed on as it is, and not kept for another request.
            try await harness.advance(by: .seconds(3_600))
            #expect(try await app.send(.post, "/v1/widget-token").status == 201)
            let calls = harness.countCalls(.createWidgetToken)
            #expect(try await app.send(.post, "/v1/widget-token").status == 201)
            #expect(harness.countCalls(.createWidgetToken) == calls + 1)
        }
    }

    @Test func `a token that cannot be decrypted is replaced, and an operator hears of it`() async throws {
        try await TestHarness.open { harness in
            let app = try await harness.app(of: "ana")
            let first = try await app.send(.post, "/v1/widget-token").text
            try await harness.database.execute("UPDATE widget_tokens SET access_ciphertext = refresh_ciphertext")
            let next = try await app.send(.post, "/v1/widget-token")
            #expect(next.status == 201 && next.text != first)
            #expect(harness.log.holds("store.unreadable_row"))
            #expect(try await app.send(.post, "/v1/widget-token").text == next.text)
        }
    }

    @Test func `the endpoint can be turned off`() async throws {
        try await TestHarness.open(environment: ["WIDGET_TOKENS": "off"]) { harness in
            let answer = try await harness.app(of: "ana").send(.post, "/v1/widget-token")
            #expect(answer.status == 404)
            #expect(try answer.string("code") == "not_found")
            #expect(harness.sandbox.calls.isEmpty)
        }
    }

    private static let refreshPath = "/payments/api/widget-token/refresh/"
}

extension TestHarness {
    /// Lets that much time pass for the database and for Belvo.
    fileprivate func passEverywhere(_ duration: Duration) async throws {
        sandbox.advance(by: duration)
        try await advance(by: duration)
    }

    fileprivate var vault: Vault { Vault(encryptionKeys: settings.encryptionKeys, lookupKey: settings.lookupKey) }

    fileprivate var store: Store {
        Store(database: database, vault: vault) { table, id, error in
            Issue.record("\(table) \(id) cannot be read: \(error)")
        }
    }

    /// Runs another instance of the server beside the harness's own.
    fileprivate func withSecondInstance(_ body: (HTTP.Client) async throws -> Void) async throws {
        let second = try MerchantServer(settings: settings, loops: [loop], log: log.logger)
        let address = try await second.start(work: .whenTold).api
        let url = HTTP.URL("http://\(address)/")
        let client = HTTP.Client(origin: try #require(url?.origin))
        let result: Result<Void, any Error>
        do { result = .success(try await body(client)) } catch { result = .failure(error) }
        await client.closeIdle(on: loop)
        await second.stop()
        try result.get()
    }
}
