/// How messages are written: into room that was made once for a whole message, every write checked.
extension OutputSpan<UInt8> {
    /// Appends text of our own source.
    mutating func append(_ text: StaticString) {
        append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func append(string: String) {
        append(string.utf8.span)
    }

    mutating func append(_ bytes: [UInt8]) {
        bytes.withUnsafeBufferPointer { append($0) }
    }

    mutating func append(_ bytes: Span<UInt8>) {
        bytes.withUnsafeBufferPointer { append($0) }
    }

    /// Appends a number that is not negative.
    mutating func append(decimal number: Int) {
        if number >= 10 { append(decimal: number / 10) }
        append(Octet.zero + UInt8(number % 10))
    }

    private mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        precondition(bytes.count <= freeCapacity, "the room for a message was reckoned too small")
        withUnsafeMutableBufferPointer { room, count in
            UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: room[count...]))
                .copyMemory(from: UnsafeRawBufferPointer(bytes))
            count += bytes.count
        }
    }
}
