import HTTP

/// An answer of the sandbox, and the fault that the connection applies to it.
public struct SandboxAnswer: Sendable {
    /// The response.
    public var response: Response
    /// The fault in its delivery.
    public var delivery: Delivery

    public init(_ response: Response, delivery: Delivery = .whole) {
        self.response = response
        self.delivery = delivery
    }
}

/// How an answer travels. Only the one who owns the connection can do this, so it is a value.
public enum Delivery: Sendable, Equatable {
    /// The whole response, as HTTP has it.
    case whole
    /// Not at all: the connection is closed without a byte.
    case drop
    /// Only so many bytes of the serialized message, then the connection is closed.
    case truncated(Int)
    /// The response with this number as `content-length` instead of the true one, then the connection is closed.
    case contentLength(Int)
    /// These bytes instead of the message, then the connection is closed.
    case raw([UInt8])
    /// So many bytes every second.
    case slow(bytesPerSecond: Int)
}
