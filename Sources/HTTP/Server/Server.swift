import Synchronization
import Transport

/// An HTTP/1.1 server: connections on event loops, each request answered by one function.
///
/// Every loop accepts from the same listener and serves what it accepted itself, from the first byte to the last.
/// The requests of one connection are answered one after the other in the order in which they came (RFC 9112
/// §9.3.2), and a client that hangs up does not stop what was begun for it: an executed payment is recorded whether
/// or not a client is still listening.
///
/// Use: `try await server.listen(at:on:)` from a task on any loop, later `await server.drain(within:)`.
public final class Server: Sendable {
    /// Answers one request at once, or says how it is answered. It runs on the connection's loop.
    public typealias Dispatcher = @Sendable (Request, RequestContext) -> Handling

    /// Answers one request. It runs on the connection's loop, as a task.
    ///
    /// `nonsending`, and so are the functions behind it that every request passes: they go on where their caller is.
    /// Others ask the runtime at each call where their task belongs, and the answer is always the same.
    public typealias Handler = nonisolated(nonsending) @Sendable (Request, RequestContext) async -> Reply

    let configuration: ServerConfiguration
    let dispatcher: Dispatcher
    let refusal: @Sendable (MessageFault) -> Response
    let admission: Admission
    let unsent: ByteBudget
    let unfinished: ByteBudget
    /// Whether it speaks https, and nothing else.
    let isSecure: Bool
    private let currentTLS: Mutex<TLSContext?>

    /// Takes what answers requests, and what describes why the server itself answers: a request that could not be read,
    /// a connection too many, a handler that is too late.
    ///
    /// With a TLS context the server speaks https only.
    public init(
        configuration: ServerConfiguration = ServerConfiguration(),
        tls: TLSContext? = nil,
        refusal: @escaping @Sendable (MessageFault) -> Response,
        dispatcher: @escaping Dispatcher
    ) {
        self.configuration = configuration
        admission = Admission(configuration, isSecure: tls != nil)
        unsent = ByteBudget(
            bytesMax: configuration.unsentBytesMax, bytesPerOwnerMax: configuration.unsentBytesPerOwnerMax)
        unfinished = ByteBudget(
            bytesMax: configuration.unfinishedBytesMax, bytesPerOwnerMax: configuration.unfinishedBytesPerOwnerMax)
        isSecure = tls != nil
        currentTLS = Mutex(tls)
        self.refusal = refusal
        self.dispatcher = dispatcher
    }

    /// The same, with a task for every request.
    public convenience init(
        configuration: ServerConfiguration = ServerConfiguration(),
        tls: TLSContext? = nil,
        refusal: @escaping @Sendable (MessageFault) -> Response,
        handler: @escaping Handler
    ) {
        self.init(
            configuration: configuration, tls: tls, refusal: refusal,
            dispatcher: { request, context in .work { await handler(request, context) } })
    }

    /// Certificates for the connections to come. Those that stand keep theirs.
    ///
    /// - Precondition: the server was made with a TLS context.
    public func replaceTLS(_ context: TLSContext) {
        precondition(isSecure, "a server that speaks https")
        currentTLS.withLock { $0 = context }
    }

    /// Bytes of answers that clients have not taken yet, and connections that were hung up on for their sake so far.
    public var unsentReading: (bytes: Int, hungUp: Int) { unsent.reading }

    /// Bytes of requests that clients have not sent to the end, and connections that were refused for their sake so
    /// far.
    public var unfinishedReading: (bytes: Int, refused: Int) {
        let reading = unfinished.reading
        return (reading.bytes, reading.hungUp)
    }

    var tls: TLSContext? { currentTLS.withLock { $0 } }

    /// Starts accepting on each of the loops. Returns once all of them listen.
    public func listen(to listener: Listener, on loops: [EventLoop]) async throws {
        for loop in loops {
            try await loop.task {
                let loopServer = loop.local(for: self) { LoopServer(server: self, loop: loop) }
                try loopServer.accept(from: listener)
            }.value
        }
    }

    /// Stops accepting, lets every accepted request finish, and closes. Past the deadline it closes what is left.
    ///
    /// Clients that were connecting when it began are served too, and every answer says that the connection closes.
    /// The port refuses connections a moment later, as soon as the listener is released.
    public func drain(loops: [EventLoop], within deadline: Duration) async {
        await withTaskGroup { group in
            for loop in loops {
                group.addTask(executorPreference: loop) {
                    guard let loopServer = loop.removeLocal(for: self) as? LoopServer else { return }
                    await loopServer.drain(within: deadline)
                }
            }
        }
    }
}

/// The context of a request beside its bytes.
public struct RequestContext: Sendable {
    /// The sender: the peer of the connection, which may be a proxy.
    public let peer: IPAddress
    /// Whether it came through TLS of ours.
    public let isSecure: Bool
    /// When its last byte had come.
    public let arrivedAt: Monotonic
    /// Nothing where there is none, as in a simulation.
    let connection: LoopBound<ServerConnection>?

    /// A request that came on no connection.
    public init(peer: IPAddress, isSecure: Bool, arrivedAt: Monotonic) {
        self.init(peer: peer, isSecure: isSecure, arrivedAt: arrivedAt, connection: nil)
    }

    init(peer: IPAddress, isSecure: Bool, arrivedAt: Monotonic, connection: LoopBound<ServerConnection>?) {
        self.peer = peer
        self.isSecure = isSecure
        self.arrivedAt = arrivedAt
        self.connection = connection
    }

    /// Says whose the answer is, by a number: its bytes count as that owner's for as long as the client has not taken
    /// them. Without it they are the peer's. On the connection's loop only.
    public func setOwner(_ owner: UInt64) {
        connection?.value.dues.owner = owner
    }

    /// Says that the request is refused because its client asks too often: after some of these in a row the connection
    /// is not read from for a while, and after more it is closed. On the connection's loop only.
    public func noteRefusal() {
        connection?.value.isRefused = true
    }

    /// Keeps something until the answer has left, or the client is gone and the handler done: a place among the
    /// requests under way, which is given back by letting go of it. On the connection's loop only.
    public func keep(_ permit: some AnyObject & Sendable) {
        connection?.value.dues.keep(permit)
    }
}

/// How a request is answered.
public enum Handling: Sendable {
    /// The body of a task on the connection's loop, which gives the answer.
    public typealias Work = nonisolated(nonsending) @Sendable () async -> Reply

    /// Nothing had to be waited for: no task is made.
    case reply(Reply)
    case work(Work)

    /// The answer, waited for where it has to be.
    public nonisolated(nonsending) var reply: Reply {
        get async {
            switch self {
            case .reply(let reply): reply
            case .work(let work): await work()
            }
        }
    }
}

/// The answer of a handler.
public enum Reply: Sendable {
    case response(Response)
    /// The answer comes later, and no handler is at work for it meanwhile.
    case held(HeldReply)
    /// These bytes as they are, and then the end of the connection; none at all hangs up. For stand-ins that have
    /// to misbehave.
    case raw([UInt8])
}
