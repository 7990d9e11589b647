import BelvoSandbox

/// What the reader of CBOR promises about any bytes.
enum CBORPromises {
    static func check(_ bytes: [UInt8]) throws(BrokenPromise) {
        // What is refused says why; there is nothing more to promise about it.
        guard let value = try? CBORReader.readWhole(bytes) else { return }
        // Only the shortest form is read, so an item has one spelling.
        try promise("an item is read as it was written", encode(value) == bytes)
        for count in Cuts.places(in: bytes.count) + [0, bytes.count - 1] {
            try promise("\(count) of an item's bytes are cut short", fault(bytes[..<count]) == .truncated)
        }
        try checkKeys(of: value)
        try promise("bytes behind an item are refused", fault(bytes + [0]) == .trailingBytes)
        try promise("an item within one more array is no deeper than allowed", isBounded([0x81] + bytes))
    }

    private static func checkKeys(of value: CBORValue) throws(BrokenPromise) {
        switch value {
        case .array(let elements):
            for element in elements { try checkKeys(of: element) }
        case .map(let pairs):
            try promise("no key comes twice", Set(pairs.map { encode($0.key) }).count == pairs.count)
            for pair in pairs {
                try checkKeys(of: pair.key)
                try checkKeys(of: pair.value)
            }
        case .unsigned, .negative, .bytes, .text, .bool, .null: break
        }
    }

    private static func fault(_ bytes: some Sequence<UInt8>) -> CBORFault? {
        do throws(CBORFault) {
            _ = try CBORReader.readWhole(Array(bytes))
            return nil
        } catch {
            return error
        }
    }

    private static func isBounded(_ bytes: [UInt8]) -> Bool {
        let fault = fault(bytes)
        return fault == nil || fault == .tooDeep
    }

    private static func encode(_ value: CBORValue) -> [UInt8] {
        switch value {
        case .unsigned(let number): head(0, number)
        case .negative(let argument): head(1, argument)
        case .bytes(let bytes): head(2, UInt64(bytes.count)) + bytes
        case .text(let text): head(3, UInt64(text.utf8.count)) + Array(text.utf8)
        case .array(let elements): head(4, UInt64(elements.count)) + elements.flatMap(encode)
        case .map(let pairs): head(5, UInt64(pairs.count)) + pairs.flatMap { encode($0.key) + encode($0.value) }
        case .bool(let bool): [bool ? 0xF5 : 0xF4]
        case .null: [0xF6]
        }
    }

    /// A major type with the shortest form of its argument (RFC 8949 §3).
    private static func head(_ major: UInt8, _ argument: UInt64) -> [UInt8] {
        let type = major << 5
        guard argument >= 24 else { return [type | UInt8(argument)] }
        let width = argument <= 0xFF ? 0 : argument <= 0xFFFF ? 1 : argument <= 0xFFFF_FFFF ? 2 : 3
        let count = 1 << width
        return [type | UInt8(24 + width)]
            + (0..<count).map { UInt8(truncatingIfNeeded: argument >> UInt64(8 * (count - 1 - $0))) }
    }
}
