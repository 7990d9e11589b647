import FoundationEssentials

extension UUID {
    /// Reads the 36 characters of RFC 9562 §4, either case, and nothing else.
    ///
    /// `UUID(uuidString:)` has `sscanf` read a C string: it is slow, and takes whatever stands behind a NUL.
    init?(hyphenated text: some StringProtocol) {
        guard text.utf8.count == 36 else { return nil }
        var digits: UInt128 = 0
        for (place, byte) in text.utf8.enumerated() {
            if UUID.isHyphen(place) {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digits = digits << 4 | UInt128(byte - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digits = digits << 4 | UInt128(byte - UInt8(ascii: "a") + 10)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digits = digits << 4 | UInt128(byte - UInt8(ascii: "A") + 10)
            default: return nil
            }
        }
        self.init(uuid: withUnsafeBytes(of: digits.bigEndian) { $0.loadUnaligned(as: uuid_t.self) })
    }

    /// The 36 characters of RFC 9562 §4 in lower case.
    var lowercased: String {
        var digits = withUnsafeBytes(of: uuid) { UInt128(bigEndian: $0.loadUnaligned(as: UInt128.self)) }
        return String(unsafeUninitializedCapacity: 36) { text in
            for place in (0..<36).reversed() {
                guard !UUID.isHyphen(place) else {
                    text[place] = UInt8(ascii: "-")
                    continue
                }
                let digit = UInt8(truncatingIfNeeded: digits) & 15
                text[place] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
                digits >>= 4
            }
            return 36
        }
    }

    private static func isHyphen(_ place: Int) -> Bool { place == 8 || place == 13 || place == 18 || place == 23 }
}
