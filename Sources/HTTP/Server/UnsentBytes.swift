import Transport

/// The answers of a connection that the network has not taken yet.
struct UnsentBytes {
    private var pieces: [KeptBytes] = []

    var isEmpty: Bool { pieces.isEmpty }

    var count: Int { pieces.reduce(0) { $0 + $1.count } }

    /// Sends the answers and a body behind them, which is perhaps none; all of it behind what waits already. What does
    /// not go now is kept, and the connection has to wait for what is returned; nothing is when all is out.
    ///
    /// The answers are copied, the body is not: many connections may wait with the same one.
    mutating func send(_ answers: [UInt8], then body: [UInt8], on stream: ByteStream) throws -> Interest? {
        guard isEmpty else {
            pieces.append(KeptBytes(answers))
            if !body.isEmpty { pieces.append(KeptBytes(sharing: body, behind: 0)) }
            return try flush(on: stream)
        }
        let (sent, interest) = try answers.withUnsafeBytes { try Self.write($0, on: stream) }
        guard interest == nil else {
            // A copy of its own, no larger than it has to be: a client that does not read may let it lie for long.
            pieces.append(KeptBytes(answers[sent...]))
            if !body.isEmpty { pieces.append(KeptBytes(sharing: body, behind: 0)) }
            return interest
        }
        let (sentOfBody, interestBehind) = try body.withUnsafeBytes { try Self.write($0, on: stream) }
        if interestBehind != nil { pieces.append(KeptBytes(sharing: body, behind: sentOfBody)) }
        return interestBehind
    }

    /// Sends what was kept, as far as it goes now.
    mutating func flush(on stream: ByteStream) throws -> Interest? {
        while !pieces.isEmpty {
            let (sent, interest) = try pieces[0].withUnsafeBytes { try Self.write($0, on: stream) }
            if interest != nil {
                pieces[0].removeFirst(sent)
                return interest
            }
            pieces.removeFirst()
        }
        pieces = []
        return nil
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
