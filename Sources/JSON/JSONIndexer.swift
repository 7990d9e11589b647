/// Reads a text once, front to back, checks it, and notes where each value lies (RFC 8259 §2).
///
/// Nothing here recurses: open containers are linked through their own entries, so that nesting costs neither stack
/// nor a second list. The functions take the place at which they begin and give the one behind what they read.
struct JSONIndexer {
    typealias Entries = OutputSpan<JSONIndex.Entry>

    let limits: JSONLimits

    /// The innermost open container's entry.
    private var container: Int?
    /// Whether that is an object.
    private var isInObject = false
    private var depth = 0

    init(limits: JSONLimits) {
        self.limits = limits
    }

    /// The most entries that a text can need: one for the root, and one behind each of its openings, colons and commas.
    ///
    /// Never too few, since an entry is only noted at the root's beginning or behind one of these bytes. Counted
    /// beforehand, so that one allocation has the right size and nothing grows: faster by a sixth, counting included.
    static func entriesMax(_ text: Span<UInt8>) -> Int {
        var total = 1
        var start = 0
        // In pieces whose counts fit a byte, and without branches: so the compiler counts sixteen bytes at once.
        while start < text.count {
            let piece = text.extracting(start..<min(start + 128, text.count))
            var count: UInt8 = 0
            for place in piece.indices {
                let byte = piece[place]
                let opening: UInt8 = byte | 0x20 == UInt8(ascii: "{") ? 1 : 0
                let colon: UInt8 = byte == UInt8(ascii: ":") ? 1 : 0
                let comma: UInt8 = byte == UInt8(ascii: ",") ? 1 : 0
                count &+= opening | colon | comma
            }
            total += Int(count)
            start += piece.count
        }
        return total
    }

    /// Indexes a text, which is one value with white space around it.
    mutating func index(_ text: Span<UInt8>, into entries: inout Entries) throws(JSONSyntaxError) {
        var place = text.endOfWhiteSpace(from: 0)
        repeat {
            // A value begins here, in an object behind its name.
            if isInObject { place = try indexName(text, at: place, into: &entries) }
            switch text.byte(at: place) {
            case UInt8(ascii: "\""):
                place = try indexString(text, at: place, into: &entries)
            case UInt8(ascii: "{"):
                place = try open(.object, text, at: place, into: &entries)
                if text.byte(at: place) != UInt8(ascii: "}") { continue }
            case UInt8(ascii: "["):
                place = try open(.array, text, at: place, into: &entries)
                if text.byte(at: place) != UInt8(ascii: "]") { continue }
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                place = try indexNumber(text, at: place, into: &entries)
            case UInt8(ascii: "t"):
                place = entries.append(.bool, place, try text.endOfWord("true", from: place))
            case UInt8(ascii: "f"):
                place = entries.append(.bool, place, try text.endOfWord("false", from: place))
            case UInt8(ascii: "n"):
                place = entries.append(.null, place, try text.endOfWord("null", from: place))
            default:
                throw text.unexpected(.valueExpected, at: place)
            }
            // A value has ended here. Containers may end with it.
            while let container {
                place = text.endOfWhiteSpace(from: place)
                let byte = text.byte(at: place)
                if byte == UInt8(ascii: ",") {
                    place = text.endOfWhiteSpace(from: place + 1)
                    break
                }
                guard byte == (isInObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                    throw text.unexpected(isInObject ? .commaOrBraceExpected : .commaOrBracketExpected, at: place)
                }
                place += 1
                try close(container, text, at: place, in: &entries)
            }
        } while container != nil

        place = text.endOfWhiteSpace(from: place)
        guard place == text.count else { throw text.failure(.trailingBytes, at: place) }
    }
}

extension JSONIndexer {
    /// Reads a member's name and the colon behind it, up to the value.
    @inline(__always)
    private func indexName(
        _ text: Span<UInt8>,
        at start: Int,
        into entries: inout Entries
    ) throws(JSONSyntaxError) -> Int {
        guard text.byte(at: start) == UInt8(ascii: "\"") else { throw text.unexpected(.nameExpected, at: start) }
        let colon = text.endOfWhiteSpace(from: try indexString(text, at: start, into: &entries))
        guard text.byte(at: colon) == UInt8(ascii: ":") else { throw text.unexpected(.colonExpected, at: colon) }
        return text.endOfWhiteSpace(from: colon + 1)
    }

    private func indexNumber(
        _ text: Span<UInt8>,
        at start: Int,
        into entries: inout Entries
    ) throws(JSONSyntaxError) -> Int {
        let end = try text.endOfNumber(from: start)
        guard end - start <= limits.numberBytesMax else { throw text.failure(.numberTooLong, at: start) }
        return entries.append(.number, start, end)
    }

    @inline(__always)
    private func indexString(
        _ text: Span<UInt8>,
        at start: Int,
        into entries: inout Entries
    ) throws(JSONSyntaxError) -> Int {
        let (end, hasEscapes) = try text.endOfString(from: start, replaces: limits.replacesWhatIsNoText)
        return entries.append(.string, start, end, hasEscapes: hasEscapes)
    }
}

extension JSONIndexer {
    /// Notes the opening of a container and gives the place of its first content.
    private mutating func open(
        _ kind: JSONValue.Kind,
        _ text: Span<UInt8>,
        at start: Int,
        into entries: inout Entries
    ) throws(JSONSyntaxError) -> Int {
        guard depth < limits.depthMax else { throw text.failure(.nestedTooDeep, at: start) }
        depth += 1
        let opened = entries.count
        entries.append(kind, start, start)
        entries[opened].next = container.map { UInt32(truncatingIfNeeded: $0) } ?? .max
        container = opened
        isInObject = kind == .object
        return text.endOfWhiteSpace(from: start + 1)
    }

    private mutating func close(
        _ closed: Int,
        _ text: Span<UInt8>,
        at end: Int,
        in entries: inout Entries
    ) throws(JSONSyntaxError) {
        if isInObject, let repeated = text.repeatedName(inObjectAt: closed, of: entries.span) {
            throw text.failure(.repeatedName, at: Int(entries[repeated].start))
        }
        container = entries[closed].next == .max ? nil : Int(entries[closed].next)
        isInObject = container.map { entries[$0].kind == .object } ?? false
        depth -= 1
        entries[closed].end = UInt32(truncatingIfNeeded: end)
        entries[closed].next = UInt32(truncatingIfNeeded: entries.count)
    }
}

extension OutputSpan<JSONIndex.Entry> {
    /// Notes a value that has no entries below it, as yet, and gives its end. Offsets fit, since longer texts are
    /// refused.
    @inline(__always) @discardableResult
    fileprivate mutating func append(
        _ kind: JSONValue.Kind,
        _ start: Int,
        _ end: Int,
        hasEscapes: Bool = false
    ) -> Int {
        append(
            JSONIndex.Entry(
                start: UInt32(truncatingIfNeeded: start),
                end: UInt32(truncatingIfNeeded: end),
                next: UInt32(truncatingIfNeeded: count + 1),
                kind: kind,
                hasEscapes: hasEscapes
            )
        )
        return end
    }
}
