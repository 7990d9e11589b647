import Glibc
import HTTP
import JSON
import Transport

/// Another server, called with JSON.
struct Remote: Sendable {
    let origin: URL.Origin
    private let client: Client

    init(_ origin: URL.Origin) {
        self.origin = origin
        var configuration = ClientConfiguration()
        configuration.message.bodyBytesMax = 16 << 20
        client = Client(origin: origin, configuration: configuration)
    }

    /// Sends a request; nil when no answer came.
    func send(
        _ method: HTTP.Method, _ target: String, _ body: [UInt8] = [], bearer: String? = nil,
        deadline: Duration = .seconds(5)
    ) async -> Response? {
        var request = Request(method, Target(stringLiteral: target), body: body)
        if !body.isEmpty { request.headers.append("content-type", "application/json") }
        if let bearer { request.headers.append("authorization", "Bearer \(bearer)") }
        do { return try await client.send(request, deadline: deadline) } catch { return nil }
    }

    /// The JSON that a GET is answered with.
    func json(_ target: String) async -> JSONValue? {
        guard let response = await send(.get, target), response.status.isSuccess else { return nil }
        var limits = JSONLimits()
        limits.bytesMax = 16 << 20
        do { return try JSONDocument(parsing: response.body, limits: limits).root } catch { return nil }
    }
}

/// The present time.
enum Clock {
    static var milliseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }

    static var seconds: Int { Int(milliseconds / 1_000) }
}
