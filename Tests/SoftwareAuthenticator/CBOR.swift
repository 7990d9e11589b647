/// A value to be written as CBOR (RFC 8949), of the few kinds that WebAuthn needs.
enum CBOR {
    case integer(Int64)
    case bytes([UInt8])
    case text(String)
    /// Pairs in the order in which they are written: the caller keeps to the canonical order of CTAP2 §6, shorter
    /// keys first.
    case map(KeyValuePairs<CBOR, CBOR>)

    var encoded: [UInt8] {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return bytes
    }

    private func append(to output: inout [UInt8]) {
        switch self {
        case .integer(let value):
            // A negative number n is written as −1 − n, which in two's complement is its inverse.
            CBOR.appendHead(value < 0 ? 1 : 0, UInt64(value < 0 ? ~value : value), to: &output)
        case .bytes(let bytes):
            CBOR.appendHead(2, UInt64(bytes.count), to: &output)
            output += bytes
        case .text(let text):
            CBOR.appendHead(3, UInt64(text.utf8.count), to: &output)
            output += text.utf8
        case .map(let pairs):
            CBOR.appendHead(5, UInt64(pairs.count), to: &output)
            for (key, value) in pairs {
                key.append(to: &output)
                value.append(to: &output)
            }
        }
    }

    /// The major type and its argument in the fewest bytes (RFC 8949 §3 and §4.2.1).
    private static func appendHead(_ majorType: UInt8, _ argument: UInt64, to output: inout [UInt8]) {
        let (code, width): (UInt8, Int) =
            switch argument {
            case ..<24: (UInt8(argument), 0)
            case ..<0x100: (24, 1)
            case ..<0x1_0000: (25, 2)
            case ..<0x1_0000_0000: (26, 4)
            default: (27, 8)
            }
        output.append(majorType << 5 | code)
        output += argument.bigEndianBytes.suffix(width)
    }
}

extension FixedWidthInteger {
    /// Most significant byte first.
    var bigEndianBytes: [UInt8] {
        withUnsafeBytes(of: bigEndian) { Array($0) }
    }
}
