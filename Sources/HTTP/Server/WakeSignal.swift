/// Wakes one held reply. Touched on the thread of its connection's loop only.
///
/// A signal is never lost: one that comes before the reply is held, or while its answer is being made, wakes it as soon
/// as it is held. Several signals in between count as one.
public final class WakeSignal {
    /// Whether a signal has yet to wake a reply.
    public private(set) var isSignaled = false
    /// The connection to wake. It is released as soon as it is awake or gone.
    private var sleeper: ServerConnection?

    public init() {}

    /// Wakes the reply, now or as soon as it is held.
    public func wake() {
        guard let sleeper else {
            isSignaled = true
            return
        }
        sleeper.wake(.signaled)
    }

    /// From now on a signal wakes this connection. Says whether it was signaled already; that signal is used up.
    func watch(over connection: ServerConnection) -> Bool {
        sleeper = connection
        defer { isSignaled = false }
        return isSignaled
    }

    func rest() {
        sleeper = nil
    }
}
