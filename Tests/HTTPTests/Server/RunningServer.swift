import TestSupport
import Transport

@testable import HTTP

/// A server on a loop of its own and a free port, for the time of one test.
struct RunningServer: Sendable {
    let loop: EventLoop
    let port: UInt16
    private let server: Server

    /// Runs the body while the server answers, and drains it afterwards.
    static func run<Value: Sendable>(
        tls: TLSContext? = nil, configure: @escaping @Sendable (inout ServerConfiguration) -> Void = { _ in },
        handler: @escaping Server.Handler, body: @escaping @Sendable (RunningServer) async throws -> Value
    ) async throws -> Value {
        try await run(
            tls: tls, configure: configure,
            dispatcher: { request, context in .work { await handler(request, context) } }, body: body)
    }

    static func run<Value: Sendable>(
        tls: TLSContext? = nil, configure: @escaping @Sendable (inout ServerConfiguration) -> Void = { _ in },
        dispatcher: @escaping Server.Dispatcher, body: @escaping @Sendable (RunningServer) async throws -> Value
    ) async throws -> Value {
        try await withLoop { loop in
            var configuration = ServerConfiguration()
            configuration.lingerDeadline = .seconds(20)
            configure(&configuration)
            let server = Server(
                configuration: configuration, tls: tls,
                refusal: { Response($0.status, body: Array($0.reason.utf8)) }, dispatcher: dispatcher)
            let running = RunningServer(loop: loop, port: try await listen(server, on: loop), server: server)
            let result: Result<Value, any Error>
            do {
                result = .success(try await body(running))
            } catch {
                result = .failure(error)
            }
            await server.drain(loops: [loop], within: .zero)
            return try result.get()
        }
    }

    /// Lets go of the listener, so that the port is closed once the server has drained.
    private static func listen(_ server: Server, on loop: EventLoop) async throws -> UInt16 {
        guard let address = SocketAddress(numericHost: "127.0.0.1", port: 0) else { fatalError("a literal") }
        let listener = try Listener(at: address)
        try await server.listen(to: listener, on: [loop])
        return listener.address.port
    }

    func connect(receiveBufferBytes: Int32? = nil, from host: UInt8? = nil) throws -> RawConnection {
        try RawConnection(port: port, receiveBufferBytes: receiveBufferBytes, from: host)
    }

    /// Bytes of requests that are counted because they have not come to the end.
    var unfinishedBytes: Int { server.unfinishedReading.bytes }

    /// Bytes of answers that clients have not taken yet.
    var unsentBytes: Int { server.unsentReading.bytes }

    /// Until when each connection has to be done with what it does.
    func deadlines() async throws -> [Monotonic] {
        try await loop.task {
            try loop.local(for: server) { () throws -> LoopServer in throw SocketFailure("the server does not listen") }
                .connections.map(\.deadline)
        }.value
    }

    func replaceTLS(_ context: TLSContext) {
        server.replaceTLS(context)
    }

    func drain(within deadline: Duration = .seconds(3600)) async {
        await server.drain(loops: [loop], within: deadline)
    }

    /// Sends the text and gives everything that comes back until the server closes.
    func answer(to text: String) async throws -> String {
        try await onThread {
            let client = try connect()
            try client.send(text)
            return try client.receiveToEnd()
        }
    }
}

/// A handler that answers with the path it was asked for.
func echoPath(_ request: Request, _ context: RequestContext) async -> Reply {
    .response(Response(.ok, body: Array(request.target.path.utf8)))
}

/// The path-bodies and statuses of answers, in order: "200 /a" for each.
func transcript(_ answers: String) -> [String] {
    var lines: [String] = []
    var rest = answers[...]
    while let head = rest.firstRange(of: "\r\n\r\n") {
        let fields = rest[..<head.lowerBound].split(separator: "\r\n")
        let status = fields.first?.split(separator: " ").dropFirst().first ?? "?"
        let length = fields.first { $0.hasPrefix("content-length: ") }.flatMap { Int($0.dropFirst(16)) } ?? 0
        let body = rest[head.upperBound...].utf8.prefix(length)
        lines.append(body.count < length ? "\(status) cut" : "\(status) \(Substring(body))")
        rest = rest[body.endIndex...]
    }
    if !rest.isEmpty { lines.append("rest \(rest)") }
    return lines
}

func get(_ path: String, closing: Bool = false) -> String {
    "GET \(path) HTTP/1.1\r\nHost: a\r\n\(closing ? "Connection: close\r\n" : "")\r\n"
}
