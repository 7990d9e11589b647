import HTTP
import JSON
import Transport

/// A user's app: its connection to the server, and its token.
struct App: Sendable {
    let client: Client
    let token: String

    /// Longer than the server itself waits for any client.
    static let deadline = Duration.seconds(15)

    /// Reads a resource. Throws unless it is there.
    func get(_ target: String) async throws -> JSONValue {
        try await exchange(Request(.get, Target(path: target)))
    }

    /// Sends a JSON body and gives the answer's; null for an answer without. Throws unless the server did as asked.
    func send(
        _ method: HTTP.Method, _ target: String, headers: Headers = Headers(), _ body: (inout JSONWriter) -> Void
    ) async throws -> JSONValue {
        var request = Request(method, Target(path: target), headers: headers, body: JSONWriter.object(body))
        request.headers.append("content-type", "application/json")
        return try await exchange(request)
    }

    /// Reads a resource until it is as wanted, pausing as the server says.
    @discardableResult
    func look(
        at target: String, on loop: EventLoop, until isWanted: (JSONValue) throws -> Bool
    ) async throws -> JSONValue {
        while true {
            let resource = try await get(target)
            if try isWanted(resource) { return resource }
            guard let pause = resource["next_action"]?["after_ms"]?.int64 else {
                throw Unexpected("nothing to wait for", resource)
            }
            try await loop.sleep(for: .milliseconds(pause))
        }
    }

    /// Sends a request as the user, and gives the answer, whatever it is.
    func answer(to request: Request, within limit: Duration = Self.deadline) async throws -> Response {
        var request = request
        request.headers.append("authorization", "Bearer \(token)")
        return try await client.send(request, deadline: limit)
    }

    private func exchange(_ request: Request) async throws -> JSONValue {
        let response = try await answer(to: request)
        guard (200..<300).contains(response.status.code) else { throw Unexpected(request, response) }
        return try JSONDocument(parsing: response.body.isEmpty ? Array("null".utf8) : response.body).root
    }
}

extension String {
    /// 128 random bits in hexadecimal: as good as a UUID for a key that is used once.
    static func randomKey() -> String {
        String(UInt64.random(in: .min ... .max), radix: 16) + "-" + String(UInt64.random(in: .min ... .max), radix: 16)
    }
}
