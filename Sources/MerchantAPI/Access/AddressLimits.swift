import HTTP
import MerchantAuth
import MerchantModel
import Payments
import Synchronization
import Transport

/// Limits for clients known only by their address: everything that needs no token, guessing at tokens, and bringing
/// redirects.
///
/// All addresses of one IPv6 network of 64 bits are one. Requests with a good token are never counted here, so that
/// they leave the rate to the other clients behind the same address.
final class AddressLimits: Sendable {
    /// Different redirects of one sender: the burst, and then each second. A user comes back from a bank now and
    /// then; a burst is a whole office's behind one address.
    static let redirects = (perSecond: 1, burst: 20)
    /// Different redirects of all browsers that belong to no enrollment known here: a few times the default of
    /// `BELVO_STRANGER_RATE`. Storing more would only take the database's and the processor's time from others.
    static let unknownRedirects = (perSecond: 20, burst: 100)

    /// Probes (`/livez`, `/readyz`) of one sender: many times what balancers ask.
    static let probes = (perSecond: 100, burst: 200)

    /// Nil where there is no limit.
    private let rate: RateLimiter?
    private let probeRate: RateLimiter?
    private let redirectRate: RateLimiter?
    private let unknownRedirectRate: RateLimiter?
    private let refusedCount = Atomic(0)
    /// Addresses from which a shared token has come, the latest last.
    private let holders = Mutex<[IPAddress]>([])

    private static let holdersMax = 64

    /// Takes how many requests without a good token one address may make a second; 0 is no limit.
    init(addressRate: Int) {
        rate = RateLimiter(perSecond: addressRate)
        probeRate =
            addressRate == 0 ? nil : RateLimiter(perSecond: Self.probes.perSecond, burst: Self.probes.burst)
        redirectRate =
            addressRate == 0
            ? nil : RateLimiter(perSecond: Self.redirects.perSecond, burst: Self.redirects.burst)
        unknownRedirectRate =
            addressRate == 0
            ? nil : RateLimiter(perSecond: Self.unknownRedirects.perSecond, burst: Self.unknownRedirects.burst)
    }

    /// Requests that were refused here.
    var refused: Int { refusedCount.load(ordering: .relaxed) }

    /// Counts a request without a good token.
    func admit(_ client: IPAddress, at now: Monotonic) throws(AccessRefusal) {
        guard let wait = rate?.take(for: client.subscriber, at: now) else { return }
        throw refused(.tooManyWithoutToken(retryAfter: wait))
    }

    /// Counts a probe.
    func admitProbe(_ client: IPAddress, at now: Monotonic) throws(AccessRefusal) {
        guard let wait = probeRate?.take(for: client.subscriber, at: now) else { return }
        throw refused(.tooManyWithoutToken(retryAfter: wait))
    }

    /// Compares a token that all senders of the other side share.
    ///
    /// A token from an address that has asked too often is not even compared: guessing must not continue at the speed
    /// of the network. A token from an address that sent the right one lately is always compared: another client,
    /// behind a proxy that is not trusted for instance, shall not lock the holder out.
    func check(
        _ bearer: SharedBearer, _ fields: [String], _ scheme: SharedBearer.Scheme, of client: IPAddress,
        at now: Monotonic
    ) throws {
        let isHolder = holders.withLock { $0.contains(client) }
        if !isHolder, let wait = rate?.wait(for: client.subscriber, at: now) {
            throw refused(.tooManyWrongTokens(retryAfter: wait))
        }
        do {
            try bearer.check(fields, scheme: scheme)
        } catch {
            try admit(client, at: now)
            throw error
        }
        if !isHolder { remember(client) }
    }

    /// Counts a redirect that has not come before.
    func admitRedirect(
        of enrollment: Payments.Enrollment.ID?, from poster: UserSubject?, at client: IPAddress, _ now: Monotonic
    ) throws(AccessRefusal) {
        let wait =
            if let enrollment {
                redirectRate?.take(for: enrollment.uuid, at: now)
            } else if let poster {
                redirectRate?.take(for: poster, at: now)
            } else {
                redirectRate?.take(for: client.subscriber, at: now) ?? unknownRedirectRate?.take(for: 0, at: now)
            }
        guard let wait else { return }
        throw refused(.tooManyRedirects(retryAfter: wait))
    }

    private func refused(_ refusal: AccessRefusal) -> AccessRefusal {
        refusedCount.wrappingAdd(1, ordering: .relaxed)
        return refusal
    }

    private func remember(_ client: IPAddress) {
        holders.withLock { holders in
            guard !holders.contains(client) else { return }
            if holders.count >= Self.holdersMax { holders.removeFirst() }
            holders.append(client)
        }
    }
}
