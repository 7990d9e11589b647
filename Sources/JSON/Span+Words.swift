/// Text read eight bytes at a time, every load checked against the bounds.
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
        // The last eight bytes begin so early that they are whole: some bytes are copied twice.
        while count &- start >= 8, place < count {
            place = Swift.min(place, count &- 8)
            let word = word(at: place)
            let marks = word.marksOfEscaped
            targetBytes.storeBytes(of: word.littleEndian, toByteOffset: place &+ shift, as: UInt64.self)
            if marks != 0 { return place &+ marks.trailingZeroBitCount / 8 }
            place &+= 8
        }
        if count &- start >= 4, place < count {
            let (first, last) = (half(at: place), half(at: count &- 4))
            if (UInt64(first) | UInt64(last) << 32).marksOfEscaped == 0 {
                targetBytes.storeBytes(of: first.littleEndian, toByteOffset: targetStart, as: UInt32.self)
                targetBytes.storeBytes(of: last.littleEndian, toByteOffset: count &- 4 &+ shift, as: UInt32.self)
                return count
            }
        }
        while place < count, !isEscaped(self[place]) {
            targetBytes.storeBytes(of: self[place], toByteOffset: place &+ shift, as: UInt8.self)
            place &+= 1
        }
        return place
    }

    /// Whether both hold the same bytes.
    @inline(__always)
    func isEqual(to other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        var place = 0
        // The last load begins so early that it is whole: some bytes are compared twice.
        while count >= 8, place < count {
            place = Swift.min(place, count &- 8)
            guard word(at: place) == other.word(at: place) else { return false }
            place &+= 8
        }
        if count >= 4, place < count {
            return half(at: 0) == other.half(at: 0) && half(at: count &- 4) == other.half(at: count &- 4)
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

    /// Four bytes, the first of them lowest.
    @inline(__always)
    private func half(at place: Int) -> UInt32 {
        bytes.unsafeLoadUnaligned(fromByteOffset: place, as: UInt32.self).littleEndian
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
