import FoundationEssentials

extension UUID {
    /// Reads 8-4-4-4-12 hexadecimal digits and nothing else.
    ///
    /// Foundation's own initializer is not used because what else it accepts is not written down.
    init?(canonicalText text: String) {
        guard text.utf8.count == 36 else { return nil }
        var high: UInt64 = 0
        var low: UInt64 = 0
        for (index, byte) in text.utf8.enumerated() {
            if UUID.hyphens.contains(index) {
                guard byte == UInt8(ascii: "-") else { return nil }
            } else {
                guard let value = UUID.value(ofHexDigit: byte) else { return nil }
                high = high << 4 | low >> 60
                low = low << 4 | value
            }
        }
        self.init(high: high, low: low)
    }

    /// 8-4-4-4-12 hexadecimal digits in lower case.
    var canonicalText: String {
        let digits = StaticString("0123456789abcdef")
        return withUnsafeBytes(of: uuid) { bytes in
            String(unsafeUninitializedCapacity: 36) { text in
                var place = 0
                for byte in bytes {
                    if UUID.hyphens.contains(place) {
                        text[place] = UInt8(ascii: "-")
                        place += 1
                    }
                    text[place] = digits.utf8Start[Int(byte >> 4)]
                    text[place + 1] = digits.utf8Start[Int(byte & 0xF)]
                    place += 2
                }
                return place
            }
        }
    }

    /// The identity with these 128 bits, most significant first.
    init(high: UInt64, low: UInt64) {
        var bytes: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        withUnsafeMutableBytes(of: &bytes) {
            $0.storeBytes(of: high.bigEndian, toByteOffset: 0, as: UInt64.self)
            $0.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
        }
        self.init(uuid: bytes)
    }

    /// Where the hyphens stand among the 36 characters.
    private static let hyphens: [Int] = [8, 13, 18, 23]

    private static func value(ofHexDigit byte: UInt8) -> UInt64? {
        if ASCII.isDigit(byte) { return UInt64(byte - ASCII.zero) }
        let letter = ASCII.uppercased(byte)
        guard (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(letter) else { return nil }
        return UInt64(letter - UInt8(ascii: "A") + 10)
    }
}
