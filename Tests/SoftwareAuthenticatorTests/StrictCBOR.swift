/// A reader of CBOR for tests, written apart from the writer under test: it takes the canonical form of CTAP2 §6
/// and nothing else.
indirect enum StrictCBOR: Hashable {
    case integer(Int64)
    case bytes([UInt8])
    case text(String)
    case map([StrictCBOR: StrictCBOR])

    struct NotCanonical: Error {
        var reason: String
        init(_ reason: String) { self.reason = reason }
    }

    /// Reads one value that fills all the bytes.
    init(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        self = try StrictCBOR.read(&rest)
        guard rest.isEmpty else { throw NotCanonical("bytes behind the value") }
    }

    /// Reads one value off the front.
    static func read(_ rest: inout ArraySlice<UInt8>) throws -> StrictCBOR {
        guard let first = rest.popFirst() else { throw NotCanonical("nothing there") }
        let argument = try readArgument(first & 0x1F, &rest)
        switch first >> 5 {
        case 0: return .integer(Int64(argument))
        case 1: return .integer(-1 - Int64(argument))
        case 2: return .bytes(Array(try take(argument, &rest)))
        case 3:
            guard let text = String(validating: try take(argument, &rest), as: UTF8.self) else {
                throw NotCanonical("text that is not UTF-8")
            }
            return .text(text)
        case 5: return .map(try readPairs(argument, &rest))
        default: throw NotCanonical("a kind that WebAuthn has no use for")
        }
    }

    var bytes: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }
    var text: String? { if case .text(let text) = self { text } else { nil } }
    var map: [StrictCBOR: StrictCBOR]? { if case .map(let map) = self { map } else { nil } }

    private static func readPairs(_ count: Int, _ rest: inout ArraySlice<UInt8>) throws -> [StrictCBOR: StrictCBOR] {
        var map: [StrictCBOR: StrictCBOR] = [:]
        var previous: ArraySlice<UInt8> = []
        for _ in 0..<count {
            let start = rest
            let key = try read(&rest)
            let written = start[start.startIndex..<rest.startIndex]
            let isAfter =
                previous.count < written.count
                || previous.count == written.count && previous.lexicographicallyPrecedes(written)
            guard isAfter else { throw NotCanonical("keys out of order") }
            previous = written
            map[key] = try read(&rest)
        }
        return map
    }

    private static func readArgument(_ code: UInt8, _ rest: inout ArraySlice<UInt8>) throws -> Int {
        if code < 24 { return Int(code) }
        guard code <= 26 else { throw NotCanonical("a length that no answer needs") }
        let width = 1 << Int(code - 24)
        let argument = try take(width, &rest).reduce(0) { $0 << 8 | Int($1) }
        let leastForWidth = width == 1 ? 24 : 1 << (4 * width)
        guard argument >= leastForWidth else { throw NotCanonical("an argument in too many bytes") }
        return argument
    }

    private static func take(_ count: Int, _ rest: inout ArraySlice<UInt8>) throws -> ArraySlice<UInt8> {
        guard rest.count >= count else { throw NotCanonical("too few bytes") }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }
}
