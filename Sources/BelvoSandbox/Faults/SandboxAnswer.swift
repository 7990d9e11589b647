import HTTP

/// What the sandbox answers, and what is to be done to it on the connection.
public struct SandboxAnswer: Sendable {
    /// What HTTP carries.
    public var response: Response
    /// What becomes of it on the way.
    public var delivery: Delivery

    public init(_ response: Response, delivery: Delivery = .whole) {
        self.response = response
        self.delivery = delivery
    }
}

/// How an answer travels. Only the one who owns the connection can do this, so it is a value.
public enum Delivery: Sendable, Equatable {
    /// As HTTP says.
    case whole
    /// Not at all: the connection is closed without a byte.
    case drop
    /// That many bytes of the serialized message, then the connection is closed.
    case truncated(Int)
    /// With this number as `content-length` instead of the true one, then the connection is closed.
    case contentLength(Int)
    /// These bytes instead of the message, then the connection is closed.
    case raw([UInt8])
    /// That many bytes every second.
    case slow(bytesPerSecond: Int)
}
