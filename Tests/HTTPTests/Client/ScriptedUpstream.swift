import HTTP
import TestSupport
import Transport

/// An upstream that does what a script says, connection by connection, and a client on a loop that talks to it.
struct ScriptedUpstream: Sendable {
    let client: Client
    let loop: EventLoop

    /// Runs the body while the script plays on a thread of its own. Whatever the script throws fails the test.
    static func run<Value: Sendable>(
        configure: (inout ClientConfiguration) -> Void = { _ in },
        script: @escaping @Sendable (RawListener) throws -> Void,
        body: @escaping @Sendable (ScriptedUpstream) async throws -> Value
    ) async throws -> Value {
        let listener = try RawListener()
        var configuration = ClientConfiguration()
        configure(&configuration)
        let client = Client(origin: .loopback(port: listener.port), configuration: configuration)
        return try await withLoop { loop in
            async let playing: Void = onThread { try script(listener) }
            let value = try await body(ScriptedUpstream(client: client, loop: loop))
            await client.closeIdle(on: loop)
            try await playing
            return value
        }
    }

    /// Sends a request and gives its answer, or why there is none.
    func outcome(
        of request: Request = Request(.get, "/"), deadline: Duration = .seconds(20)
    ) async -> Outcome {
        do throws(ClientError) {
            let response = try await client.send(request, deadline: deadline)
            return .answered(response.status.code, String(decoding: response.body, as: UTF8.self))
        } catch {
            return switch error {
            case .notSent: .notSent
            case .answerLost: .answerLost
            case .timedOut: .timedOut
            }
        }
    }
}

/// The outcome of a request, without the reasons, which are for people.
enum Outcome: Equatable, Sendable {
    case answered(Int, String)
    case notSent
    case answerLost
    case timedOut
}

extension URL.Origin {
    static func loopback(_ scheme: URL.Scheme = .http, host: String = "127.0.0.1", port: UInt16) -> URL.Origin {
        guard let url = URL("\(scheme)://\(host):\(port)/") else { fatalError("a literal and a number") }
        return url.origin
    }
}

extension ClientConfiguration {
    /// Resolves every host name to these ports of 127.0.0.1.
    static func resolving(to ports: [UInt16]) -> ClientConfiguration {
        var configuration = ClientConfiguration()
        configuration.resolve = { (_, _) async throws(ResolutionError) in
            ports.compactMap { SocketAddress(numericHost: "127.0.0.1", port: $0) }
        }
        return configuration
    }
}

extension RawConnection {
    /// Reads a request without a body and sends the bytes.
    func answerOne(with text: String) throws {
        try receive(through: "\r\n\r\n")
        try send(text)
    }
}
