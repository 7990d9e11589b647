/// The properties of a message that its fields state: its length, its host, its connection.
struct FieldFacts: Sendable {
    /// The Content-Length; nil without one.
    private(set) var contentLength: Int?
    /// Whether the body is chunked, as the last of its codings.
    private(set) var isChunked = false
    /// Whether a transfer coding other than chunked is applied.
    private(set) var hasUnknownCoding = false
    /// The number of the Host field among the fields.
    private(set) var host: Int?
    /// Whether a Connection field lists `close`, or `keep-alive` (RFC 9112 §9.3).
    private(set) var listsClose = false
    private(set) var listsKeepAlive = false
    /// Whether Expect says `100-continue`, or anything else (RFC 9110 §10.1.1).
    private(set) var expectsContinue = false
    private(set) var expectsOther = false

    /// Host and Expect mean something in requests only.
    private let isOfRequest: Bool

    init(ofRequest isOfRequest: Bool) {
        self.isOfRequest = isOfRequest
    }

    var isTransferCoded: Bool { isChunked || hasUnknownCoding }

    func keepsAlive(_ version: Version) -> Bool {
        !listsClose && (version == .http11 || listsKeepAlive)
    }

    /// Takes in a field if it is one of these, else does nothing.
    mutating func note(_ field: FieldLine, number: Int, in head: Span<UInt8>) throws(MessageFault) {
        switch field.name.count {
        case 4 where isOfRequest && head.equals("host", in: field.name): try noteHost(field.value, number, head)
        case 6 where isOfRequest && head.equals("expect", in: field.name): noteExpectation(field.value, head)
        case 10 where head.equals("connection", in: field.name): noteConnection(field.value, head)
        case 14 where head.equals("content-length", in: field.name): try noteLength(field.value, head)
        case 17 where head.equals("transfer-encoding", in: field.name): try noteCodings(field.value, head)
        default: break
        }
    }

    // RFC 9112 §3.2: more than one, or an invalid one, is answered with 400.
    private mutating func noteHost(_ value: Range<Int>, _ number: Int, _ head: Span<UInt8>) throws(MessageFault) {
        guard host == nil else { throw .malformed("the Host field is given twice") }
        guard Authority(parsing: value, of: head) != nil else {
            throw .malformed("the Host field is not a host name or address with at most a port")
        }
        host = number
    }

    // RFC 9110 §10.1.1, a list of which empty elements are passed over (§5.6.1.2).
    private mutating func noteExpectation(_ value: Range<Int>, _ head: Span<UInt8>) {
        var list: Range<Int>? = value
        while let expectation = head.cutElement(from: &list) {
            if head.equals("100-continue", in: expectation) {
                expectsContinue = true
            } else if !expectation.isEmpty {
                expectsOther = true
            }
        }
    }

    private mutating func noteConnection(_ value: Range<Int>, _ head: Span<UInt8>) {
        var list: Range<Int>? = value
        while let option = head.cutElement(from: &list) {
            if head.equals("close", in: option) { listsClose = true }
            if head.equals("keep-alive", in: option) { listsKeepAlive = true }
        }
    }

    // RFC 9110 §8.6 lets equal values pass. A message that repeats it, or lists it, is not worth the doubt.
    private mutating func noteLength(_ value: Range<Int>, _ head: Span<UInt8>) throws(MessageFault) {
        guard contentLength == nil else { throw .malformed("the Content-Length is given twice") }
        guard !value.isEmpty else { throw .malformed("the Content-Length is empty") }
        var length = 0
        for index in value {
            guard Octet.isDigit(head[index]) else { throw .malformed("the Content-Length is not digits only") }
            let (tens, overflows) = length.multipliedReportingOverflow(by: 10)
            let (sum, overflowsNow) = tens.addingReportingOverflow(Int(head[index] - Octet.zero))
            if overflows || overflowsNow { throw .malformed("the Content-Length is beyond all bounds") }
            length = sum
        }
        contentLength = length
    }

    // RFC 9112 §6.1. No coding that could be meant has parameters, and chunked must be the last and only once.
    private mutating func noteCodings(_ value: Range<Int>, _ head: Span<UInt8>) throws(MessageFault) {
        var list: Range<Int>? = value
        while let coding = head.cutElement(from: &list) {
            guard !coding.isEmpty, head.endOfRun(of: .token, in: coding) == coding.upperBound else {
                throw .malformed("the Transfer-Encoding is not a list of names")
            }
            guard !isChunked else { throw .malformed("chunked is not the last transfer coding") }
            if head.equals("chunked", in: coding) { isChunked = true } else { hasUnknownCoding = true }
        }
    }
}
