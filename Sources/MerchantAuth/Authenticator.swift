import MerchantModel
import Payments
import Synchronization
import Transport

/// Tells which of the merchant's users a request comes from, by the JSON Web Token that it carries.
///
/// A token is checked once: its shape, its algorithm, the key that it names, the signature, then what it claims
/// (RFC 7519 §7.2, RFC 8725). After that its digest is remembered until it expires or the keys change, so that a
/// request's usual cost is one SHA-256 and one lookup. Signatures are checked where the request is, on its loop: an
/// HS256 takes 2 µs, an RS256 16, an ES256 50 and an EdDSA 66 (measured), which is no reason to change threads.
package final class Authenticator: Sendable {
    private let rules: TokenRules
    private let now: @Sendable () -> Timestamp
    private let ring: KeyRing
    private let memory = Mutex(TokenCache())

    /// Takes the rules, the time of day, and what else is needed from outside. Nothing is read before `loadKeys` or
    /// the first token.
    package init(
        _ rules: TokenRules, now: @escaping @Sendable () -> Timestamp,
        dependencies: AuthenticatorDependencies = AuthenticatorDependencies()
    ) {
        self.rules = rules
        self.now = now
        ring = KeyRing(rules.keys, dependencies)
    }

    /// The user whose token stands in the values of a request's `Authorization` fields.
    ///
    /// It suspends only to look for a key that is not known, and so do few at a time.
    package nonisolated(nonsending) func authenticate(
        _ authorizationValues: [String]
    ) async throws(AuthenticationFault) -> UserSubject {
        let bearer = try BearerToken(authorizationValues: authorizationValues)
        let digest = bearer.digest
        let (moment, version) = (now(), ring.version)
        if let user = memory.withLock({ $0.user(of: digest, keysVersion: version, at: moment) }) { return user }

        let token = try SignedToken(bearer.bytes)
        guard let algorithm = TokenAlgorithm(rawValue: token.algorithm), rules.keys.algorithms.contains(algorithm)
        else { throw .algorithmNotAllowed }
        let choice = try await choice(for: token, algorithm)
        guard choice.candidates.contains(where: { $0.verifies(token) }) else { throw .badSignature }
        // Only now is anything believed that the token says of itself.
        let claims = try TokenClaims(payload: token.payload, rules: rules)
        try claims.check(at: moment)
        memory.withLock { $0.remember(digest, claims, keysVersion: choice.version) }
        return claims.user
    }

    /// Reads the keys now. Throws when there are none to be had; those that were known before stay.
    package func loadKeys() async throws(KeySetFault) {
        try await ring.refresh()
    }

    /// Whether tokens can be checked at all.
    package var hasKeys: Bool { ring.version > 0 }

    /// Keeps the keys fresh until the task is cancelled.
    package func run() async {
        await ring.run()
    }

    private struct Choice {
        let candidates: [VerificationKey]
        let version: UInt64
    }

    private nonisolated(nonsending) func choice(
        for token: SignedToken, _ algorithm: TokenAlgorithm
    ) async throws(AuthenticationFault) -> Choice {
        do {
            return try presentChoice(for: token, algorithm)
        } catch .unknownKey, .keysUnavailable {
            // The key may be newer than what we have.
            guard await ring.refreshOnDemand() else { throw .keysUnavailable }
            return try presentChoice(for: token, algorithm)
        }
    }

    private func presentChoice(
        for token: SignedToken, _ algorithm: TokenAlgorithm
    ) throws(AuthenticationFault) -> Choice {
        guard let current = ring.current else { throw .keysUnavailable }
        return Choice(candidates: try current.keys.candidates(for: token, algorithm), version: current.version)
    }
}

/// The dependencies of an authenticator besides the time of day.
package struct AuthenticatorDependencies: Sendable {
    /// Fetches the key set's document from `AUTH_JWKS_URL`, with a deadline of its own. Throws anything when it cannot.
    package var fetch: @Sendable () async throws -> [UInt8]
    /// Suspends for so long, or throws when the task is cancelled. On the loop that the task runs on, by default.
    package var sleep: @Sendable (Duration) async throws -> Void
    /// For intervals, which no change of the time of day may move.
    package var monotonic: @Sendable () -> Monotonic
    /// Hears what becomes of the keys, for the log. Must not block.
    package var onEvent: @Sendable (AuthenticatorEvent) -> Void

    /// Takes what differs from a server that fetches no keys.
    package init(
        fetch: @escaping @Sendable () async throws -> [UInt8] = { throw KeySetFault.unreachable("no one fetches it") },
        sleep: @escaping @Sendable (Duration) async throws -> Void = IntervalClock.sleepOnLoop,
        monotonic: @escaping @Sendable () -> Monotonic = { Monotonic.now() },
        onEvent: @escaping @Sendable (AuthenticatorEvent) -> Void = { _ in }
    ) {
        self.fetch = fetch
        self.sleep = sleep
        self.monotonic = monotonic
        self.onEvent = onEvent
    }
}

/// An event about the keys that tokens are checked with.
package enum AuthenticatorEvent: Sendable, Equatable {
    /// Other keys than before are used from now on.
    case keysChanged(usable: Int, ignored: Int)
    /// The source could not be read or understood; the keys stay what they were.
    case keysNotRead(KeySetFault)
}
