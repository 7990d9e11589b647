/// Reads the one answer to one request from a byte stream, whatever way it is cut.
///
/// As strict as `RequestParser`. Every fault says 502: the answer is the upstream's, and none of it
/// reaches our own client.
public struct ResponseParser: Sendable {
    /// The result of parsing the bytes so far.
    public enum Event: Sendable {
        /// The input is used up and the response is not whole.
        case needsMore
        /// The final response, and whether the connection may carry another request.
        case response(Response, keepAlive: Bool)
    }

    /// The interim responses that may come before the final one (RFC 9110 §15.2).
    private static let interimCountMax = 8

    private let requestMethod: Method
    private let limits: MessageLimits
    private var head = HeadReader<StatusLine>()
    /// Nothing before the final head is whole.
    private var body: BodyReader?
    private var interimCount = 0
    private var isOver = false

    /// Expects the answer to a request of that method: one to HEAD has no body (RFC 9112 §6.3, rule 1).
    public init(requestMethod: Method, limits: MessageLimits = MessageLimits()) {
        self.requestMethod = requestMethod
        self.limits = limits
    }

    /// Takes from the front of the input what belongs to the response.
    ///
    /// Interim responses are skipped. After the response and after a throw there is nothing more to
    /// read here, and bytes that come all the same are a fault.
    public mutating func next(from input: inout UnsafeRawBufferPointer) throws(MessageFault) -> Event {
        guard !isOver else { throw MessageFault(.badGateway, "bytes came behind the answer") }
        do throws(MessageFault) {
            let event = try advance(&input)
            if case .response = event { isOver = true }
            return event
        } catch {
            isOver = true
            throw error.asUpstreams
        }
    }

    /// Tells that the peer has closed: this completes a body that nothing else ends, and only that.
    public mutating func end() throws(MessageFault) -> Response {
        guard !isOver, let line = head.start, let body, body.framing == .untilClose else {
            throw MessageFault(.badGateway, "the answer was cut short")
        }
        isOver = true
        return response(line, body)
    }

    private mutating func advance(_ input: inout UnsafeRawBufferPointer) throws(MessageFault) -> Event {
        while body == nil {
            guard try head.read(from: &input, limits: limits), let line = head.start else { return .needsMore }
            if line.status.code < 200 {
                try skipInterim(line)
            } else {
                body = BodyReader(framing: try framing(line))
            }
        }
        guard try body?.read(from: &input, limits: limits) == true, let line = head.start, let body else {
            return .needsMore
        }
        return .response(response(line, body), keepAlive: keepsAlive(line))
    }

    private func response(_ line: StatusLine, _ body: BodyReader) -> Response {
        Response(line.status, headers: head.headers, body: body.bytes)
    }

    private mutating func skipInterim(_ line: StatusLine) throws(MessageFault) {
        interimCount += 1
        guard interimCount <= ResponseParser.interimCountMax else {
            throw .malformed("interim answers come without end")
        }
        guard line.status.code != 101 else { throw .malformed("the protocol was switched without being asked") }
        guard !announcesForbiddenBody(line) else { throw .malformed("an interim answer announces a body") }
        head = HeadReader()
    }

    /// Finds the length of the body (RFC 9112 §6.3).
    private func framing(_ line: StatusLine) throws(MessageFault) -> BodyFraming {
        if requestMethod == .head || line.status.forbidsBody { return .length(0) }
        return try head.fields.facts.framing(line.version, limits: limits) ?? .untilClose
    }

    private func keepsAlive(_ line: StatusLine) -> Bool {
        body?.framing != .untilClose && head.fields.facts.keepsAlive(line.version) && !announcesForbiddenBody(line)
    }

    /// Whether a response that has no body speaks of one all the same (RFC 9110 §8.6, RFC 9112 §6.1).
    ///
    /// It is taken without; but if such a body comes, it would be read as the answer to the next request.
    private func announcesForbiddenBody(_ line: StatusLine) -> Bool {
        guard line.status.forbidsBody, line.status != .notModified else { return false }
        return head.fields.facts.isTransferCoded || head.fields.facts.contentLength ?? 0 > 0
    }
}

extension MessageFault {
    /// The same fault in an upstream's answer.
    fileprivate var asUpstreams: MessageFault { MessageFault(.badGateway, sentence) }
}
