/// `method SP request-target SP HTTP-version` (RFC 9112 §3), every space exactly one.
struct RequestLine: StartLine {
    let method: Range<Int>
    let target: TargetPlace
    /// The authority of an absolute-form, which replaces the Host field's value.
    let authority: Range<Int>?
    let version: Version

    static let isOfRequest = true

    /// Some clients send an empty line behind a body; more than a few are no mistake.
    static let emptyLinesMax = 4

    static func canBegin(with byte: UInt8) -> Bool { Octet.isToken(byte) || byte == Octet.carriageReturn }

    static var tooLong: MessageFault { MessageFault(.uriTooLong, "the request line is too long") }

    init(parsing line: Range<Int>, of head: Span<UInt8>) throws(MessageFault) {
        let methodEnd = head.endOfRun(of: .token, in: line)
        guard methodEnd > line.lowerBound, methodEnd < line.upperBound, head[methodEnd] == Octet.space else {
            throw .malformed("the request line does not begin with a method and one space")
        }
        let targetStart = methodEnd + 1
        let versionStart = line.upperBound - Version.byteCount
        guard targetStart < versionStart - 1, head[versionStart - 1] == Octet.space else {
            throw .malformed("the request line is not a method, a target and a version with one space between")
        }
        version = try Version(parsing: versionStart..<line.upperBound, of: head)
        method = line.lowerBound..<methodEnd
        (target, authority) = try RequestLine.target(targetStart..<versionStart - 1, of: head, for: method)
    }

    /// Reads the four forms of a target (RFC 9112 §3.2) as far as this server may be asked in them.
    private static func target(
        _ range: Range<Int>, of head: Span<UInt8>, for method: Range<Int>
    ) throws(MessageFault) -> (TargetPlace, authority: Range<Int>?) {
        guard !head.spells("CONNECT", in: method) else {
            throw MessageFault(.notImplemented, "this server opens no tunnels")
        }
        if head[range.lowerBound] == Octet.slash {
            return (try TargetPlace(parsing: range, of: head), nil)
        }
        if range.count == 1, head[range.lowerBound] == Octet.asterisk {
            guard head.spells("OPTIONS", in: method) else {
                throw .malformed("only OPTIONS may ask for the whole server")
            }
            return (TargetPlace(asterisk: range), nil)
        }
        let url = try AbsoluteForm(parsing: range, of: head)
        return (url.target, url.authority.range)
    }
}

extension Request {
    /// Makes the text of what a request line says.
    init(_ line: RequestLine, of head: Span<UInt8>, headers: Headers, body: [UInt8]) {
        var target = Target(at: line.target, of: head)
        let method = Method(at: line.method, of: head)
        // RFC 9112 §3.2.4: a URL without path and query is how a proxy is asked for the whole server.
        if line.authority != nil, method == .options, line.target.isEmpty { target = "*" }
        self.init(method, target, headers: headers, body: body)
    }
}

extension Method {
    /// Takes the text from its place; the usual ones are compared only.
    fileprivate init(at place: Range<Int>, of bytes: Span<UInt8>) {
        if bytes.spells("GET", in: place) {
            self = .get
        } else if bytes.spells("POST", in: place) {
            self = .post
        } else {
            self.init(rawValue: bytes.text(in: place))
        }
    }
}
