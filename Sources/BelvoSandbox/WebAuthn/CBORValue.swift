/// One data item of CBOR (RFC 8949), as far as WebAuthn needs it.
package enum CBORValue: Sendable, Equatable {
    case unsigned(UInt64)
    /// The encoded argument n of the number -1 - n.
    case negative(UInt64)
    case bytes([UInt8])
    case text(String)
    case array([CBORValue])
    case map([Pair])
    case bool(Bool)
    case null

    /// One key of a map with its value.
    package struct Pair: Sendable, Equatable {
        package let key: CBORValue
        package let value: CBORValue
    }

    /// The value of a map under a text key, compared by its bytes.
    subscript(key: String) -> CBORValue? {
        guard case .map(let pairs) = self else { return nil }
        return pairs.first { $0.key.textString?.utf8.elementsEqual(key.utf8) == true }?.value
    }

    /// The value of a map under a number, as COSE labels are.
    subscript(key: Int64) -> CBORValue? {
        self[key < 0 ? .negative(UInt64(-(key + 1))) : .unsigned(UInt64(key))]
    }

    private subscript(key: CBORValue) -> CBORValue? {
        guard case .map(let pairs) = self else { return nil }
        return pairs.first { $0.key == key }?.value
    }

    /// The number, where it fits.
    var int64: Int64? {
        switch self {
        case .unsigned(let number): Int64(exactly: number)
        case .negative(let argument): Int64(exactly: argument).map { -1 - $0 }
        default: nil
        }
    }

    var byteString: [UInt8]? {
        guard case .bytes(let bytes) = self else { return nil }
        return bytes
    }

    var textString: String? {
        guard case .text(let text) = self else { return nil }
        return text
    }
}
