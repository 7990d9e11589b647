import Glibc

/// How the parsers read bytes: by ranges of a span, whose every access is checked.
extension Span<UInt8> {
    /// The end of the line that begins at `start`, behind its line feed; nil when it has none yet.
    func endOfLine(from start: Int) -> Int? {
        extracting(start...).withUnsafeBytes { line in
            guard let first = line.baseAddress, let found = memchr(first, Int32(Octet.lineFeed), line.count) else {
                return nil
            }
            return start + (UnsafeRawPointer(found) - first) + 1
        }
    }

    /// A line, which ends with a line feed, without its end.
    func content(ofLine line: Range<Int>) throws(MessageFault) -> Range<Int> {
        // RFC 9112 §2.2 lets a bare LF pass; two parsers that differ on it see two messages.
        guard line.count >= 2, self[line.upperBound - 2] == Octet.carriageReturn else {
            throw .malformed("a line ends without a carriage return")
        }
        return line.lowerBound..<line.upperBound - 2
    }

    /// Where the characters of the set end that begin the range.
    func endOfRun(of set: ASCIISet, in range: Range<Int>) -> Int {
        extracting(range).withUnsafeBufferPointer { bytes in
            var offset = 0
            while offset < bytes.count, set.contains(bytes[offset]) { offset += 1 }
            return range.lowerBound + offset
        }
    }

    /// Like `endOfRun(of:in:)`; percent-encoded octets belong to the run (RFC 3986 §2.1).
    func endOfEscapedRun(of set: ASCIISet, in range: Range<Int>) -> Int {
        var index = endOfRun(of: set, in: range)
        while range.upperBound - index >= 3, self[index] == Octet.percent,
            Octet.hexValue(self[index + 1]) != nil, Octet.hexValue(self[index + 2]) != nil
        {
            index = endOfRun(of: set, in: index + 3..<range.upperBound)
        }
        return index
    }

    /// The first place of the byte in the range.
    func firstIndex(of byte: UInt8, in range: Range<Int>) -> Int? {
        extracting(range).withUnsafeBufferPointer { $0.firstIndex(of: byte).map { range.lowerBound + $0 } }
    }

    /// The range without the optional white space around it (RFC 9110 §5.6.3).
    func trimmed(_ range: Range<Int>) -> Range<Int> {
        var start = range.lowerBound
        var end = range.upperBound
        while start < end, Octet.isBlank(self[start]) { start += 1 }
        while start < end, Octet.isBlank(self[end - 1]) { end -= 1 }
        return start..<end
    }

    /// Cuts the next element off a comma-separated list, without the white space around it (RFC 9110 §5.6.1).
    ///
    /// The list becomes nil with its last element. An element may be empty.
    func cutElement(from list: inout Range<Int>?) -> Range<Int>? {
        guard let whole = list else { return nil }
        guard let comma = firstIndex(of: Octet.comma, in: whole) else {
            list = nil
            return trimmed(whole)
        }
        list = comma + 1..<whole.upperBound
        return trimmed(whole.lowerBound..<comma)
    }

    /// Whether the range spells the text, with case.
    func spells(_ text: StaticString, in range: Range<Int>) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        var offset = 0
        while offset < range.count {
            guard self[range.lowerBound + offset] == text.utf8Start[offset] else { return false }
            offset += 1
        }
        return true
    }

    /// Whether the range spells the text, which is in lower case, in either case.
    func equals(_ lowercased: StaticString, in range: Range<Int>) -> Bool {
        let text = UnsafeBufferPointer(start: lowercased.utf8Start, count: lowercased.utf8CodeUnitCount)
        return equals(text.span, in: range)
    }

    /// Whether the range spells the other bytes, which are in lower case, in either case.
    func equals(_ lowercased: Span<UInt8>, in range: Range<Int>) -> Bool {
        guard range.count == lowercased.count else { return false }
        return extracting(range).withUnsafeBufferPointer { bytes in
            lowercased.withUnsafeBufferPointer { wanted in
                var offset = 0
                while offset < bytes.count, Octet.lowercased(bytes[offset]) == wanted[offset] { offset += 1 }
                return offset == bytes.count
            }
        }
    }

    /// Whether the range holds a control character that no field value may hold.
    func containsControl(in range: Range<Int>) -> Bool {
        let bytes = self.bytes
        var index = range.lowerBound
        while range.upperBound - index >= 8 {
            let eight = bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
            // Eight bytes at once: the high bit of a byte of `suspects` is set where it is below 0x20 or
            // 0x7F (and perhaps behind such a one). A tab is among them, so the bytes decide.
            let low = (eight &- 0x2020_2020_2020_2020) & ~eight
            let delete = eight ^ 0x7F7F_7F7F_7F7F_7F7F
            let suspects = (low | ((delete &- 0x0101_0101_0101_0101) & ~delete)) & 0x8080_8080_8080_8080
            if suspects != 0 {
                for suspect in index..<index + 8 where Octet.isControl(self[suspect]) { return true }
            }
            index += 8
        }
        while index < range.upperBound {
            if Octet.isControl(self[index]) { return true }
            index += 1
        }
        return false
    }

    /// All the bytes as text, in lower case as far as they are ASCII.
    var lowercasedText: String {
        String(unsafeUninitializedCapacity: count) { text in
            for index in indices { text.initializeElement(at: index, to: Octet.lowercased(self[index])) }
            return count
        }
    }

    /// The bytes of the range as text; what is no UTF-8 is replaced.
    func text(in range: Range<Int>) -> String {
        extracting(range).withUnsafeBufferPointer { bytes in
            String(unsafeUninitializedCapacity: bytes.count) { $0.initialize(fromContentsOf: bytes) }
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Cuts the first bytes off.
    mutating func cut(_ count: Int) -> UnsafeRawBufferPointer {
        let first = UnsafeRawBufferPointer(rebasing: self[..<count])
        self = UnsafeRawBufferPointer(rebasing: self[count...])
        return first
    }
}
