/// Text looked at eight bytes at a time, every load checked against the bounds.
extension Span<UInt8> {
    /// The first place, from `start` on, of a quote, a backslash, a control character or a byte past ASCII; or the end.
    @inline(__always)
    func endOfPlainASCII(from start: Int) -> Int {
        var place = start
        while place &+ 8 <= count {
            let word = word(at: place)
            let marks = word.marksOfEscaped | word & highBits
            if marks != 0 { return place &+ marks.trailingZeroBitCount / 8 }
            place &+= 8
        }
        while place < count, self[place] < 0x80, !isEscaped(self[place]) { place &+= 1 }
        return place
    }

    /// Copies the bytes from `start` on up to the first that a JSON string holds only escaped, and gives its place, or
    /// the end (RFC 8259 §7). There must be room for all.
    @inline(__always)
    func copyUnescaped(from start: Int, to target: inout MutableSpan<UInt8>, at targetStart: Int) -> Int {
        let shift = targetStart &- start
        var targetBytes = target.mutableBytes
        var place = start
        while place &+ 8 <= count {
            let word = word(at: place)
            guard word.marksOfEscaped == 0 else { break }
            targetBytes.storeBytes(of: word.littleEndian, toByteOffset: place &+ shift, as: UInt64.self)
            place &+= 8
        }
        while place < count {
            let byte = self[place]
            if isEscaped(byte) { break }
            targetBytes.storeBytes(of: byte, toByteOffset: place &+ shift, as: UInt8.self)
            place &+= 1
        }
        return place
    }

    /// Whether both hold the same bytes.
    @inline(__always)
    func isEqual(to other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        var place = 0
        while place &+ 8 <= count {
            guard word(at: place) == other.word(at: place) else { return false }
            place &+= 8
        }
        while place < count {
            guard self[place] == other[place] else { return false }
            place &+= 1
        }
        return true
    }

    @inline(__always)
    private func isEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    /// Eight bytes, the first of them lowest.
    @inline(__always)
    private func word(at place: Int) -> UInt64 {
        bytes.unsafeLoadUnaligned(fromByteOffset: place, as: UInt64.self).littleEndian
    }
}

private let highBits: UInt64 = 0x8080_8080_8080_8080

extension UInt64 {
    /// Marks, by their highest bits, the control characters, quotes and backslashes among eight bytes.
    ///
    /// The lowest mark is right. Those above it may be too many, since a subtraction borrows where it finds one.
    @inline(__always)
    fileprivate var marksOfEscaped: UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let controls = self &- ones &* 0x20
        let quotes = (self ^ ones &* 0x22) &- ones
        let backslashes = (self ^ ones &* 0x5C) &- ones
        return (controls | quotes | backslashes) & ~self & highBits
    }
}
