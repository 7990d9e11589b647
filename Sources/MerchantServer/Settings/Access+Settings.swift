import HTTP
import Logging
import MerchantAPI
import MerchantModel
import MerchantStore
import MerchantWorkflows
import Transport

// How settings become the rules of access and the shop's events.

extension AccessRules {
    /// The rules that the settings describe.
    init(_ settings: Settings, clock: IntervalClock) {
        self.init(
            proxies: TrustedProxies(settings.trustedProxies), crossOrigin: CrossOrigin(settings.corsOrigins),
            inFlight: InFlightLimit(settings.inFlightLimits),
            transportSecurity: TransportSecurity(publicBaseURL: settings.publicBaseURL),
            userRate: settings.userRate, addressRate: settings.addressRate, now: clock.now)
    }
}

extension AppAssociations {
    /// The apps that the settings name.
    init(_ settings: Settings) {
        self.init(
            appleAppIDs: settings.appleAppIDs, androidApps: settings.androidApps, linkPaths: settings.linkPaths)
    }
}

extension Settings {
    /// The paths of this domain that open the apps: those to which banks send users back, and nothing else.
    fileprivate var linkPaths: [String] {
        var paths: [String] = []
        for url in callbackURLs.compactMap({ URL($0) }) where url.origin == publicBaseURL.origin {
            if !paths.contains(url.target.path) { paths.append(url.target.path) }
        }
        return paths
    }
}

extension EventDelivery {
    /// Where `SHOP_WEBHOOK_URL` says; nothing where the shop wants no events. Throws what is wrong with the
    /// system's certificate authorities.
    init?(_ settings: Settings, store: Store, log: Logger) throws {
        guard let shop = settings.shopWebhook else { return nil }
        let origin = shop.url.origin
        let client = HTTP.Client(origin: origin, tls: origin.scheme == .https ? try TLSContext.client() : nil)
        self.init(
            store: store, webhook: StandardWebhook(target: shop.url.target, secret: shop.secret), log: log,
            send: { try await client.send($0, deadline: $1) }, now: WallClock.now)
    }
}
