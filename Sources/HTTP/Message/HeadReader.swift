/// Reads the head of a message, its start line and its fields, every line as soon as it is whole.
///
/// While the input holds all of a head, it is read where it lies and copied once at the end. What is
/// cut is held here, and every byte is read once, however small the pieces are.
struct HeadReader<Start: StartLine>: Sendable {
    /// The start line, once it has come. Its places are places in `bytes`, as the fields' are.
    private(set) var start: Start?
    private(set) var fields = FieldSection(ofRequest: Start.isOfRequest)
    /// The head as far as it has come; while it is read in place, nothing.
    private(set) var bytes: [UInt8] = []
    /// Where the unfinished line begins in these bytes.
    private var lineStart = 0
    private var emptyLines = 0

    var headers: Headers { Headers(storage: bytes, entries: fields.entries) }

    /// Whether anything of a message has come: empty lines before it are nothing.
    var hasBegun: Bool { start != nil || lineStart < bytes.count }

    /// Lets the Host field say what an absolute-form says (RFC 9112 §3.2.2).
    mutating func setHost(to authority: Range<Int>) { fields.setHost(to: authority) }

    /// Takes from the front of the input what belongs to the head; true when that is whole.
    mutating func read(
        from input: inout UnsafeRawBufferPointer, limits: MessageLimits
    ) throws(MessageFault) -> Bool {
        bytes.isEmpty
            ? try readInPlace(from: &input, limits: limits)
            : try readOn(from: &input, limits: limits)
    }

    private mutating func readInPlace(
        from input: inout UnsafeRawBufferPointer, limits: MessageLimits
    ) throws(MessageFault) -> Bool {
        let head = input.assumingMemoryBound(to: UInt8.self).span
        var cursor = 0
        var isWhole = false
        while !isWhole, let end = head.endOfLine(from: cursor) {
            isWhole = try take(cursor..<end, of: head, limits: limits)
            cursor = end
        }
        if !isWhole {
            try check(cursor..<head.count, missing: 1, of: head, limits: limits)
        }
        lineStart = cursor
        bytes = Array(input.cut(isWhole ? cursor : input.count))
        return isWhole
    }

    private mutating func readOn(
        from input: inout UnsafeRawBufferPointer, limits: MessageLimits
    ) throws(MessageFault) -> Bool {
        while true {
            let end = input.assumingMemoryBound(to: UInt8.self).span.endOfLine(from: 0)
            bytes.append(contentsOf: input.cut(end ?? input.count))
            // Not a copy but a second reference, gone before the bytes grow again.
            let head = bytes
            let line = lineStart..<head.count
            guard end != nil else {
                try check(line, missing: 1, of: head.span, limits: limits)
                return false
            }
            lineStart = head.count
            if try take(line, of: head.span, limits: limits) { return true }
        }
    }

    /// Takes in a line with its end; true when it was the empty line that ends the head.
    private mutating func take(
        _ line: Range<Int>, of head: Span<UInt8>, limits: MessageLimits
    ) throws(MessageFault) -> Bool {
        try check(line, missing: 0, of: head, limits: limits)
        let content = try head.content(ofLine: line)
        if start != nil {
            if content.isEmpty { return true }
            try fields.add(content, of: head, limits: limits)
        } else if content.isEmpty {
            emptyLines += 1
            guard emptyLines <= Start.emptyLinesMax else { throw .malformed("the message begins with empty lines") }
        } else {
            start = try Start(parsing: content, of: head)
        }
        return false
    }

    /// The verdicts on a line of which some bytes are missing, its line feed being one of them.
    ///
    /// They come first for a whole line too, so that how a message was cut changes no answer.
    private func check(
        _ line: Range<Int>, missing: Int, of head: Span<UInt8>, limits: MessageLimits
    ) throws(MessageFault) {
        guard start == nil else {
            guard line.count + missing <= fields.lineBytesMax(limits) else { throw FieldSection.tooLong }
            return
        }
        if let first = line.first, !Start.canBegin(with: head[first]) {
            throw .malformed("no message begins like this")
        }
        guard line.count + missing <= limits.startLineBytesMax + 2 else { throw Start.tooLong }
    }
}
