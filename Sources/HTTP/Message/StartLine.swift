/// The first line of a message: a request line or a status line (RFC 9112 §2.1).
protocol StartLine: Sendable {
    static var isOfRequest: Bool { get }

    /// The empty lines that may stand before it (RFC 9112 §2.2).
    static var emptyLinesMax: Int { get }

    /// Whether a message can begin with the byte. A peer that speaks another protocol is refused at
    /// its first byte: it may never send what ends a line.
    static func canBegin(with byte: UInt8) -> Bool

    /// The fault of a line that is too long.
    static var tooLong: MessageFault { get }

    var version: Version { get }

    /// Reads the line without its end. `head` holds all of the message so far.
    init(parsing line: Range<Int>, of head: Span<UInt8>) throws(MessageFault)
}
