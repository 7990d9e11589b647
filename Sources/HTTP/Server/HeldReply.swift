import Transport

/// An answer that is not there yet. Until it is, the request costs no task: what is here is all that is kept of it.
///
/// The server asks for the answer when the signal is given, when the time is up, or when it drains, whichever comes
/// first. When the client hangs up, everything here is released, and with it what the closure holds.
public struct HeldReply: Sendable {
    /// Why the server asks for the answer now.
    public enum Reason: Sendable {
        case signaled, timeIsUp
        /// The server is about to close: there is no holding on. Another held reply now hangs up.
        case draining
    }

    let signal: LoopBound<WakeSignal>
    let end: Monotonic
    let answer: @Sendable (Reason) async -> Reply

    /// Takes what wakes the reply, until when it may be held, and what makes the answer.
    ///
    /// `answer` runs as a task on the connection's loop, to its end like every handler. It may give another held
    /// reply, with the same signal or another one.
    public init(
        signal: LoopBound<WakeSignal>, until end: Monotonic, answer: @escaping @Sendable (Reason) async -> Reply
    ) {
        self.signal = signal
        self.end = end
        self.answer = answer
    }
}

extension Reply {
    /// The reply with a last touch: at once for a response, for a held one when it is there.
    ///
    /// The touch is told since when the response was in the making: from `start` on, or from when the server asked
    /// for a held one.
    public consuming func finished(
        since start: Monotonic, _ touch: @escaping @Sendable (inout Response, Monotonic) -> Void
    ) -> Reply {
        switch consume self {
        case .response(var response):
            touch(&response, start)
            return .response(response)
        case .held(let held):
            return .held(
                HeldReply(signal: held.signal, until: held.end) { reason in
                    let asked = Monotonic.now()
                    return await held.answer(reason).finished(since: asked, touch)
                })
        case .raw(let bytes): return .raw(bytes)
        }
    }
}
