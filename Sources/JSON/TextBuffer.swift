/// JSON text that grows at its end, item by item: values, and names with the colon behind them.
///
/// The array is longer than the text, so that a whole item goes into it with one check for room, and a string is
/// checked and copied in one go.
struct TextBuffer: Sendable {
    /// The text, and what does not matter behind it. Most answers fit without growth.
    private var storage: [UInt8] = []
    private var end = 0

    /// The first capacity: with the header of its array just under 1 KiB, up to which an allocation is cheapest.
    private static let firstCount = 960

    init() {
        storage.append(addingCapacity: Self.firstCount) { $0.append(repeating: 0, count: Self.firstCount) }
    }

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
        append(atMost: 2) { $0.put(bracket, at: $0.putComma(at: $1)) }
    }

    /// Appends a closing bracket or brace.
    mutating func close(_ bracket: UInt8) {
        append(atMost: 1) { $0.put(bracket, at: $1) }
    }

    /// Appends a value that is JSON already.
    mutating func appendItem(_ json: some Collection<UInt8>) {
        append(atMost: json.count + 1) { $0.putComma(at: $1) }
        let newEnd = end + json.count
        storage.replaceSubrange(end..<newEnd, with: json)
        end = newEnd
    }

    /// Appends `null`, `true` or `false`.
    mutating func appendItem(_ word: StaticString) {
        append(atMost: word.utf8CodeUnitCount + 1) { room, end in
            var place = room.putComma(at: end)
            for letter in 0..<word.utf8CodeUnitCount { place = room.put(word.utf8Start[letter], at: place) }
            return place
        }
    }

    mutating func appendItem(_ value: Int64) {
        append(atMost: 21) { room, end in
            let place = room.putComma(at: end)
            return room.put(value.magnitude, at: value < 0 ? room.put(UInt8(ascii: "-"), at: place) : place)
        }
    }

    /// Appends a string, escaping what RFC 8259 §7 demands and nothing else.
    mutating func appendItem(quoted text: String, asName: Bool = false) {
        let utf8 = text.utf8.span
        var copied = 0
        append(atMost: utf8.count + 4) { room, end in
            let start = room.put(UInt8(ascii: "\""), at: room.putComma(at: end))
            copied = utf8.copyUnescaped(from: 0, to: &room, at: start)
            let place = start + copied
            return copied == utf8.count ? room.putQuote(at: place, asName: asName) : place
        }
        if copied < utf8.count { appendEscaping(utf8, from: copied, asName: asName) }
    }

    /// Appends the rest of a string from its first byte that must be escaped.
    @inline(never)
    private mutating func appendEscaping(_ utf8: Span<UInt8>, from start: Int, asName: Bool) {
        var copied = start
        while copied < utf8.count {
            // What follows may need as much room as before, and the escape six bytes.
            append(atMost: utf8.count - copied + 6) { room, end in
                let place = room.putEscape(utf8[copied], at: end)
                let next = utf8.copyUnescaped(from: copied + 1, to: &room, at: place)
                defer { copied = next }
                return place + next - copied - 1
            }
        }
        append(atMost: 2) { $0.putQuote(at: $1, asName: asName) }
    }

    /// Makes room for some bytes and has them put behind the text; `body` gives the new end.
    @inline(__always)
    private mutating func append(atMost count: Int, _ body: (inout MutableSpan<UInt8>, Int) -> Int) {
        if storage.count - end < count { grow(by: count) }
        let start = end
        var room = storage.mutableSpan
        end = body(&room, start)
    }

    @inline(never)
    private mutating func grow(by count: Int) {
        let added = max(count, storage.count)
        storage.append(addingCapacity: added) { $0.append(repeating: 0, count: added) }
    }
}

/// The functions take the place at which they begin and give the one behind what they put. The room was made before.
extension MutableSpan<UInt8> {
    @inline(__always)
    fileprivate mutating func put(_ byte: UInt8, at place: Int) -> Int {
        self[place] = byte
        return place + 1
    }

    /// Puts a comma when the next item comes behind another one.
    ///
    /// The last byte tells: an opening or a colon only ever stands there as such, since a string ends with its quote.
    @inline(__always)
    fileprivate mutating func putComma(at place: Int) -> Int {
        guard place > 0 else { return place }
        switch self[place - 1] {
        case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: ":"): return place
        default: return put(UInt8(ascii: ","), at: place)
        }
    }

    /// Puts what ends a string, and behind a name the colon.
    @inline(__always)
    fileprivate mutating func putQuote(at start: Int, asName: Bool) -> Int {
        let place = put(UInt8(ascii: "\""), at: start)
        return asName ? put(UInt8(ascii: ":"), at: place) : place
    }

    /// Puts a number's decimal digits.
    fileprivate mutating func put(_ value: UInt64, at start: Int) -> Int {
        var (end, rest) = (start + 1, value / 10)
        while rest > 0 { (end, rest) = (end + 1, rest / 10) }
        rest = value
        for place in (start..<end).reversed() {
            self[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
        return end
    }

    fileprivate mutating func putEscape(_ byte: UInt8, at start: Int) -> Int {
        var place = put(UInt8(ascii: "\\"), at: start)
        switch byte {
        case 0x22, 0x5C: return put(byte, at: place)
        case 0x08: return put(UInt8(ascii: "b"), at: place)
        case 0x09: return put(UInt8(ascii: "t"), at: place)
        case 0x0A: return put(UInt8(ascii: "n"), at: place)
        case 0x0C: return put(UInt8(ascii: "f"), at: place)
        case 0x0D: return put(UInt8(ascii: "r"), at: place)
        default:
            place = put(UInt8(ascii: "u"), at: place)
            place = put(UInt8(ascii: "0"), at: place)
            place = put(UInt8(ascii: "0"), at: place)
            place = put(hexDigit(byte >> 4), at: place)
            return put(hexDigit(byte & 0x0F), at: place)
        }
    }

    private func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
