import HTTP
import MerchantAuth
import MerchantModel
import Payments
import Synchronization
import Transport

/// The rules in front of every operation beside the token: rates, requests in flight, and who may read the answer.
package struct AccessRules: Sendable {
    let proxies: TrustedProxies
    let crossOrigin: CrossOrigin
    let inFlight: InFlightLimit
    let readTurns = ReadTurns()
    let transportSecurity: TransportSecurity
    private let userRate: RateLimiter?
    private let addressLimits: AddressLimits
    private let refusals: RefusalLog
    private let now: @Sendable () -> Monotonic

    /// Takes the rates in requests a second; 0 is no limit.
    package init(
        proxies: TrustedProxies, crossOrigin: CrossOrigin, inFlight: InFlightLimit,
        transportSecurity: TransportSecurity, userRate: Int, addressRate: Int, now: @escaping @Sendable () -> Monotonic
    ) {
        self.proxies = proxies
        self.crossOrigin = crossOrigin
        self.inFlight = inFlight
        self.transportSecurity = transportSecurity
        self.userRate = RateLimiter(perSecond: userRate)
        addressLimits = AddressLimits(addressRate: addressRate)
        refusals = RefusalLog()
        self.now = now
    }

    /// Requests that were refused because too many had come without a good token.
    package var refusedByAddress: Int { addressLimits.refused }

    /// Throws when the user has made too many requests (`USER_RATE`).
    func admit(_ user: UserSubject) throws(AccessRefusal) {
        guard let wait = userRate?.take(for: user, at: now()) else { return }
        throw .tooManyRequests(retryAfter: wait)
    }

    /// Throws when too many requests without a good token have come from the client's address (`ADDRESS_RATE`).
    func admitWithoutToken(_ client: IPAddress) throws(AccessRefusal) {
        try addressLimits.admit(client, at: now())
    }

    /// Throws when too many probes have come from the client's address, which is no proxy's.
    func admitProbe(_ client: IPAddress) throws(AccessRefusal) {
        guard !proxies.isTrusted(client) else { return }
        try addressLimits.admitProbe(client, at: now())
    }

    /// Throws unless the request shows the token that is shared with its sender.
    func check(
        _ bearer: SharedBearer, scheme: SharedBearer.Scheme = .required, of request: Request, from client: IPAddress
    ) throws {
        try addressLimits.check(bearer, request.headers.values("authorization"), scheme, of: client, at: now())
    }

    /// Throws when too many different redirects have come lately: for an enrollment that is known, or else from the
    /// same user or address.
    func admitRedirect(
        of enrollment: Payments.Enrollment.ID?, from poster: UserSubject?, at client: IPAddress
    ) throws(AccessRefusal) {
        try addressLimits.admitRedirect(of: enrollment, from: poster, at: client, now())
    }

    /// How many refusals of this client were left out of the log since the last one that is there; nil where this one
    /// is left out too. Strangers must not fill the log.
    func refusalsLeftOut(of client: IPAddress) -> Int? {
        refusals.admit(client, at: now())
    }
}

/// Decides which refusals are logged: of one client one line a second, with a count of what was left out.
private final class RefusalLog: Sendable {
    private let rate = RateLimiter(perSecond: 1)
    private let leftOut = Atomic(0)

    func admit(_ client: IPAddress, at now: Monotonic) -> Int? {
        guard rate?.take(for: client.subscriber, at: now) == nil else {
            leftOut.wrappingAdd(1, ordering: .relaxed)
            return nil
        }
        return leftOut.exchange(0, ordering: .relaxed)
    }
}
