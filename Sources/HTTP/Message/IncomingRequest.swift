/// One request on its way in.
struct IncomingRequest: Sendable {
    private var head = HeadReader<RequestLine>()
    /// Nothing before the head is whole, and for a request without a body.
    private var body: BodyReader?
    /// Whether the connection stays open after a whole request: see `RequestParser.announcesKeepAlive`.
    private(set) var announcesKeepAlive = false

    var hasBegun: Bool { head.hasBegun }
    var bodyByteCount: Int { body?.bytes.count ?? 0 }
    /// The memory of the bytes so far. What is to come of a body of known length has its room already.
    var bytesHeld: Int { head.bytes.capacity + (body?.bytes.capacity ?? 0) }

    /// Takes from the front of the input what belongs to the request.
    mutating func read(
        from input: inout UnsafeRawBufferPointer, limits: MessageLimits
    ) throws(MessageFault) -> RequestParser.Event {
        if body == nil {
            guard try head.read(from: &input, limits: limits), let line = head.start else { return .needsMore }
            if let authority = line.authority { head.setHost(to: authority) }
            let framing = try framing(line, limits: limits)
            guard framing != .length(0) else { return whole(line, body: []) }
            body = BodyReader(framing: framing)
            if head.fields.facts.expectsContinue, line.version == .http11, input.isEmpty { return .expectsContinue }
        }
        guard try body?.read(from: &input, limits: limits) == true, let line = head.start else { return .needsMore }
        return whole(line, body: body?.bytes ?? [])
    }

    private mutating func whole(_ line: RequestLine, body: [UInt8]) -> RequestParser.Event {
        let keepsAlive = head.fields.facts.keepsAlive(line.version)
        announcesKeepAlive = keepsAlive && line.version == .http10
        return .request(Request(line, of: head.bytes.span, headers: head.headers, body: body), keepAlive: keepsAlive)
    }

    /// Judges a whole head, by what is missing and by what does not go together, and finds the body's end.
    private func framing(_ line: RequestLine, limits: MessageLimits) throws(MessageFault) -> BodyFraming {
        // RFC 9112 §3.2.
        guard head.fields.facts.host != nil || line.version == .http10 else {
            throw .malformed("the Host field is missing")
        }
        let framing = try head.fields.facts.framing(line.version, limits: limits)
        guard !head.fields.facts.expectsOther else {
            throw MessageFault(.expectationFailed, "only 100-continue can be expected")
        }
        // RFC 9112 §6.3, rule 7.
        return framing ?? .length(0)
    }
}
