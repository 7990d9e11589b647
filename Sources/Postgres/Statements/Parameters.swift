/// A statement's parameters as they travel: all their bytes in one array, and where each of them lies.
struct Parameters: Sendable {
    /// One parameter's place.
    struct Entry: Sendable {
        var type: PostgresType
        var format: PostgresFormat
        /// Where its bytes begin in `bytes`.
        var start: Int
        /// Without the NUL that ends a text; −1 for NULL.
        var length: Int
        /// Where its placeholder begins in the statement's text, so that fragments can be numbered anew.
        var textOffset: Int
    }

    private(set) var bytes: [UInt8] = []
    var entries: [Entry] = []
    /// A value in text format holds a NUL. libpq would silently cut it off there (it measures texts with `strlen`),
    /// so such a statement is never sent.
    private(set) var holdsNUL = false

    /// Why they cannot be sent.
    var fault: DatabaseError? {
        if holdsNUL { return .refused(StatementError(state: .characterNotInRepertoire)) }
        // The count travels in 16 bits.
        if entries.count > 65_535 { return .refused(StatementError(state: .tooManyArguments)) }
        return nil
    }

    /// Lends the arrays that libpq wants: values, lengths and formats.
    func withPointers<Result>(
        _ body: (
            Int32, UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?
        ) -> Result
    ) -> Result {
        let count = entries.count
        if count == 0 { return body(0, nil, nil, nil) }
        return bytes.withUnsafeBytes { bytes in
            withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: count) { values in
                withUnsafeTemporaryAllocation(of: Int32.self, capacity: 2 * count) { numbers in
                    for (index, entry) in entries.enumerated() {
                        values.initializeElement(at: index, to: Self.pointer(to: entry, in: bytes))
                        numbers.initializeElement(at: index, to: Int32(max(0, entry.length)))
                        numbers.initializeElement(at: count + index, to: entry.format.rawValue)
                    }
                    let lengths = UnsafePointer(numbers.baseAddress)
                    return body(Int32(count), UnsafePointer(values.baseAddress), lengths, lengths.map { $0 + count })
                }
            }
        }
    }

    /// NULL is a null pointer, so an empty value needs one that is not, even when there are no bytes at all.
    private static func pointer(to entry: Entry, in bytes: UnsafeRawBufferPointer) -> UnsafePointer<CChar>? {
        if entry.length < 0 { return nil }
        guard entry.length > 0 || entry.format == .text, let base = bytes.baseAddress else { return emptyValue }
        return (base + entry.start).assumingMemoryBound(to: CChar.self)
    }

    /// A lasting address of no bytes: a static string's text ends with a NUL.
    private static var emptyValue: UnsafePointer<CChar> {
        let nothing: StaticString = ""
        return UnsafeRawPointer(nothing.utf8Start).assumingMemoryBound(to: CChar.self)
    }

    /// The types alone.
    var withoutValues: Parameters {
        var types = Parameters()
        types.entries = entries
        return types
    }

    mutating func append<Value: PostgresValue>(_ value: Value, textOffset: Int) {
        let start = bytes.count
        // The array is lent to the encoder and taken back, so nothing is copied.
        var encoder = PostgresEncoder(bytes: bytes.takeAll())
        value.encode(into: &encoder)
        bytes = encoder.bytes
        finish(
            Entry(
                type: Value.postgresType, format: Value.postgresFormat, start: start,
                length: encoder.isNull ? -1 : bytes.count - start, textOffset: textOffset))
    }

    mutating func append(_ entry: Entry, of other: Parameters, textOffset: Int) {
        var copy = entry
        copy.start = bytes.count
        copy.textOffset = textOffset
        if entry.length > 0 { bytes += other.bytes[entry.start..<entry.start + entry.length] }
        finish(copy)
    }

    private mutating func finish(_ entry: Entry) {
        if entry.format == .text, entry.length >= 0 {
            if bytes[entry.start...].contains(0) { holdsNUL = true }
            bytes.append(0)
        }
        entries.append(entry)
    }
}

extension Array {
    /// Leaves an empty array behind and gives its storage away.
    fileprivate mutating func takeAll() -> [Element] {
        var taken: [Element] = []
        swap(&taken, &self)
        return taken
    }
}
