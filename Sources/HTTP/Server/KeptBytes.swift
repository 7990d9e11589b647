/// Bytes that wait, and go from the front.
///
/// Half the size of an `ArraySlice`: every connection has one of these, and nearly all of them are empty.
struct KeptBytes {
    private var bytes: [UInt8] = []
    private var start: Int32 = 0

    init() {}

    /// Copies the bytes.
    init(_ bytes: some Collection<UInt8>) {
        self.bytes = Array(bytes)
    }

    /// Keeps the array itself, which others may keep too, without so many bytes at its front.
    init(sharing bytes: [UInt8], behind start: Int) {
        self.bytes = bytes
        self.start = Int32(start)
    }

    var count: Int { bytes.count - Int(start) }
    var isEmpty: Bool { bytes.count == Int(start) }
    /// The memory that they take; what went from the front is freed with the last of them.
    var bytesHeld: Int { bytes.count }

    /// Lets go of so many bytes at the front, and of the memory with the last of them.
    mutating func removeFirst(_ count: Int) {
        if count == self.count {
            self = KeptBytes()
        } else {
            start += Int32(count)
        }
    }

    func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try bytes.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[Int(start)...])) }
    }
}
