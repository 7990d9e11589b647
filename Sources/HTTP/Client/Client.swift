import Transport

/// An HTTP/1.1 client for one origin, with connections kept alive on each event loop.
///
/// Every request is sent at most once, and an error says whether it may have arrived: that decides
/// about a payment. There is one deadline from the call to the last byte of the answer. Redirects are not followed;
/// a 3xx is an answer like others. A cancelled task changes nothing: what was begun is finished, because a request
/// that has left cannot be called back.
public final class Client: Sendable {
    let origin: URL.Origin
    let tls: TLSContext?
    let configuration: ClientConfiguration

    /// Takes the origin and, for https, whom to trust. Without a TLS context an https origin cannot be reached.
    public init(
        origin: URL.Origin, tls: TLSContext? = nil, configuration: ClientConfiguration = ClientConfiguration()
    ) {
        self.origin = origin
        self.tls = tls
        self.configuration = configuration
    }

    /// Sends the request and returns the whole answer. The calling task has to run on an event loop.
    ///
    /// `host`, `content-length` and `connection` are written here. Throws `ClientError`.
    public func send(_ request: Request, deadline: Duration) async throws(ClientError) -> Response {
        guard let loop = EventLoop.current else { preconditionFailure("a client is used on an event loop") }
        let pool = loop.local(for: self) { ClientPool(client: self, loop: loop) }
        return try await pool.send(request, until: Monotonic.now() + deadline)
    }

    /// Closes the connections that this loop keeps idle. Requests under way are finished.
    public func closeIdle(on loop: EventLoop) async {
        _ = await Task(executorPreference: loop) {
            (loop.removeLocal(for: self) as? ClientPool)?.close()
        }.value
    }
}
