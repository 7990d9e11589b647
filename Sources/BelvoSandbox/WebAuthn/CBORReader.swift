/// Reads CBOR strictly and within bounds.
///
/// Only what CTAP2's canonical form allows and an attestation uses (CTAP 2.1 §8): definite lengths,
/// shortest arguments, no tags, no floating point, no key twice. The order of keys is not checked, since
/// authenticators are known to differ there. Hostile input costs at most its own length: no length is
/// believed before the bytes are there, and nesting ends at `depthMax`.
package struct CBORReader {
    /// Arrays and maps within one another.
    static let depthMax = 8

    private let bytes: ArraySlice<UInt8>
    private var position: Int

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    /// The one item that the bytes are; throws for an item with bytes behind it.
    package static func readWhole(_ bytes: [UInt8]) throws(CBORFault) -> CBORValue {
        var reader = CBORReader(bytes[...])
        let value = try reader.readItem()
        guard reader.rest.isEmpty else { throw .trailingBytes }
        return value
    }

    /// The bytes that were not read yet.
    var rest: ArraySlice<UInt8> { bytes[position...] }

    /// The next item.
    mutating func readItem() throws(CBORFault) -> CBORValue { try readItem(depth: 0) }

    private mutating func readItem(depth: Int) throws(CBORFault) -> CBORValue {
        let first = try readByte()
        let information = first & 0x1F
        switch first >> 5 {
        case 0: return .unsigned(try readArgument(information))
        case 1: return .negative(try readArgument(information))
        case 2: return .bytes(Array(try readBytes(try readArgument(information))))
        case 3: return .text(try readText(try readArgument(information)))
        case 4: return .array(try readElements(try readArgument(information), depth: depth + 1))
        case 5: return .map(try readPairs(try readArgument(information), depth: depth + 1))
        case 7: return try simple(information)
        default: throw .unsupported
        }
    }

    private mutating func readElements(_ count: UInt64, depth: Int) throws(CBORFault) -> [CBORValue] {
        guard depth <= CBORReader.depthMax else { throw .tooDeep }
        // Every element takes a byte at least, so a count past the rest is a lie.
        guard count <= UInt64(rest.count) else { throw .truncated }
        var elements: [CBORValue] = []
        for _ in 0..<count { elements.append(try readItem(depth: depth)) }
        return elements
    }

    private mutating func readPairs(_ count: UInt64, depth: Int) throws(CBORFault) -> [CBORValue.Pair] {
        guard depth <= CBORReader.depthMax else { throw .tooDeep }
        guard count <= UInt64(rest.count / 2) else { throw .truncated }
        // Looking for a key twice is quadratic, so the count has its own bound.
        guard count <= 64 else { throw .tooManyPairs }
        var pairs: [CBORValue.Pair] = []
        var keys: [ArraySlice<UInt8>] = []
        for _ in 0..<count {
            let start = position
            let key = try readItem(depth: depth)
            // By their bytes, since every item has one spelling here: for Swift's `==` the Kelvin sign is a K.
            guard !keys.contains(bytes[start..<position]) else { throw .duplicateKey }
            keys.append(bytes[start..<position])
            pairs.append(CBORValue.Pair(key: key, value: try readItem(depth: depth)))
        }
        return pairs
    }

    private mutating func readText(_ count: UInt64) throws(CBORFault) -> String {
        guard let text = String(validating: try readBytes(count), as: UTF8.self) else { throw .invalidText }
        return text
    }

    private func simple(_ information: UInt8) throws(CBORFault) -> CBORValue {
        switch information {
        case 20: .bool(false)
        case 21: .bool(true)
        case 22: .null
        default: throw .unsupported
        }
    }

    /// The argument of a head, in its shortest form (RFC 8949 §4.2.1).
    private mutating func readArgument(_ information: UInt8) throws(CBORFault) -> UInt64 {
        guard information >= 24 else { return UInt64(information) }
        guard information <= 27 else { throw .unsupported }
        let width = 1 << (information - 24)
        let number = try readBytes(UInt64(width)).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let smallest: UInt64 = width == 1 ? 24 : 1 << UInt64(width * 4)
        guard number >= smallest else { throw .notShortest }
        return number
    }

    private mutating func readByte() throws(CBORFault) -> UInt8 {
        guard let byte = rest.first else { throw .truncated }
        position += 1
        return byte
    }

    private mutating func readBytes(_ count: UInt64) throws(CBORFault) -> ArraySlice<UInt8> {
        guard count <= UInt64(rest.count) else { throw .truncated }
        let taken = rest.prefix(Int(count))
        position += Int(count)
        return taken
    }
}

/// Why bytes are not the CBOR that is read here.
package enum CBORFault: Error, Equatable, Sendable {
    case truncated
    case trailingBytes
    case tooDeep
    case tooManyPairs
    case duplicateKey
    case invalidText
    case notShortest
    /// A tag, a float, an indefinite length, or a reserved value.
    case unsupported
}
