import Transport

/// The bounds of a server that are about time and numbers; those of a single message are in `message`.
public struct ServerConfiguration: Sendable {
    public var message = MessageLimits()

    /// From a request's first byte to the end of its header section, in all: 408 past it.
    ///
    /// In all, and not from read to read, because a client that sends a byte now and then would never end.
    public var headerDeadline = Duration.seconds(10)

    /// The slowest rate at which a body may come, in bytes per second, on top of `headerDeadline`: 408 below it.
    public var bodyBytesPerSecondMin = 1_024

    /// How long a connection may stand without a request. The client is told nothing: it may be between two taps.
    public var idleDeadline = Duration.seconds(75)

    /// From an answer's first byte to its last, in all.
    public var writeDeadline = Duration.seconds(30)

    /// How long the rest of a refused request is read and thrown away, so that the answer is not lost with it.
    public var lingerDeadline = Duration.seconds(2)

    /// Open connections on one loop. Past it, new ones wait in the kernel's queue until others close.
    public var connectionsMax = 16_384

    /// How long accepting rests when the process has no descriptor left.
    public var acceptPause = Duration.milliseconds(100)

    public init() {}
}
