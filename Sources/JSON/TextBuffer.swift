/// JSON text that grows at its end, item by item: values, and names with the colon behind them.
///
/// The array is longer than the text, so that a whole item goes into it with one check for room, and a string is
/// checked and copied in one go.
struct TextBuffer: Sendable {
    /// The text, and zeros behind it. Most answers fit without growth.
    private var storage = [UInt8](repeating: 0, count: 512)
    private var end = 0

    /// The text, as a copy.
    var bytes: [UInt8] { Array(storage[..<end]) }

    /// The text, without copying it; the buffer is empty from then on.
    mutating func takeBytes() -> [UInt8] {
        var taken: [UInt8] = []
        swap(&taken, &storage)
        taken.removeSubrange(end...)
        end = 0
        return taken
    }

    /// Appends an opening bracket or brace.
    mutating func open(_ bracket: UInt8) {
        makeRoom(2)
        putComma()
        put(bracket)
    }

    /// Appends a closing bracket or brace.
    mutating func close(_ bracket: UInt8) {
        makeRoom(1)
        put(bracket)
    }

    /// Appends a value that is JSON already.
    mutating func appendItem(_ json: some Collection<UInt8>) {
        makeRoom(json.count + 1)
        putComma()
        let newEnd = end + json.count
        storage.replaceSubrange(end..<newEnd, with: json)
        end = newEnd
    }

    mutating func appendItem(_ value: Int64) {
        var digits = InlineArray<20, UInt8>(repeating: UInt8(ascii: "0"))
        var start = digits.count
        var rest = value.magnitude
        repeat {
            start -= 1
            digits[start] += UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while rest > 0

        makeRoom(digits.count + 2)
        putComma()
        if value < 0 { put(UInt8(ascii: "-")) }
        for place in start..<digits.count { put(digits[place]) }
    }

    /// Appends a string, escaping what RFC 8259 §7 demands and nothing else.
    mutating func appendItem(quoted text: String, asName: Bool = false) {
        let utf8 = text.utf8.span
        makeRoom(utf8.count + 4)
        putComma()
        put(UInt8(ascii: "\""))
        var place = putPlain(utf8, from: 0)
        while place < utf8.count {
            // What follows may need as much room as before, and the escape six bytes.
            makeRoom(utf8.count - place + 8)
            putEscape(utf8[place])
            place = putPlain(utf8, from: place + 1)
        }
        put(UInt8(ascii: "\""))
        if asName { put(UInt8(ascii: ":")) }
    }
}

/// What is put needs room that was made before.
extension TextBuffer {
    @inline(__always)
    private mutating func makeRoom(_ count: Int) {
        if storage.count - end < count { grow(by: count) }
    }

    private mutating func grow(by count: Int) {
        storage.append(contentsOf: repeatElement(0, count: max(count, storage.count)))
    }

    @inline(__always)
    private mutating func put(_ byte: UInt8) {
        storage[end] = byte
        end += 1
    }

    /// Puts a comma when the next item comes behind another one.
    ///
    /// The last byte tells: an opening or a colon only ever stands there as such, since a string ends with its quote.
    @inline(__always)
    private mutating func putComma() {
        guard end > 0 else { return }
        switch storage[end - 1] {
        case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: ":"): break
        default: put(UInt8(ascii: ","))
        }
    }

    /// Puts a text as far as it needs no escape, and gives the place where it ended.
    @inline(__always)
    private mutating func putPlain(_ utf8: Span<UInt8>, from start: Int) -> Int {
        let targetStart = end
        var target = storage.mutableSpan
        let place = utf8.copyUnescaped(from: start, to: &target, at: targetStart)
        end = targetStart + place - start
        return place
    }

    private mutating func putEscape(_ byte: UInt8) {
        put(UInt8(ascii: "\\"))
        switch byte {
        case 0x22, 0x5C: put(byte)
        case 0x08: put(UInt8(ascii: "b"))
        case 0x09: put(UInt8(ascii: "t"))
        case 0x0A: put(UInt8(ascii: "n"))
        case 0x0C: put(UInt8(ascii: "f"))
        case 0x0D: put(UInt8(ascii: "r"))
        default:
            put(UInt8(ascii: "u"))
            put(UInt8(ascii: "0"))
            put(UInt8(ascii: "0"))
            put(hexDigit(byte >> 4))
            put(hexDigit(byte & 0x0F))
        }
    }

    private func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
