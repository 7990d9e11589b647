import Transport

/// The id that a request is known by, in answers, logs and the history.
package enum RequestID {
    /// A new one: 128 random bits as 32 hexadecimal digits, so that two of them do not show how many requests came
    /// between.
    package static func made() -> String {
        let (high, low) = random.pair()
        return String(unsafeUninitializedCapacity: 32) { digits in
            let digits = UnsafeMutableRawBufferPointer(digits)
            for place in 0..<4 {
                let half = (place < 2 ? high : low) >> UInt64(place % 2 == 0 ? 32 : 0) & 0xFFFF_FFFF
                digits.storeBytes(of: hexadecimal(half).bigEndian, toByteOffset: place * 8, as: UInt64.self)
            }
            return 32
        }
    }

    /// The eight digits of 32 bits as eight bytes, all of them at once.
    private static func hexadecimal(_ bits: UInt64) -> UInt64 {
        var nibbles = (bits | bits << 16) & 0x0000_FFFF_0000_FFFF
        nibbles = (nibbles | nibbles << 8) & 0x00FF_00FF_00FF_00FF
        nibbles = (nibbles | nibbles << 4) & 0x0F0F_0F0F_0F0F_0F0F
        // 6 more than a digit's value carries into the high half from 10 on: a letter, which stands 39 behind.
        let letters = (nibbles + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return nibbles + 0x3030_3030_3030_3030 + letters * 39
    }

    private static let random = RandomWords()
}
