import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The merchant's server as an app reaches it: patient with networks, and polite to servers.
///
/// Every request may be repeated here, since the server does nothing twice.
public struct MerchantAPI: Sendable {
    /// How a request gets there and back.
    public typealias Exchange = @Sendable (URLRequest) async throws -> (Data, URLResponse)

    let base: URL
    let token: @Sendable (_ refused: String?) async throws -> String
    let exchange: Exchange
    let sleep: @Sendable (Duration) async throws -> Void

    /// Attempts before the app is told that it does not work now, with about a minute between the first and the last.
    static let attemptsMax = 7
    /// Nobody keeps an app open for longer.
    static let pauseMax = Duration.seconds(60)
    /// How long the server may hold a long poll.
    static let waitSeconds = 25

    /// - Parameter base: such as `https://pix.shop.example/`.
    /// - Parameter token: the signed-in user's token, as the shop's own sign-in gives it; when the server has refused
    ///   one, that one comes along and a new one is expected.
    public init(
        base: URL, token: @escaping @Sendable (_ refused: String?) async throws -> String,
        exchange: @escaping Exchange = MerchantAPI.overNetwork(),
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.base = base
        self.token = token
        self.exchange = exchange
        self.sleep = sleep
    }

    /// A session that keeps nothing: tags and tokens are this client's business.
    public static func overNetwork() -> Exchange {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.timeoutIntervalForRequest = Double(waitSeconds) + 15
        let session = URLSession(configuration: configuration)
        return { try await session.data(for: $0) }
    }

    /// A request's answer: any that is below 400, after as many attempts as it takes and is decent. Throws a `Problem`,
    /// or the last `URLError`.
    func answer(to request: URLRequest) async throws -> Answer {
        var request = request
        var bearer = try await token(nil)
        var isRenewed = false
        var attempt = 0
        while true {
            request.setValue("Bearer \(bearer)", forHTTPHeaderField: "Authorization")
            let failure: any Error
            var pause = Duration.seconds(1 << min(attempt, 5)) * Double.random(in: 0.5...1)
            do {
                let answer = try Answer(try await exchange(request))
                if answer.status < 400 { return answer }
                if answer.status == 401, !isRenewed {
                    bearer = try await token(bearer)
                    isRenewed = true
                    continue
                }
                guard answer.isForNow else { throw Problem(answer) }
                if let wanted = answer.retryAfter { pause = max(wanted, pause) }
                failure = Problem(answer)
            } catch let error as URLError {
                if error.code == .cancelled { throw CancellationError() }
                failure = error
            }
            attempt += 1
            guard attempt < Self.attemptsMax, pause <= Self.pauseMax else { throw failure }
            try await sleep(pause)
        }
    }

    func request(_ method: String, _ path: String, _ query: [URLQueryItem] = []) -> URLRequest {
        var address = base.appendingPathComponent(path)
        if !query.isEmpty, var parts = URLComponents(url: address, resolvingAgainstBaseURL: false) {
            parts.queryItems = query
            address = parts.url ?? address
        }
        var request = URLRequest(url: address)
        request.httpMethod = method
        request.setValue("application/json", forHTTPHeaderField: "Accept")
        return request
    }
}

/// What came back.
struct Answer: Sendable {
    let status: Int
    let body: Data
    let entityTag: String?
    /// When the server may be asked again.
    let retryAfter: Duration?

    init(_ answer: (body: Data, response: URLResponse)) throws {
        guard let response = answer.response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        status = response.statusCode
        body = answer.body
        entityTag = response.value(forHTTPHeaderField: "ETag")
        retryAfter = response.value(forHTTPHeaderField: "Retry-After").flatMap { Int($0) }.map { .seconds($0) }
    }

    /// Whether the same may be asked again later: the server is busy or away, or works on an equal request.
    var isForNow: Bool {
        status == 429 || status >= 500 || status == 409 && Problem(self).code == "in_progress"
    }
}
