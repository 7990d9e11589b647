import HTTP

extension Sandbox {
    /// Answers one request as the server sends it, with what the fault does to the connection carried out.
    public func reply(to request: Request) async -> Reply {
        let answer = await respond(to: request)
        switch answer.delivery {
        case .whole:
            return .response(answer.response)
        case .drop:
            return .raw([])
        case .raw(let bytes):
            return .raw(bytes)
        case .truncated(let count):
            return .raw(Array(answer.message(to: request.method).prefix(count)))
        case .contentLength(let length):
            return .raw(answer.message(to: request.method, contentLength: length))
        case .slow(let bytesPerSecond):
            let bytes = answer.message(to: request.method)
            // This server sends an answer in one go, so the time that it would take passes before it. For a
            // caller with one deadline for the exchange it is the same. A cancelled wait is a wait that is over.
            try? await configuration.sleep(.seconds(bytes.count) / bytesPerSecond)
            return .raw(bytes)
        }
    }
}

extension SandboxAnswer {
    /// The bytes of the message, with a `content-length` of the caller's if given.
    func message(to method: HTTP.Method, contentLength: Int? = nil) -> [UInt8] {
        var bytes: [UInt8] = []
        MessageSerializer.append(response, answering: method, connection: .close, to: &bytes)
        guard let contentLength, let field = bytes.firstRange(of: Array("content-length: ".utf8)) else { return bytes }
        let rest = bytes[field.upperBound...].drop { (0x30...0x39).contains($0) }
        return bytes[..<field.upperBound] + Array(String(contentLength).utf8) + rest
    }
}
