/// The field lines of one header section, with what they say about the message itself.
struct FieldSection: Sendable {
    /// Where the fields lie in the message's head.
    private(set) var entries: [Headers.Entry] = []
    private(set) var facts: FieldFacts
    private var byteCount = 0

    init(ofRequest isOfRequest: Bool) {
        facts = FieldFacts(ofRequest: isOfRequest)
    }

    /// The bytes that the next line may have, its end included; the empty line at the end is free.
    func lineBytesMax(_ limits: MessageLimits) -> Int { max(2, limits.headerBytesMax - byteCount) }

    static var tooLong: MessageFault {
        MessageFault(.requestHeaderFieldsTooLarge, "the fields are too many bytes")
    }

    static var tooMany: MessageFault {
        MessageFault(.requestHeaderFieldsTooLarge, "the fields are too many")
    }

    /// Takes in one line without its end.
    mutating func add(
        _ line: Range<Int>, of head: Span<UInt8>, limits: MessageLimits
    ) throws(MessageFault) {
        guard entries.count < limits.headerCountMax else { throw FieldSection.tooMany }
        byteCount += line.count + 2
        let field = try FieldLine(parsing: line, of: head)
        try facts.note(field, number: entries.count, in: head)
        if entries.isEmpty { entries.reserveCapacity(16) }
        entries.append(Headers.Entry(name: field.name, value: field.value))
    }

    /// Lets the Host field say what an absolute-form says (RFC 9112 §3.2.2).
    mutating func setHost(to authority: Range<Int>) {
        guard let host = facts.host else { return }
        entries[host].setValue(to: authority)
    }
}
