/// Where a path and a query stand in a message or a URL, their characters checked.
///
/// The parsers pass such places on instead of text: they cost nothing to copy, and text is made once,
/// when a message is whole.
struct TargetPlace: Sendable {
    let path: Range<Int>
    let query: Range<Int>?

    /// Whether neither a path nor a query is there.
    var isEmpty: Bool { path.isEmpty && query == nil }

    /// Reads `path-abempty [ "?" query ]` (RFC 3986 §3).
    init(parsing range: Range<Int>, of bytes: Span<UInt8>) throws(MessageFault) {
        let pathEnd = bytes.endOfEscapedRun(of: .path, in: range)
        path = range.lowerBound..<pathEnd
        guard pathEnd < range.upperBound else {
            query = nil
            return
        }
        guard bytes[pathEnd] == Octet.questionMark else {
            throw .malformed("the target's path holds a character that must be escaped, or a broken escape")
        }
        let query = pathEnd + 1..<range.upperBound
        guard bytes.endOfEscapedRun(of: .query, in: query) == query.upperBound else {
            throw .malformed("the target's query holds a character that must be escaped, or a broken escape")
        }
        self.query = query
    }

    /// The place of an asterisk (RFC 9112 §3.2.4).
    init(asterisk: Range<Int>) {
        path = asterisk
        query = nil
    }
}

extension Target {
    /// Takes the text from its place; an empty path is "/" (RFC 9110 §4.2.3).
    init(at place: TargetPlace, of bytes: Span<UInt8>) {
        self.init(
            checkedPath: place.path.isEmpty ? "/" : bytes.text(in: place.path),
            query: place.query.map { bytes.text(in: $0) }
        )
    }
}
