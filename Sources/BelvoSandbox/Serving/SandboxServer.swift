import HTTP
import Transport

/// The sandbox behind a socket: one event loop does everything, since a stand-in need not be fast.
public struct SandboxServer: Sendable {
    private let sandbox: Sandbox
    private let listener: Listener
    private let tls: TLSContext?

    /// Where it listens, with the real port.
    public var address: SocketAddress { listener.address }

    /// Takes a listener that is bound already. Without a TLS context it speaks plain http.
    public init(sandbox: Sandbox, listener: Listener, tls: TLSContext?) {
        self.sandbox = sandbox
        self.listener = listener
        self.tls = tls
    }

    /// Serves, sends webhooks and settles what is due, until `stop` returns; then finishes what was begun.
    ///
    /// The calling task has to run on the loop. Throws when it cannot listen.
    public func run(on loop: EventLoop, until stop: @escaping @Sendable () async throws -> Void) async throws {
        let server = Server(tls: tls, refusal: SandboxServer.refusal) { [sandbox] request, _ in
            await sandbox.reply(to: request)
        }
        try await server.listen(to: listener, on: [loop])
        try await withThrowingTaskGroup { group in
            group.addTask { await sandbox.run() }
            try await stop()
            group.cancelAll()
        }
        await server.drain(loops: [loop], within: .seconds(2))
    }

    /// Answers bytes that cannot be read as a request, as the firewall before Belvo does.
    private static func refusal(_ fault: MessageFault) -> Response {
        Page.response(fault.status, Page.firewall(fault.status))
    }
}
