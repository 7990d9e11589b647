import CLinux
import Synchronization

/// Random words for names that must not be guessed, drawn from the kernel for several names at once.
///
/// Wraps `getrandom`. A call for each name would cost every request a system call.
public final class RandomWords: Sendable {
    /// For up to 256 bytes the call gives all of them, and no signal interrupts it.
    private static let wordsAtOnce = 32

    private let drawn = Mutex([UInt64]())

    public init() {}

    /// 128 random bits.
    public func pair() -> (UInt64, UInt64) {
        drawn.withLock { words in
            if words.isEmpty { words = Self.draw() }
            return (words.removeLast(), words.removeLast())
        }
    }

    private static func draw() -> [UInt64] {
        [UInt64](unsafeUninitializedCapacity: wordsAtOnce) { room, count in
            let bytes = UnsafeMutableRawBufferPointer(room)
            precondition(getrandom(bytes.baseAddress, bytes.count, 0) == bytes.count, "the kernel has random bytes")
            count = wordsAtOnce
        }
    }
}
