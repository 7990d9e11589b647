/// The configuration of a sandbox. Every member has a default that serves tests in one process.
public struct SandboxConfiguration: Sendable {
    /// Where the sandbox is reached from outside: the origin of `next` links and of the bank's page.
    public var publicURL = "https://127.0.0.1:9443"

    /// The API key's two halves.
    public var secretID = "sandbox-id"
    public var secretPassword = "sandbox-password"

    /// The id of the one bank account that receives money.
    public var beneficiary = "5b3a1c7e-90d4-4f26-8a51-0d6c2e9b7f10"

    /// The domain that credentials are made for: Belvo's own, whatever merchant's app asks (belvo-api.md §7).
    /// A browser on this machine can only make them for `localhost`.
    public var relyingParty = "belvo.com"

    /// The banks, in the order in which they are listed.
    public var institutions = Institution.samples

    /// The readings to begin with.
    public var variants = Variants()

    /// The origins that a device's answers may name, as Belvo registers an app's (belvo-api.md §9); nil for any.
    public var origins: Set<String>?

    /// How long an enrollment waits for the user's fingerprint before it fails by itself.
    public var enrollmentLifetime: Duration = .seconds(900)

    /// How long a payment waits for its signature: the `timeout` of its `fido_options`.
    public var consentLifetime: Duration = .seconds(300)

    /// How long an SDK access token lives. Belvo does not say (belvo-api.md §2.1).
    public var accessTokenLifetime: Duration = .seconds(600)
    /// How long its refresh token lives, where anything takes one.
    public var refreshTokenLifetime: Duration = .seconds(86_400)

    /// Where webhooks go; each subscription gets every event.
    public var webhookSubscriptions: [WebhookSubscription] = []
    /// Between an attempt that failed and the next (belvo-api.md §8).
    public var webhookRetryInterval: Duration = .seconds(60)
    /// Attempts after the first.
    public var webhookRetriesMax = 3

    /// The calls that the log remembers at least; older ones are forgotten.
    public var callsMax = 10_000

    /// The present time.
    public var now: @Sendable () -> Timestamp = { Timestamp.now() }
    /// Waits that long; throws when the task is cancelled.
    public var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// Where ids, challenges and codes come from.
    public var entropy = Entropy.system

    public init() {}

    /// Everything reaches its end by itself, as with a real phone.
    public static func demo(settleAfter span: Duration) -> SandboxConfiguration {
        var configuration = SandboxConfiguration()
        configuration.variants.fidoReadiness = .after(span)
        configuration.variants.enrollmentSettlement = .after(span)
        configuration.variants.paymentSettlement = .after(span)
        return configuration
    }

    /// Nothing moves unless it is told to.
    public static func test() -> SandboxConfiguration { SandboxConfiguration() }
}
