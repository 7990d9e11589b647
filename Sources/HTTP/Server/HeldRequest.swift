import Transport

/// A request whose reply is held: all that its connection keeps of it.
final class HeldRequest {
    let reply: HeldReply
    let method: Method
    let keepAlive: Bool
    private var timer: LoopTimer?

    init(_ reply: HeldReply, to method: Method, keepAlive: Bool) {
        self.reply = reply
        self.method = method
        self.keepAlive = keepAlive
    }

    /// Sets the clock that wakes the connection when the time is up. `release()` breaks the circle.
    func wait(for connection: ServerConnection, on loop: EventLoop) {
        timer = loop.schedule(after: reply.end - Monotonic.now()) { connection.wake(.timeIsUp) }
    }

    /// Nothing will wake the connection any more.
    func release() {
        timer?.cancel()
        timer = nil
        reply.signal.value.rest()
    }
}
