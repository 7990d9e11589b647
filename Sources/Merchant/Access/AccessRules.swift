import HTTP
import Payments
import Synchronization
import Transport

/// Who gets in, how often, and who may read the answer: what stands in front of every operation beside the token.
struct AccessRules: Sendable {
    let proxies: TrustedProxies
    let crossOrigin: CrossOrigin
    let inFlight: InFlightLimit
    let transportSecurity: TransportSecurity
    private let userRate: RateLimiter?
    private let strangers: StrangerLimits
    private let refusals: RefusalLog
    private let now: @Sendable () -> Monotonic

    init(_ settings: Settings, clock: IntervalClock) {
        proxies = TrustedProxies(settings.trustedProxies)
        crossOrigin = CrossOrigin(settings.corsOrigins)
        inFlight = InFlightLimit(settings.inFlightLimits)
        transportSecurity = TransportSecurity(settings)
        userRate = RateLimiter(perSecond: settings.userRate)
        strangers = StrangerLimits(settings)
        refusals = RefusalLog()
        now = clock.now
    }

    /// Requests that were refused because too many had come without a good token.
    var strangersRefused: Int { strangers.refused }

    /// Throws when the user has made too many requests (`USER_RATE`).
    func admit(_ user: UserSubject) throws(APIError) {
        guard let wait = userRate?.take(for: user, at: now()) else { return }
        throw .rateLimited("This user has made too many requests.", retryAfter: wait)
    }

    /// Throws when too many requests without a good token have come from the client's address (`ADDRESS_RATE`).
    func admitStranger(_ client: IPAddress) throws(APIError) {
        try strangers.admit(client, at: now())
    }

    /// Throws unless the request shows the token that is shared with its sender.
    func check(
        _ bearer: SharedBearer, scheme: SharedBearer.Scheme = .required, of inbound: Inbound
    ) throws {
        try strangers.check(
            bearer, inbound.request.headers.values("authorization"), scheme, of: inbound.client, at: now())
    }

    /// Throws when too many different redirects have come lately: for an enrollment that is known, or else from the
    /// same user or address.
    func admitRedirect(of enrollment: Enrollment.ID?, from poster: UserSubject?, at client: IPAddress) throws(APIError)
    {
        try strangers.admitRedirect(of: enrollment, from: poster, at: client, now())
    }

    /// Whether a refusal of this client's is to be logged, strangers must not fill the log: nil where not, else how
    /// many were left out since the last one.
    func mayLogRefusal(of client: IPAddress) -> Int? {
        refusals.admit(client, at: now())
    }
}

/// What the log is told of refusals: of one client one line a second, with a count of what was left out.
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

extension APIError {
    /// Whoever has asked too often (RFC 6585 §4).
    static func rateLimited(_ detail: String, retryAfter wait: Duration) -> APIError {
        var error = APIError(.tooManyRequests, .rateLimited, detail)
        let second = Duration.seconds(1).wholeNanoseconds
        // A second too many is waited rather than a nanosecond too few.
        error.retryAfterSeconds = Int((wait.wholeNanoseconds + second - 1) / second)
        return error
    }
}
