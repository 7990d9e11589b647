/// The protocol versions that differ in what they allow; a later 1.x is read as 1.1 (RFC 9110 §2.5).
enum Version: Sendable {
    case http10
    case http11

    /// The bytes that a version takes.
    static let byteCount = 8

    /// Reads `HTTP/x.y` (RFC 9112 §2.3). Throws 505 for a major version that is not ours.
    init(parsing range: Range<Int>, of bytes: Span<UInt8>) throws(MessageFault) {
        let major = range.lowerBound + 5
        guard range.count == Version.byteCount, bytes.spells("HTTP/", in: range.lowerBound..<major),
            Octet.isDigit(bytes[major]), bytes[major + 1] == Octet.dot, Octet.isDigit(bytes[major + 2])
        else { throw .malformed("the protocol version is not spelled as HTTP/1.1 is") }
        guard bytes[major] == Octet.zero + 1 else {
            throw MessageFault(.httpVersionNotSupported, "the protocol version is not HTTP/1.x")
        }
        self = bytes[major + 2] == Octet.zero ? .http10 : .http11
    }
}
