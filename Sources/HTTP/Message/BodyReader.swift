/// Collects a message's body, decoded.
struct BodyReader: Sendable {
    let framing: BodyFraming
    private(set) var bytes: [UInt8] = []
    private var chunks = ChunkedReader()

    init(framing: BodyFraming) {
        self.framing = framing
    }

    /// Takes what there is from the front of the input; true when the body is whole.
    mutating func read(
        from input: inout UnsafeRawBufferPointer, limits: MessageLimits
    ) throws(MessageFault) -> Bool {
        switch framing {
        case .length(let length):
            if bytes.isEmpty { bytes.reserveCapacity(length) }
            bytes.append(contentsOf: input.cut(min(length - bytes.count, input.count)))
            return bytes.count == length
        case .chunked:
            return try chunks.read(from: &input, into: &bytes, limits: limits)
        case .untilClose:
            guard input.count <= limits.bodyBytesMax - bytes.count else { throw BodyReader.tooLong }
            bytes.append(contentsOf: input.cut(input.count))
            return false
        }
    }

    static var tooLong: MessageFault { MessageFault(.contentTooLarge, "the body is too long") }
}
