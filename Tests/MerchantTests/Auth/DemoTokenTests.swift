import Payments
import Testing

@testable import MerchantAuth

struct DemoTokenTests {
    @Test func `a token for trying out is accepted for its lifetime and no longer`() async throws {
        let harness = try AuthenticatorHarness.withSecret(issuer: "demo", audience: "merchant")
        let secret = try #require(SharedSecret(Keys.secret))
        let token = try await DemoTokens.issue(
            subject: try UserSubject("Ana \"Ü\" 1"), secret: secret, lifetime: .seconds(3_600),
            now: harness.clock.now(),
            issuer: "demo", audience: "merchant")
        #expect(try await harness.user(token) == "Ana \"Ü\" 1")
        harness.clock.advance(by: .seconds(3_629))
        #expect(await harness.refusal(token) == nil)
        harness.clock.advance(by: .seconds(1))
        #expect(await harness.refusal(token) == .expired)
    }

    @Test func `it names no issuer and no audience unless told to`() async throws {
        let secret = try #require(SharedSecret(Keys.secret))
        let now = StoppedClock().now()
        let token = try await DemoTokens.issue(
            subject: try UserSubject("ana"), secret: secret, lifetime: .seconds(60), now: now)
        #expect(await (try AuthenticatorHarness.withSecret()).refusal(token) == nil)
        #expect(await (try AuthenticatorHarness.withSecret(issuer: "demo")).refusal(token) == .wrongIssuer)
        #expect(await (try AuthenticatorHarness.withSecret(audience: "merchant")).refusal(token) == .wrongAudience)
    }

    @Test(arguments: ["", "short", String(repeating: "a", count: 31)])
    func `a secret of less than 32 bytes is none`(text: String) {
        #expect(SharedSecret(text) == nil)
        #expect(SharedSecret(text + String(repeating: "b", count: 32))?.description == "‹redacted›")
    }
}
