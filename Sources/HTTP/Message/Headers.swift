/// The fields of a message in the order in which they stand.
///
/// All names and values lie in one buffer with an index beside it, because a request's fields are read
/// a few at a time and thrown away together: two allocations serve any number of fields.
public struct Headers: Sendable, CustomStringConvertible {
    private var storage: [UInt8]
    private var entries: [Entry]
    /// Whether the storage is the entries' lines and nothing else, as they are sent.
    private let isMadeOfLines: Bool

    /// Where one field lies in the storage. Half the width of `Int`: an entry is 16 bytes.
    struct Entry: Sendable {
        fileprivate var name: Range<Int32>
        fileprivate var value: Range<Int32>

        init(name: Range<Int>, value: Range<Int>) {
            self.name = Int32(name.lowerBound)..<Int32(name.upperBound)
            self.value = Int32(value.lowerBound)..<Int32(value.upperBound)
        }

        mutating func setValue(to range: Range<Int>) {
            value = Int32(range.lowerBound)..<Int32(range.upperBound)
        }
    }

    public init() {
        storage = []
        entries = []
        isMadeOfLines = true
    }

    public init(_ fields: KeyValuePairs<HeaderName, String>) {
        self.init()
        for (name, value) in fields { append(name, value) }
    }

    /// Takes over a header section that the parser has checked.
    init(storage: [UInt8], entries: [Entry]) {
        self.storage = storage
        self.entries = entries
        isMadeOfLines = false
    }

    public var count: Int { entries.count }
    public var isEmpty: Bool { entries.isEmpty }

    /// No field: credentials may be among them.
    public var description: String { "‹redacted›" }

    /// Adds a field behind those of the same name.
    ///
    /// The value must hold no control character: a value from outside goes through
    /// `isValidValue(_:)` first, and anything else is our own mistake.
    public mutating func append(_ name: HeaderName, _ value: String) {
        precondition(
            !value.utf8.span.containsControl(in: 0..<value.utf8.count), "a field value holds no control character")
        if entries.isEmpty {
            storage.reserveCapacity(128)
            entries.reserveCapacity(4)
        }
        let (name, value) = (name.lowercased.utf8.span, value.utf8.span)
        let nameStart = storage.count
        let valueStart = nameStart + name.count + 2
        storage.append(addingCapacity: name.count + value.count + 4) { line in
            line.append(name)
            line.append(": ")
            line.append(value)
            line.append("\r\n")
        }
        entries.append(
            Entry(name: nameStart..<nameStart + name.count, value: valueStart..<valueStart + value.count))
    }

    /// Whether a value may be sent: no control character but a tab (RFC 9110 §5.5).
    public static func isValidValue(_ value: some StringProtocol) -> Bool {
        value.utf8.allSatisfy { !Octet.isControl($0) }
    }

    /// The value of the first field of that name; bytes that are no UTF-8 are replaced.
    public subscript(name: HeaderName) -> String? {
        firstValue(name).map { storage.span.text(in: $0) }
    }

    /// The values of all fields of that name, in order.
    public func values(_ name: HeaderName) -> [String] {
        var values: [String] = []
        forEachValue(name) { values.append(storage.span.text(in: $0)) }
        return values
    }

    /// Whether there is a field of that name.
    public func contains(_ name: HeaderName) -> Bool {
        firstValue(name) != nil
    }

    /// Every field as it stands, name spelled as it came.
    public func forEach(_ body: (_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) -> Void) {
        for entry in entries { body(storage[entry.name.asInts], storage[entry.value.asInts]) }
    }

    /// Whether a comma-separated list field holds the token, without regard to case (RFC 9110 §5.6.1).
    public func lists(_ name: HeaderName, token: StaticString) -> Bool {
        let bytes = storage.span
        let wanted = HeaderName(stringLiteral: token).lowercased
        var isListed = false
        forEachValue(name) { value in
            var list: Range<Int>? = value
            while let element = bytes.cutElement(from: &list) {
                if bytes.equals(wanted.utf8.span, in: element) { isListed = true }
            }
        }
        return isListed
    }

    /// The greatest number of bytes that the fields take when they are written.
    var lineBytesMax: Int { storage.count + 4 * entries.count }

    /// Writes every field as a line, without those that are to be left out by their name.
    func write(
        to output: inout OutputSpan<UInt8>, leavingOut isLeftOut: (_ name: Range<Int>, _ of: Span<UInt8>) -> Bool
    ) {
        let bytes = storage.span
        if isMadeOfLines, !entries.contains(where: { isLeftOut($0.name.asInts, bytes) }) {
            output.append(bytes)
            return
        }
        for entry in entries where !isLeftOut(entry.name.asInts, bytes) {
            output.append(bytes.extracting(entry.name.asInts))
            output.append(": ")
            output.append(bytes.extracting(entry.value.asInts))
            output.append("\r\n")
        }
    }

    private func firstValue(_ name: HeaderName) -> Range<Int>? {
        let bytes = storage.span
        let wanted = name.lowercased.utf8.span
        for entry in entries where entry.name.count == wanted.count {
            if bytes.equals(wanted, in: entry.name.asInts) { return entry.value.asInts }
        }
        return nil
    }

    private func forEachValue(_ name: HeaderName, _ body: (Range<Int>) -> Void) {
        let bytes = storage.span
        let wanted = name.lowercased.utf8.span
        for entry in entries where bytes.equals(wanted, in: entry.name.asInts) { body(entry.value.asInts) }
    }
}

extension Range<Int32> {
    /// The same range as arrays want it.
    fileprivate var asInts: Range<Int> { Int(lowerBound)..<Int(upperBound) }
}

extension Headers: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral fields: (HeaderName, String)...) {
        self.init()
        for (name, value) in fields { append(name, value) }
    }
}
