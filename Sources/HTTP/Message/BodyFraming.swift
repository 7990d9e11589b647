/// How the end of a body is found (RFC 9112 §6.3).
enum BodyFraming: Equatable, Sendable {
    /// So many bytes, perhaps none.
    case length(Int)
    case chunked
    /// All bytes until the peer closes: responses only.
    case untilClose
}

extension FieldFacts {
    /// How the body is framed by Transfer-Encoding or Content-Length; nil when by neither.
    ///
    /// Every message that RFC 9112 §6.1 and §6.3 call doubtful is refused, also where they would let
    /// one of the fields win: a parser before this one may have let the other.
    func framing(_ version: Version, limits: MessageLimits) throws(MessageFault) -> BodyFraming? {
        if isTransferCoded {
            guard version == .http11 else { throw .malformed("HTTP/1.0 has no Transfer-Encoding") }
            guard contentLength == nil else {
                throw .malformed("both Transfer-Encoding and Content-Length are given")
            }
            // RFC 9112 §6.3, rule 4: its end cannot be found. With chunked behind it, it could be, and §6.1 says 501.
            guard isChunked else { throw .malformed("chunked is not the last transfer coding") }
            guard !hasUnknownCoding else {
                throw MessageFault(.notImplemented, "a transfer coding besides chunked is not known")
            }
            return .chunked
        }
        guard let contentLength else { return nil }
        guard contentLength <= limits.bodyBytesMax else { throw BodyReader.tooLong }
        return .length(contentLength)
    }
}
