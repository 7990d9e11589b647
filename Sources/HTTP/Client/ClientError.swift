/// Why no usable answer came, by what it says about the request.
public enum ClientError: Error, Sendable, Equatable {
    /// No byte of the request left this machine: refused, unresolved, TLS, queue, or deadline before sending.
    case notSent(reason: String)
    /// Some of the request left and no whole valid answer came: reset, cut, too large, or nonsense.
    case answerLost(reason: String)
    /// The deadline passed after the request left.
    case timedOut
}
