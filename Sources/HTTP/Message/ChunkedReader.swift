/// Takes a chunked body out of its chunks (RFC 9112 §7.1). Extensions and trailers are checked and dropped.
struct ChunkedReader: Sendable {
    private enum Part {
        case size
        case data(remaining: Int)
        case dataEnd
        case trailers
    }

    private var part = Part.size
    private var line = LineReader()
    private var overheadBytes = 0
    private var trailerBytes = 0
    private var trailerCount = 0

    /// Takes what there is from the front of the input. True behind the line that ends the trailers.
    mutating func read(
        from input: inout UnsafeRawBufferPointer, into body: inout [UInt8], limits: MessageLimits
    ) throws(MessageFault) -> Bool {
        while true {
            switch part {
            case .size:
                guard let size = try readSize(from: &input, bodyBytes: body.count, limits: limits) else { return false }
                part = size == 0 ? .trailers : .data(remaining: size)
            case .data(let remaining):
                let taken = min(remaining, input.count)
                body.append(contentsOf: input.cut(taken))
                part = taken == remaining ? .dataEnd : .data(remaining: remaining - taken)
                guard taken == remaining else { return false }
            case .dataEnd:
                guard try readDataEnd(from: &input) else { return false }
                part = .size
            case .trailers:
                guard let isLast = try readTrailer(from: &input, limits: limits) else { return false }
                if isLast { return true }
            }
        }
    }

    private mutating func readSize(
        from input: inout UnsafeRawBufferPointer, bodyBytes: Int, limits: MessageLimits
    ) throws(MessageFault) -> Int? {
        let read = try line.read(
            from: &input, bytesMax: limits.chunkOverheadBytesMax - overheadBytes,
            tooLong: MessageFault(.contentTooLarge, "the chunks' sizes and extensions are too many bytes")
        ) { (line) throws(MessageFault) in
            (head: try ChunkHead(parsing: line), bytes: line.count + 2)
        }
        guard let read else { return nil }
        overheadBytes += read.bytes
        guard read.head.size <= limits.bodyBytesMax - bodyBytes else {
            throw MessageFault(.contentTooLarge, "the body is too long")
        }
        return read.head.size
    }

    private mutating func readDataEnd(from input: inout UnsafeRawBufferPointer) throws(MessageFault) -> Bool {
        let misplaced = MessageFault.malformed("a chunk is not as long as its size says")
        // A line of two bytes is empty.
        return try line.read(from: &input, bytesMax: 2, tooLong: misplaced) { _ in } != nil
    }

    /// Reads one trailer; true when it was the empty line behind the last.
    private mutating func readTrailer(
        from input: inout UnsafeRawBufferPointer, limits: MessageLimits
    ) throws(MessageFault) -> Bool? {
        let count = trailerCount
        let read = try line.read(
            from: &input, bytesMax: max(2, limits.headerBytesMax - trailerBytes), tooLong: FieldSection.tooLong
        ) { (line) throws(MessageFault) in
            guard !line.isEmpty else { return 0 }
            guard count < limits.headerCountMax else { throw FieldSection.tooMany }
            _ = try FieldLine(parsing: 0..<line.count, of: line)
            return line.count + 2
        }
        guard let read else { return nil }
        trailerBytes += read
        trailerCount += 1
        return read == 0
    }
}
