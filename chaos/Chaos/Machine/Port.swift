import Glibc
import Transport

/// TCP ports of 127.0.0.1.
enum Port {
    /// One on which no process listens now, below the range from which the kernel takes ports for outgoing connections:
    /// what is killed has to get its port back.
    static func free() throws -> UInt16 {
        for _ in 0..<100 {
            let port = UInt16.random(in: 20_000..<30_000)
            guard let address = SocketAddress(numericHost: "127.0.0.1", port: port) else { continue }
            // Given back at once; that another process takes it meanwhile is unlikely, and is noticed.
            if (try? Listener(at: address)) != nil { return port }
        }
        throw CommandFailed(description: "no free port on 127.0.0.1")
    }
}
