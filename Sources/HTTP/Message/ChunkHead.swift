/// `chunk-size [ chunk-ext ]` (RFC 9112 §7.1).
struct ChunkHead {
    /// The bytes of data in the chunk; `Int.max` also for what is more.
    let size: Int

    /// Reads a line without its end.
    init(parsing line: Span<UInt8>) throws(MessageFault) {
        var size = 0
        var index = 0
        while index < line.count, let digit = Octet.hexValue(line[index]) {
            // Saturates: a size past all bounds must not wrap round into a small one.
            size = size > Int.max >> 4 ? Int.max : size << 4 | Int(digit)
            index += 1
        }
        guard index > 0 else { throw .malformed("a chunk size is not hexadecimal digits") }
        guard ChunkHead.areExtensions(index..<line.count, of: line) else {
            throw .malformed("a chunk size is followed by what is no chunk extension")
        }
        self.size = size
    }

    /// `*( BWS ";" BWS chunk-ext-name [ BWS "=" BWS chunk-ext-val ] )` (RFC 9112 §7.1.1).
    private static func areExtensions(_ range: Range<Int>, of line: Span<UInt8>) -> Bool {
        var rest = range
        while !rest.isEmpty {
            rest = line.skippingBlanks(rest)
            guard let semicolon = rest.first, line[semicolon] == Octet.semicolon else { return false }
            rest = line.skippingBlanks(rest.dropFirst())
            let nameEnd = line.endOfRun(of: .token, in: rest)
            guard nameEnd > rest.lowerBound else { return false }
            rest = nameEnd..<rest.upperBound
            let behind = line.skippingBlanks(rest)
            guard let equals = behind.first, line[equals] == Octet.equals else { continue }
            rest = line.skippingBlanks(behind.dropFirst())
            let valueEnd = line.endOfQuotedString(in: rest) ?? line.endOfRun(of: .token, in: rest)
            guard valueEnd > rest.lowerBound else { return false }
            rest = valueEnd..<rest.upperBound
        }
        return true
    }
}

extension Span<UInt8> {
    /// The range without the white space it begins with.
    fileprivate func skippingBlanks(_ range: Range<Int>) -> Range<Int> {
        var start = range.lowerBound
        while start < range.upperBound, Octet.isBlank(self[start]) { start += 1 }
        return start..<range.upperBound
    }

    /// The end of the `quoted-string` that begins the range, if one does (RFC 9110 §5.6.4).
    fileprivate func endOfQuotedString(in range: Range<Int>) -> Int? {
        guard let first = range.first, self[first] == Octet.quote else { return nil }
        var index = first + 1
        while index < range.upperBound, !Octet.isControl(self[index]) {
            if self[index] == Octet.quote { return index + 1 }
            if self[index] == Octet.backslash {
                index += 1
                guard index < range.upperBound, !Octet.isControl(self[index]) else { return nil }
            }
            index += 1
        }
        return nil
    }
}
