import Transport

/// The bounds of a client.
public struct ClientConfiguration: Sendable {
    /// Bounds of an answer. Its body may have 1 MiB: a page of a thousand institutions has half of that.
    public var message: MessageLimits = {
        var limits = MessageLimits()
        limits.bodyBytesMax = 1_048_576
        return limits
    }()

    /// From the question for the host's addresses to the end of the TLS handshake. The deadline of the whole exchange
    /// may be shorter.
    public var connectDeadline = Duration.seconds(5)

    /// Open connections to the origin from one loop. Past it, requests wait in line until their deadline.
    public var connectionsMax = 64

    /// How long an unused connection is kept. Less than servers usually keep it, so that they rarely close first.
    public var idleDeadline = Duration.seconds(30)

    /// How long the addresses of a name are used again before it is resolved anew.
    public var resolutionLifetime = Duration.seconds(30)

    /// Resolves the host's name to addresses, in the order in which they should be tried.
    public var resolve: @Sendable (_ host: String, _ port: UInt16) async throws(ResolutionError) -> [SocketAddress] =
        { (host, port) async throws(ResolutionError) in try await Resolver.resolve(host: host, port: port) }

    public init() {}
}
