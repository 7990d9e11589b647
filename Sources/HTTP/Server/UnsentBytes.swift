import Transport

/// What was answered on a connection and has not been taken by the network yet.
struct UnsentBytes {
    private var bytes: ArraySlice<UInt8> = []

    var isEmpty: Bool { bytes.isEmpty }

    /// Sends the bytes, behind those that wait already. What does not go now is kept, and the connection has to wait
    /// for what is returned; nothing is when all is out.
    mutating func send(_ answers: [UInt8], on stream: ByteStream) throws -> Interest? {
        guard isEmpty else {
            bytes.append(contentsOf: answers)
            return try flush(on: stream)
        }
        let (sent, interest) = try answers.withUnsafeBytes { try Self.write($0, on: stream) }
        // A copy of its own, no larger than it has to be: a client that does not read may let it lie for long.
        if sent < answers.count { bytes = ArraySlice(Array(answers[sent...])) }
        return interest
    }

    /// Sends what was kept, as far as it goes now.
    mutating func flush(on stream: ByteStream) throws -> Interest? {
        let (sent, interest) = try bytes.withUnsafeBytes { try Self.write($0, on: stream) }
        bytes = sent == bytes.count ? [] : bytes.dropFirst(sent)
        return interest
    }

    private static func write(
        _ bytes: UnsafeRawBufferPointer, on stream: ByteStream
    ) throws -> (sent: Int, interest: Interest?) {
        var sent = 0
        while sent < bytes.count {
            switch try stream.write(UnsafeRawBufferPointer(rebasing: bytes[sent...])) {
            case .moved(let count): sent += count
            case .blocked(let interest): return (sent, interest)
            case .ended: throw StreamError.tls("the client has closed")
            }
        }
        return (sent, nil)
    }
}
