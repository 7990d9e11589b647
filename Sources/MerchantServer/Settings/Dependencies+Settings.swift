import Belvo
import BelvoGate
import FoundationEssentials
import HTTP
import Logging
import MerchantAPI
import MerchantAuth
import MerchantModel
import MerchantStore
import MerchantWorkflows
import Payments
import Postgres
import Transport

// How settings become the dependencies.

extension Policy {
    init(_ settings: Settings) {
        self.init(
            beneficiaryBankAccount: settings.beneficiaryBankAccount, paymentMax: settings.paymentMaxAmount,
            requiresOrders: settings.orders == .required, shop: settings.shopToken.map(SharedBearer.init),
            emitsShopEvents: settings.shopWebhook != nil, webhooks: SharedBearer(secret: settings.belvoWebhookToken),
            mintsWidgetTokens: settings.mintsWidgetTokens, tokenRefreshPath: settings.belvoTokenRefreshPath,
            unknownRedirectsMax: settings.unknownRedirectsMax, userBounds: settings.userBounds,
            callbackURLs: settings.callbackURLs)
    }
}

extension Dependencies {
    /// The dependencies that the settings describe, around a database and Belvo.
    init(
        _ settings: Settings, database: Database, belvo: Belvo.Client, gate: BelvoGate, changes: ChangeFeed,
        log: Logger,
        monotonic: @escaping @Sendable () -> Monotonic = Monotonic.now,
        identities: Identities = Identities(now: WallClock.now)
    ) {
        let vault = Vault(encryptionKeys: settings.encryptionKeys, lookupKey: settings.lookupKey)
        self.init(
            store: Store(database: database, vault: vault, monotonic: monotonic) { table, id, error in
                log.critical(
                    "store.unreadable_row", metadata: ["table": "\(table)", "id": "\(id)", "reason": "\(error)"])
            }, belvo: belvo, gate: gate, timeouts: settings.timeouts, policy: Policy(settings),
            identities: identities, changes: changes, funnelCounts: FunnelCounts(), log: log)
        listPolling = ListPolling(rate: settings.belvoRate)
    }
}

extension Belvo.Client {
    /// Belvo over TLS, with connections of its own on each loop: one client for handlers and one for workers, both
    /// through the same gate. A probe observes both.
    static func live(
        _ settings: Settings, through gate: BelvoGate, observer: BelvoObserver? = nil
    ) throws -> (person: Belvo.Client, background: Belvo.Client) {
        let origin = settings.belvoBaseURL.origin
        let tls = origin.scheme == .https ? try TLSContext.client(extraAuthorities: settings.belvoCAFile) : nil
        var bounds = ClientConfiguration()
        // All calls may be on one loop: the gate is what bounds them, and lets late ones be under way besides.
        bounds.connectionsMax = 5 * settings.belvoCallsMax / 2
        // A page of payments that pend is longer than any other answer.
        bounds.message.bodyBytesMax = Belvo.Configuration.answerBytesMax
        let client = HTTP.Client(origin: origin, tls: tls, configuration: bounds)
        var configuration = Belvo.Configuration(origin: origin, credentials: settings.belvoCredentials)
        configuration.timeout = settings.timeouts.callDeadline
        configuration.dialect = settings.belvoDialect
        if let observer { configuration.currentDialect = observer.dialect }
        func made(for caller: Caller) -> Belvo.Client {
            let carry = gate.carry(for: caller) { try await client.send($0, deadline: $1) }
            return Belvo.Client(carry: observer?.carry(carry) ?? carry, configuration: configuration)
        }
        return (person: made(for: .person), background: made(for: .background))
    }
}

extension ServerConfiguration {
    /// The bounds of the settings, within what this process may have open.
    static func limited(by settings: Settings) -> ServerConfiguration {
        var limits = settings.connectionLimits
        let proxies = TrustedProxies(settings.trustedProxies)
        limits.isProxy = { proxies.isTrusted($0) }
        // Clients shall not take the last descriptors: the database, Belvo and the shop need theirs.
        let descriptors = DescriptorLimit.present
        limits.connectionsMax = min(limits.connectionsMax, descriptors - min(1_024, descriptors / 4))
        return limits
    }
}

extension DatabaseConfiguration {
    /// The defaults, with what happens to connections logged.
    static func logged(to log: Logger) -> DatabaseConfiguration {
        var configuration = DatabaseConfiguration()
        configuration.onEvent = { event in
            switch event {
            case .connected(let pool, let server):
                log.debug("database.connected", metadata: ["lane": "\(pool.rawValue)", "server": "\(server)"])
            case .connectionFailed(let pool, let reason):
                log.warning(
                    "database.connection_failed", metadata: ["lane": "\(pool.rawValue)", "reason": "\(reason)"])
            case .connectionLost(let pool, let reason):
                log.warning("database.connection_lost", metadata: ["lane": "\(pool.rawValue)", "reason": "\(reason)"])
            case .connectionStalled(let pool):
                log.warning("database.connection_stalled", metadata: ["lane": "\(pool.rawValue)"])
            case .notDurable(let server, let names):
                log.warning(
                    "database.not_durable",
                    metadata: ["server": "\(server)", "turned_off": "\(names.joined(separator: ","))"])
            case .readRepeated: log.info("database.read_repeated")
            case .queueFull(let pool): log.warning("database.queue_full", metadata: ["lane": "\(pool.rawValue)"])
            case .slowStatement(let text, let took):
                log.warning("database.slow_statement", metadata: ["statement": "\(text)", "took": "\(took)"])
            }
        }
        return configuration
    }
}

extension AuthenticatorDependencies {
    /// Keys over TLS where they have an address, and their changes logged.
    static func live(
        _ rules: TokenRules, _ clock: IntervalClock, _ log: Logger
    ) throws -> AuthenticatorDependencies {
        var authenticatorDependencies = AuthenticatorDependencies(sleep: clock.sleep, monotonic: clock.now)
        if case .jwksURL(let url) = rules.keys {
            let tls = url.origin.scheme == .https ? try TLSContext.client() : nil
            let client = HTTP.Client(origin: url.origin, tls: tls)
            authenticatorDependencies.fetch = {
                let response = try await client.send(Request(.get, url.target), deadline: .seconds(10))
                guard response.status == .ok else { throw KeySetFault.unreachable("status \(response.status.code)") }
                return response.body
            }
        }
        authenticatorDependencies.onEvent = { event in
            switch event {
            case .keysChanged(let usable, let ignored):
                log.info("auth.keys_changed", metadata: ["usable": "\(usable)", "ignored": "\(ignored)"])
            case .keysNotRead(let fault):
                log.error("auth.keys_not_read", metadata: ["reason": "\(fault)"])
            }
        }
        return authenticatorDependencies
    }
}
