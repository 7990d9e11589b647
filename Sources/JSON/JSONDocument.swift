/// A whole JSON text (RFC 8259), parsed once: the bytes and an index over them.
///
/// ## Using it
/// 1. `JSONDocument(parsing:)` checks every byte, or throws where and why it could not. Nothing is half accepted.
/// 2. `root` is a cursor, `JSONValue`, which answers what lies there: `root["amount"]?.int64`. It copies nothing
///    until a `String` is asked for, and it keeps the document alive by itself.
/// 3. For input that people send, put a `JSONReader` over the root: it collects every fault with its JSON Pointer,
///    and unread members, instead of stopping at the first.
/// 4. `JSONWriter` writes the answer.
///
/// ## What is accepted
/// Exactly the grammar of RFC 8259, with the choices that the RFC leaves open made the strict way:
///
/// | | here | leave given by |
/// |---|---|---|
/// | two members of one object with the same name | refused, names compared after unescaping | §4 |
/// | white space, comments, trailing commas beyond the grammar | refused | §2 |
/// | a byte order mark, bytes behind the value | refused | §8.1, §2 |
/// | bytes that are no UTF-8 | refused | §8.1 |
/// | escapes that form half a surrogate pair, `\u0000` | refused, or U+FFFD by `JSONLimits` | §8.2, §9 |
/// | size, nesting, length of a number, size of its exponent | bounded by `JSONLimits` | §9 |
/// | any value at the top, not only an object or array | accepted | §2 |
///
/// Names and strings are compared by their bytes, never by Swift's `==`, for which the Kelvin sign (U+212A) equals "K".
///
/// ## What it costs
/// One pass over the bytes after a quick count of the punctuation, no recursion, and two allocations besides the
/// bytes: the index (16 bytes a value or name) and the object that holds both. Time and memory grow with the length of
/// the text and with nothing else: neither deep nesting, nor many members, nor names chosen to collide can make it
/// quadratic. Looking up a member walks its object: a loop over all names belongs on `members`, not on the subscript.
///
/// ## Threads
/// A document never changes: it and its values may be used from anywhere at once.
public struct JSONDocument: Sendable {
    private let storage: JSONStorage

    /// Checks a whole text and indexes it. The array is kept, not copied.
    ///
    /// Throws at the first byte that is wrong. A repeated name is noticed when its object ends.
    public init(parsing bytes: [UInt8], limits: JSONLimits = JSONLimits()) throws(JSONSyntaxError) {
        let text = bytes.span
        let bytesMax = max(0, min(limits.bytesMax, Int(Int32.max)))
        guard text.count <= bytesMax else { throw text.failure(.textTooLong, at: bytesMax) }
        guard !bytes.starts(with: [0xEF, 0xBB, 0xBF]) else { throw text.failure(.byteOrderMark, at: 0) }

        var entries: [JSONIndex.Entry] = []
        try entries.append(addingCapacity: JSONIndexer.entriesMax(text)) {
            (entries: inout JSONIndexer.Entries) throws(JSONSyntaxError) in
            var indexer = JSONIndexer(limits: limits)
            try indexer.index(bytes.span, into: &entries)
        }
        storage = JSONStorage(JSONIndex(bytes: bytes, entries: entries))
    }

    /// The value that the text consists of.
    public var root: JSONValue { JSONValue(storage: storage, position: 0) }
}
