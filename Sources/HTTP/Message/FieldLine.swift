/// `field-name ":" OWS field-value OWS` (RFC 9112 §5): one line of a header or trailer section.
struct FieldLine {
    let name: Range<Int>
    let value: Range<Int>

    /// Reads the line without its end.
    init(parsing line: Range<Int>, of bytes: Span<UInt8>) throws(MessageFault) {
        let nameEnd = bytes.endOfRun(of: .token, in: line)
        guard nameEnd > line.lowerBound, nameEnd < line.upperBound, bytes[nameEnd] == Octet.colon else {
            throw FieldLine.fault(at: nameEnd, in: line, of: bytes)
        }
        name = line.lowerBound..<nameEnd
        value = bytes.trimmed(nameEnd + 1..<line.upperBound)
        guard !bytes.containsControl(in: value) else {
            throw .malformed("a field value holds a control character")
        }
    }

    /// The fault of a line whose name does not end at a colon.
    private static func fault(at nameEnd: Int, in line: Range<Int>, of bytes: Span<UInt8>) -> MessageFault {
        guard nameEnd < line.upperBound else { return .malformed("a field line has no colon") }
        guard Octet.isBlank(bytes[nameEnd]) else { return .malformed("a field name is not a token") }
        return nameEnd == line.lowerBound
            // RFC 9112 §2.2 and §5.2: to unfold it is to disagree with a parser that does not.
            ? .malformed("a field line begins with white space")
            : .malformed("white space stands between a field name and its colon")
    }
}
