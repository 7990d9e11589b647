import HTTP
import Payments
import Synchronization
import Testing
import Transport

@testable import MerchantAuth

/// Clocks that stand still until they are told to go on.
final class StoppedClock: Sendable {
    private let time = Mutex(Timestamp(microsecondsSince1970: 1_800_000_000_000_000))
    private let ticks = Mutex(Monotonic(nanoseconds: 0))

    /// The seconds since 1970 at which these clocks start.
    static let start = 1_800_000_000

    @Sendable func now() -> Timestamp { time.withLock { $0 } }
    @Sendable func monotonic() -> Monotonic { ticks.withLock { $0 } }

    func advance(by duration: Duration) {
        time.withLock { $0 += duration }
        ticks.withLock { $0 = $0 + duration }
    }
}

/// An authenticator with stopped clocks, and a key set's address that answers what the test says.
struct AuthenticatorHarness {
    let authenticator: Authenticator
    let clock = StoppedClock()
    let address: KeySetAddress

    init(_ rules: TokenRules, address: KeySetAddress = KeySetAddress()) {
        self.address = address
        authenticator = Authenticator(
            rules, now: clock.now,
            dependencies: AuthenticatorDependencies(fetch: address.fetch, monotonic: clock.monotonic))
    }

    /// One that knows the secret of `Keys`.
    static func withSecret(issuer: String? = nil, audience: String? = nil) throws -> AuthenticatorHarness {
        let secret = try #require(SharedSecret(Keys.secret))
        return AuthenticatorHarness(TokenRules(keys: .hs256(secret), issuer: issuer, audience: audience))
    }

    /// One that finds this document at its key set's address.
    static func withKeySet(_ document: String) throws -> AuthenticatorHarness {
        let url = try #require(URL("https://login.shop.example/jwks.json"))
        return AuthenticatorHarness(TokenRules(keys: .jwksURL(url)), address: KeySetAddress(document))
    }

    func user(_ token: String) async throws(AuthenticationFault) -> String {
        try await authenticator.authenticate(["Bearer \(token)"]).text
    }

    /// The fault that a token is refused for; nil when it is accepted.
    func refusal(_ token: String) async -> AuthenticationFault? {
        do {
            _ = try await user(token)
            return nil
        } catch {
            return error
        }
    }
}

/// Where a key set is fetched from.
final class KeySetAddress: Sendable {
    private struct State {
        var document: String?
        var fetches = 0
    }

    private let state: Mutex<State>

    /// There is no answer while the document is nil.
    init(_ document: String? = nil) {
        state = Mutex(State(document: document))
    }

    var fetches: Int { state.withLock { $0.fetches } }

    func serve(_ document: String?) {
        state.withLock { $0.document = document }
    }

    @Sendable func fetch() throws -> [UInt8] {
        let document = state.withLock { state in
            state.fetches += 1
            return state.document
        }
        guard let document else { throw SystemError("connect", code: 111) }
        return Array(document.utf8)
    }
}
