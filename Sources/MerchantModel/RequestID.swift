import Synchronization

/// The id that a request is known by, in answers, logs and the history.
package enum RequestID {
    /// A new one, different from all others as a random one would be, and as opaque.
    ///
    /// Counted and not drawn, because every request has one and drawing would cost each a system call. The count is
    /// hashed under secret keys (SipHash): two ids do not show how many came between.
    package static func made() -> String {
        let number = count.wrappingAdd(1, ordering: .relaxed).newValue
        let words = (hash(number, under: keys.0), hash(number, under: keys.1))
        return String(unsafeUninitializedCapacity: 32) { bytes in
            for place in 0..<16 {
                bytes[place] = hexadecimal[Int(words.0 >> UInt64(60 - 4 * place) & 0xF)]
                bytes[16 + place] = hexadecimal[Int(words.1 >> UInt64(60 - 4 * place) & 0xF)]
            }
            return 32
        }
    }

    private static func hash(_ number: UInt64, under key: SIMD2<UInt64>) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(key)
        hasher.combine(number)
        return UInt64(truncatingIfNeeded: Int64(hasher.finalize()))
    }

    /// 128 bits each, drawn once; the hasher's own seed may be fixed by the environment.
    private static let keys = (
        SIMD2<UInt64>.random(in: .min ... .max), SIMD2<UInt64>.random(in: .min ... .max)
    )
    private static let count = Atomic<UInt64>(0)
    private static let hexadecimal = Array("0123456789abcdef".utf8)
}
