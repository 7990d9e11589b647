/// An http or https URL with its authority, in a request line (`absolute-form`, RFC 9112 §3.2.2) or in text.
struct AbsoluteForm {
    let scheme: URL.Scheme
    let authority: Authority
    let target: TargetPlace

    init(parsing range: Range<Int>, of bytes: Span<UInt8>) throws(MessageFault) {
        let authorityStart: Int
        if bytes.equals("https://", in: range.prefix(8)) {
            (scheme, authorityStart) = (.https, range.lowerBound + 8)
        } else if bytes.equals("http://", in: range.prefix(7)) {
            (scheme, authorityStart) = (.http, range.lowerBound + 7)
        } else {
            throw .malformed("the target is neither a path nor an http or https URL")
        }
        var authorityEnd = authorityStart
        while authorityEnd < range.upperBound, bytes[authorityEnd] != Octet.slash,
            bytes[authorityEnd] != Octet.questionMark
        {
            authorityEnd += 1
        }
        guard let authority = Authority(parsing: authorityStart..<authorityEnd, of: bytes) else {
            throw .malformed("the target's host is not a host name or address, or holds more than a port besides")
        }
        self.authority = authority
        target = try TargetPlace(parsing: authorityEnd..<range.upperBound, of: bytes)
    }
}
