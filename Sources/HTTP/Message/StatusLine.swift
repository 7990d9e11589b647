/// `HTTP-version SP status-code SP [ reason-phrase ]` (RFC 9112 §4).
struct StatusLine: StartLine {
    let version: Version
    let status: Status

    static let isOfRequest = false
    static let emptyLinesMax = 0

    static func canBegin(with byte: UInt8) -> Bool { byte == UInt8(ascii: "H") }

    static var tooLong: MessageFault { MessageFault(.badGateway, "the status line is too long") }

    init(parsing line: Range<Int>, of head: Span<UInt8>) throws(MessageFault) {
        let versionEnd = line.lowerBound + Version.byteCount
        let codeEnd = versionEnd + 4
        guard codeEnd < line.upperBound, head[versionEnd] == Octet.space, head[codeEnd] == Octet.space else {
            throw .malformed("the status line is not a version, a code and a phrase with one space between")
        }
        version = try Version(parsing: line.lowerBound..<versionEnd, of: head)
        var code = 0
        for index in versionEnd + 1..<codeEnd {
            guard Octet.isDigit(head[index]) else { throw .malformed("the status code is not three digits") }
            code = code * 10 + Int(head[index] - Octet.zero)
        }
        guard let status = Status(parsed: code) else { throw .malformed("the status code is not 100 to 599") }
        guard !head.containsControl(in: codeEnd..<line.upperBound) else {
            throw .malformed("the reason phrase holds a control character")
        }
        self.status = status
    }
}
