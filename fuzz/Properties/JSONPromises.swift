import JSON

/// What the parser of JSON promises about any bytes.
enum JSONPromises {
    static func check(_ bytes: [UInt8]) throws(BrokenPromise) {
        for limits in [JSONLimits(), .tight] {
            switch read(bytes, limits) {
            case .success(let value): try check(value, limits: limits, of: bytes)
            case .failure(let fault): try check(fault, limits: limits, of: bytes)
            }
        }
    }

    private static func check(
        _ fault: JSONSyntaxError, limits: JSONLimits, of bytes: [UInt8]
    ) throws(BrokenPromise) {
        try promise("a fault lies in the text: \(fault.offset)", (0...bytes.count).contains(fault.offset))
        let before = bytes[..<fault.offset]
        let line = 1 + before.count { $0 == UInt8(ascii: "\n") }
        try promise("a fault's line is counted in line feeds: \(fault)", fault.line == line)
        let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        let column = 1 + before[start...].count { $0 & 0xC0 != 0x80 }
        try promise("a fault's column is counted in characters: \(fault)", fault.column == column)
        guard fault.reason != .textTooLong, case .failure(let earlier) = read(Array(before), limits) else { return }
        // A number's length is checked behind it, its exponent's within.
        let isWithinNumber = fault.reason == .exponentTooLarge && earlier.reason == .numberTooLong
        let isWell = earlier.reason == .unexpectedEnd || isWithinNumber
        try promise("nothing is wrong before a fault but its end: \(fault) \(earlier)", isWell)
    }

    private static func check(
        _ value: JSONValue, limits: JSONLimits, of bytes: [UInt8]
    ) throws(BrokenPromise) {
        try promise("a value's bytes are all but the white space", bytes.trimmed == Array(value.raw))
        try promise("a text is UTF-8", String(validating: bytes, as: UTF8.self) != nil)
        try promise("a value is the same without the white space", parse(Array(value.raw), limits) == value)
        var nothing = JSONWriter()
        nothing.elementRaw(value.raw)
        try promise("a value is the same when it was passed on", parse(nothing.bytes, limits) == value)
        try checkRewritten(value, limits)
        try checkCanonical(value)
        try checkShortened(value, limits)
        try checkParts(of: value)
    }

    /// Written anew, member by member, it is the same value.
    private static func checkRewritten(_ value: JSONValue, _ limits: JSONLimits) throws(BrokenPromise) {
        var writer = JSONWriter()
        write(value, to: &writer)
        var wide = limits
        // Control characters that stood as short escapes may need long ones.
        wide.bytesMax *= 8
        let again = parse(writer.bytes, wide)
        try promise(
            "a value is read as it was written", again == value && again?.canonicalBytes() == value.canonicalBytes())
    }

    private static func checkCanonical(_ value: JSONValue) throws(BrokenPromise) {
        let canonical = value.canonicalBytes()
        var wide = JSONLimits()
        wide.bytesMax *= 8
        wide.numberBytesMax *= 8
        switch read(canonical, wide) {
        case .success(let again):
            try promise("a canonical text means the same", again == value)
            try promise("a canonical text is its own", again.canonicalBytes() == canonical)
        case .failure(let fault):
            // A row of zeros becomes an exponent, and that may have more digits than one from outside.
            try promise("a canonical text is JSON: \(fault)", fault.reason == .exponentTooLarge)
        }
    }

    /// A text that ends too early is none; only numbers may be cut into numbers.
    private static func checkShortened(_ value: JSONValue, _ limits: JSONLimits) throws(BrokenPromise) {
        guard value.kind != .number else { return }
        let raw = Array(value.raw)
        for count in Cuts.places(in: raw.count) + [0, raw.count - 1] {
            try promise("\(count) of a value's bytes are none", parse(Array(raw[..<count]), limits) == nil)
        }
    }

    private static func checkParts(of value: JSONValue) throws(BrokenPromise) {
        var rest = [value]
        while let next = rest.popLast() {
            switch next.kind {
            case .array: rest += next.elements
            case .object:
                for (name, member) in next.members {
                    let found = next[name]
                    try promise("a member is found by its name", found.map { $0.raw == member.raw } ?? false)
                    rest.append(member)
                }
            case .number:
                guard let number = next.int64 else { continue }
                let isZero = number == 0
                try promise("an integer is what it was written as", isZero || "\(number)" == next.numberText)
            case .string, .bool, .null: continue
            }
        }
    }

    private static func read(_ bytes: [UInt8], _ limits: JSONLimits) -> Result<JSONValue, JSONSyntaxError> {
        do throws(JSONSyntaxError) {
            return .success(try JSONDocument(parsing: bytes, limits: limits).root)
        } catch {
            return .failure(error)
        }
    }

    private static func parse(_ bytes: [UInt8], _ limits: JSONLimits) -> JSONValue? {
        // The caller needs to know only whether it is one.
        try? read(bytes, limits).get()
    }

    private static func write(_ value: JSONValue, to writer: inout JSONWriter) {
        switch value.kind {
        case .object:
            writer.object { for (name, member) in value.members { write(member, as: name, to: &$0) } }
        case .array: writer.array { for element in value.elements { write(element, to: &$0) } }
        case .string: writer.element(value.string)
        case .bool: writer.element(value.bool == true)
        case .null: writer.element(nil)
        case .number: writer.elementRaw(value.raw)
        }
    }

    private static func write(_ value: JSONValue, as name: String, to writer: inout JSONWriter) {
        switch value.kind {
        case .object:
            writer.memberObject(name) { for (name, member) in value.members { write(member, as: name, to: &$0) } }
        case .array: writer.memberArray(name) { for element in value.elements { write(element, to: &$0) } }
        case .string: writer.member(name, value.string)
        case .bool: writer.member(name, value.bool == true)
        case .null: writer.memberNull(name)
        case .number: writer.memberRaw(name, value.raw)
        }
    }
}

extension JSONLimits {
    /// So narrow that short texts meet every one of them.
    fileprivate static let tight: JSONLimits = {
        var limits = JSONLimits()
        limits.depthMax = 3
        limits.bytesMax = 64
        limits.numberBytesMax = 8
        limits.replacesWhatIsNoText = true
        return limits
    }()
}

extension [UInt8] {
    /// Without the white space around it (RFC 8259 §2).
    fileprivate var trimmed: [UInt8] {
        let blanks = Array(" \t\r\n".utf8)
        var rest = self[...]
        while let first = rest.first, blanks.contains(first) { rest = rest.dropFirst() }
        while let last = rest.last, blanks.contains(last) { rest = rest.dropLast() }
        return Array(rest)
    }
}
