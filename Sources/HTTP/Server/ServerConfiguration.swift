import Transport

/// The bounds of a server that are about time and numbers; those of a single message are in `message`.
///
/// Each is there because a client could otherwise hold for ever, or without end, what others need. docs/limits.md has
/// them in one table.
public struct ServerConfiguration: Sendable {
    public var message = MessageLimits()

    /// From a request's first byte to the end of its header section, in all: 408 past it.
    ///
    /// In all, and not from read to read, because a client that sends a byte now and then would never end.
    public var headerDeadline = Duration.seconds(10)

    /// The slowest rate at which a body may come, in bytes per second, on top of `headerDeadline`: 408 below it.
    ///
    /// A rate and not a deadline, because an honest slow network shall get a large body through.
    public var bodyBytesPerSecondMin = 1_024

    /// How long a handler may be at work before its client is told to come again: 503, and the connection closes.
    ///
    /// The handler is not stopped: what it asks of others is done, and has to be recorded. Only the client is spared
    /// from waiting for something that may never come.
    public var handlerDeadline = Duration.seconds(30)

    /// From an answer's first byte to its last, in all: past it the connection is closed.
    ///
    /// In all, because a client that reads a byte now and then would keep its answer in memory for ever.
    public var writeDeadline = Duration.seconds(30)

    /// Bytes of answers that clients have not taken yet, in all: past it connections of the owner who has most are hung
    /// up on, the one first that has had its answer to take for longest.
    ///
    /// What the kernel holds besides is bounded by the kernel. A document that many are sent counts for each of them.
    public var unsentBytesMax = 64 << 20

    /// The same of one owner: a user, or the address of a stranger.
    public var unsentBytesPerOwnerMax = 4 << 20

    /// Bytes of requests that have not come to the end, in all: past it unfinished requests of the owner who has most
    /// are refused, the oldest first.
    ///
    /// Up to `unfinishedBytesFree` of a connection do not count.
    public var unfinishedBytesMax = 64 << 20

    /// The same of one owner: the user whose request came on the connection before, or the address. Each connection of
    /// a proxy is an owner by itself. Several times `message.bodyBytesMax`, or a long body is refused.
    public var unfinishedBytesPerOwnerMax = 4 << 20

    /// The bytes of an unfinished request that do not count: ordinary ones that come in two pieces take no lock.
    public var unfinishedBytesFree = 4 << 10

    /// How long a connection may stand without a request. The client is told nothing: it may be between two taps.
    public var idleDeadline = Duration.seconds(75)

    /// How long the rest of a refused request is read and thrown away, so that the answer is not lost with it.
    public var lingerDeadline = Duration.seconds(5)

    /// How long a request may be on its way to a connection that is about to close; 0 closes at once.
    ///
    /// Once the server drains, a connection whose client has lately been answered is kept for so long, and its next
    /// answer says that it closes. An idle one is ended on our side, and the client's end is awaited for so long.
    public var drainGrace = Duration.seconds(1)

    /// Requests on one connection, at least 1; the answer to the last one closes it.
    ///
    /// A connection stays with the loop and the instance that accepted it. This has busy clients choose anew now and
    /// then, so that a new instance gets its share.
    public var requestsPerConnectionMax = 100_000

    /// Refusals in a row on one connection (`RequestContext.noteRefusal`) that cost the client nothing. After each
    /// further one nothing is read for `refusalRest`, to which a second may come.
    public var refusalsAtOnceMax: UInt8 = 4
    public var refusalRest = Duration.seconds(1)
    /// The refusal in a row, 255 at most, that closes the connection.
    public var refusalsMax: UInt8 = 16

    /// Open connections on all loops: past it those that have been idle for longest are closed, of the address that
    /// has most of them; where none is idle a new one is told 503 and closed, and with TLS only closed.
    ///
    /// Each costs a descriptor, and memory while it is at work. A client that is refused at once can ask another
    /// instance.
    public var connectionsMax = 16_384

    /// Open connections from one address, or from one IPv6 network of 64 bits; 0 is no limit. Past it as above.
    ///
    /// One client alone must not use up all connections. Many users may share an address, though, such as all those
    /// behind one of a mobile carrier's.
    public var connectionsPerAddressMax = 1_024

    /// TLS handshakes that are begun a second for one address, or one IPv6 network of 64 bits, with a burst of five
    /// times as many; 0 is no limit. Past it new connections from there are closed.
    ///
    /// A handshake costs this side more than what it takes to have it begun. No limit unless it is set: a server may
    /// have one client alone.
    public var handshakeRatePerAddress = 0

    /// Whether an address is a proxy's, whose connections are many clients' and not counted by address.
    public var isProxy: @Sendable (IPAddress) -> Bool = { _ in false }

    /// How long accepting rests when the process has no descriptor left.
    public var acceptPause = Duration.milliseconds(100)

    public init() {}
}
