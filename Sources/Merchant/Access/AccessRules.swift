import HTTP
import Payments
import Transport

/// Who gets in, how often, and who may read the answer: what stands in front of every operation beside the token.
struct AccessRules: Sendable {
    let proxies: TrustedProxies
    let crossOrigin: CrossOrigin
    let crowd: Crowd
    let transportSecurity: TransportSecurity
    private let userRate: RateLimit?
    private let refusalRate = RateLimit(perSecond: AccessRules.refusalLinesPerSecond)
    private let now: @Sendable () -> Monotonic

    init(_ settings: Settings, clock: IntervalClock) {
        proxies = TrustedProxies(settings.trustedProxies)
        crossOrigin = CrossOrigin(settings.corsOrigins)
        crowd = Crowd(settings.crowdLimits)
        transportSecurity = TransportSecurity(settings)
        userRate = RateLimit(perSecond: settings.userRate)
        now = clock.now
    }

    /// Throws when the user has made too many requests (`USER_RATE`).
    func admit(_ user: UserSubject) throws(APIError) {
        guard let wait = userRate?.take(for: user, at: now()) else { return }
        throw .rateLimited(retryAfter: wait)
    }

    /// Whether a refusal of this client's is to be logged: strangers must not fill the log.
    func mayLogRefusal(of client: IPAddress) -> Bool {
        refusalRate?.take(for: client.subscriber, at: now()) == nil
    }

    private static let refusalLinesPerSecond = 1
}

extension APIError {
    /// A user who has made too many requests (RFC 6585 §4).
    fileprivate static func rateLimited(retryAfter wait: Duration) -> APIError {
        var error = APIError(.tooManyRequests, .rateLimited, "This user has made too many requests.")
        let second = Duration.seconds(1).wholeNanoseconds
        // A second too many is waited rather than a nanosecond too few.
        error.retryAfterSeconds = Int((wait.wholeNanoseconds + second - 1) / second)
        return error
    }
}
