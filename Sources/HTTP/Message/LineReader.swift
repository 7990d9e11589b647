/// Reads one line after another out of a stream that may cut them anywhere: those of a chunked body.
struct LineReader: Sendable {
    private var held: [UInt8] = []

    /// Gives the next line without its end to `body`; nil when there must be more.
    ///
    /// Throws `tooLong` when the line and its end take more than `bytesMax`.
    mutating func read<Result>(
        from input: inout UnsafeRawBufferPointer, bytesMax: Int, tooLong: @autoclosure () -> MessageFault,
        _ body: (Span<UInt8>) throws(MessageFault) -> Result
    ) throws(MessageFault) -> Result? {
        let bytes = input.assumingMemoryBound(to: UInt8.self).span
        guard let end = bytes.endOfLine(from: 0) else {
            guard held.count + input.count + 1 <= bytesMax else { throw tooLong() }
            held.append(contentsOf: input.cut(input.count))
            return nil
        }
        guard held.count + end <= bytesMax else { throw tooLong() }
        let piece = input.cut(end)
        guard !held.isEmpty else {
            return try body(bytes.extracting(try bytes.content(ofLine: 0..<end)))
        }
        held.append(contentsOf: piece)
        defer { held.removeAll(keepingCapacity: true) }
        let line = held.span
        return try body(line.extracting(try line.content(ofLine: 0..<line.count)))
    }
}
