import Payments
import Synchronization
import Testing

@testable import MerchantAuth

/// A token that was found good is not checked again until it expires.
struct TokenCacheTests {
    private let start = StoppedClock().now()

    @Test func `it never holds more than its bound, and keeps what is used`() throws {
        var memory = TokenCache(countMax: 100)
        let used = try digest(0)
        memory.remember(used, try claims("ana"), keysVersion: 1)
        for number in 1...1_000 {
            memory.remember(try digest(number), try claims("eva"), keysVersion: 1)
            #expect(memory.count <= 100)
            #expect(memory.user(of: used, keysVersion: 1, at: start)?.text == "ana")
        }
        #expect(memory.user(of: try digest(1_000), keysVersion: 1, at: start)?.text == "eva")
        #expect(memory.user(of: try digest(1), keysVersion: 1, at: start) == nil)
    }

    @Test func `a token is known only within its time`() throws {
        var memory = TokenCache()
        let one = try digest(1)
        memory.remember(one, try claims("ana"), keysVersion: 1)
        #expect(memory.user(of: one, keysVersion: 1, at: start + .milliseconds(629_999)) != nil)
        #expect(memory.user(of: one, keysVersion: 1, at: start + .milliseconds(630_000)) == nil)
        #expect(memory.user(of: one, keysVersion: 1, at: start - .milliseconds(30_000)) != nil)
        #expect(memory.user(of: one, keysVersion: 1, at: start - .milliseconds(30_001)) == nil)
    }

    @Test func `all is forgotten when the keys change, also what was checked with the old ones meanwhile`() throws {
        var memory = TokenCache()
        let (one, other) = (try digest(1), try digest(2))
        memory.remember(one, try claims("ana"), keysVersion: 1)
        #expect(memory.user(of: one, keysVersion: 2, at: start) == nil)
        memory.remember(other, try claims("eva"), keysVersion: 1)
        #expect(memory.user(of: other, keysVersion: 2, at: start) == nil)
        #expect(memory.count == 0)
    }

    @Test func `a token that is known is answered without suspending`() async throws {
        let harness = try AuthenticatorHarness.withSecret()
        let token = try TokenForge.hs256(Array(Keys.secret.utf8)).token(claims: #"{"sub":"ana","exp":1800000600}"#)
        _ = try await harness.user(token)
        let user = Mutex<String?>(nil)
        let task = Task.immediate {
            let subject = try await harness.authenticator.authenticate(["Bearer \(token)"])
            user.withLock { $0 = subject.text }
        }
        #expect(user.withLock { $0 } == "ana")
        try await task.value
    }

    @Test func `a token that is known expires all the same`() async throws {
        let harness = try AuthenticatorHarness.withSecret()
        let token = try TokenForge.hs256(Array(Keys.secret.utf8)).token(claims: #"{"sub":"ana","exp":1800000600}"#)
        #expect(await harness.refusal(token) == nil)
        harness.clock.advance(by: .milliseconds(629_999))
        #expect(await harness.refusal(token) == nil)
        harness.clock.advance(by: .milliseconds(1))
        #expect(await harness.refusal(token) == .expired)
    }

    @Test func `tokens that differ in one byte are two`() async throws {
        let harness = try AuthenticatorHarness.withSecret()
        let token = try TokenForge.hs256(Array(Keys.secret.utf8)).token(claims: #"{"sub":"ana","exp":1800000600}"#)
        #expect(await harness.refusal(token) == nil)
        for place in token.indices where token[place] != "." {
            var changed = token
            changed.replaceSubrange(place...place, with: token[place] == "A" ? "B" : "A")
            #expect(await harness.refusal(changed) != nil)
        }
    }

    private func digest(_ number: Int) throws -> TokenDigest {
        try BearerToken(authorizationValues: ["Bearer \(number)"]).digest
    }

    private func claims(_ subject: String) throws -> TokenClaims {
        let text = #"{"sub":"\#(subject)","nbf":1800000000,"exp":1800000600}"#
        let secret = try #require(SharedSecret(Keys.secret))
        return try TokenClaims(payload: Array(text.utf8), rules: TokenRules(keys: .hs256(secret)))
    }
}
