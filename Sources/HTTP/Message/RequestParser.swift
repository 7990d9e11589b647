/// Reads requests from a byte stream, whatever way it is cut.
///
/// It is stricter than RFC 9112 has to be: wherever the RFC lets a recipient choose between repairing a
/// message and refusing it, it is refused, because a parser that repairs differently sees other messages in
/// the same bytes. A request that lies whole in the input is read in place, without being held here.
public struct RequestParser: Sendable {
    /// The result of parsing the bytes so far.
    public enum Event: Sendable {
        /// The input is used up and the request is not whole.
        case needsMore
        /// The client waits for `100 Continue` before it sends the body (RFC 9110 §10.1.1): said once
        /// for a request, for HTTP/1.1 only, and not when some of the body is there already.
        case expectsContinue
        /// A whole request, and whether the connection may stay open behind its answer.
        case request(Request, keepAlive: Bool)
    }

    private let limits: MessageLimits
    private var reader = RequestReader()

    public init(limits: MessageLimits = MessageLimits()) {
        self.limits = limits
    }

    /// Whether the answer to the last request must say `connection: keep-alive` if it is to stay open:
    /// so it is with HTTP/1.0 (RFC 9112 §9.3).
    public var announcesKeepAlive: Bool { reader.announcesKeepAlive }

    /// Whether the stream may end here: nothing of a request was begun.
    public var isBetweenMessages: Bool { reader.isBetweenMessages }

    /// The bytes of the unfinished request's body that have come, decoded.
    public var bodyBytesReceived: Int { reader.bodyBytesReceived }

    /// Takes one request, or what there is of it, from the front of the input.
    ///
    /// Call it again after `expectsContinue` and after each request, until it needs more. After a throw
    /// the connection is to be answered with the fault's status and closed: where the next message
    /// would begin is not known any more.
    public mutating func next(from input: inout UnsafeRawBufferPointer) throws(MessageFault) -> Event {
        try reader.next(from: &input, within: limits)
    }
}

/// A parser without its limits, which are the same for all connections of a server: an idle one is to cost little.
struct RequestReader: Sendable {
    /// The request under way, none or one.
    ///
    /// An array, because a connection that waits for its next request, and there are thousands of
    /// those, then pays for a pointer and not for the state of a reader.
    private var unfinished: [IncomingRequest] = []

    private var hasFailed = false
    private(set) var announcesKeepAlive = false

    var isBetweenMessages: Bool { unfinished.first.map { !$0.hasBegun } ?? true }
    var bodyBytesReceived: Int { unfinished.first?.bodyByteCount ?? 0 }
    /// The memory that the bytes of the unfinished request take.
    var bytesHeld: Int { unfinished.isEmpty ? 0 : unfinished[0].bytesHeld }

    mutating func next(
        from input: inout UnsafeRawBufferPointer, within limits: MessageLimits
    ) throws(MessageFault) -> RequestParser.Event {
        guard !hasFailed else { throw .malformed("the connection is of no more use after a fault") }
        do throws(MessageFault) {
            return try advance(&input, within: limits)
        } catch {
            hasFailed = true
            unfinished = []
            throw error
        }
    }

    private mutating func advance(
        _ input: inout UnsafeRawBufferPointer, within limits: MessageLimits
    ) throws(MessageFault) -> RequestParser.Event {
        guard unfinished.isEmpty else {
            let event = try unfinished[0].read(from: &input, limits: limits)
            if case .request = event {
                announcesKeepAlive = unfinished[0].announcesKeepAlive
                unfinished = []
            }
            return event
        }
        guard !input.isEmpty else { return .needsMore }
        var request = IncomingRequest()
        let event = try request.read(from: &input, limits: limits)
        if case .request = event {
            announcesKeepAlive = request.announcesKeepAlive
        } else {
            unfinished = [request]
        }
        return event
    }
}
