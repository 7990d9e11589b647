/// Wakes one held reply. Touched on the thread of its connection's loop only.
///
/// A ring is never lost: one that comes before the reply is held, or while its answer is being made, wakes it as soon
/// as it is held. Several rings in between count as one.
public final class Bell {
    /// Whether a ring has yet to wake somebody.
    public private(set) var hasRung = false
    /// Whom to wake. It is let go of as soon as it is awake or gone.
    private var sleeper: ServerConnection?

    public init() {}

    /// Wakes the reply, now or as soon as it is held.
    public func ring() {
        guard let sleeper else {
            hasRung = true
            return
        }
        sleeper.wake(.rung)
    }

    /// From now on a ring wakes this connection. Says whether it has rung already; that ring is used up.
    func watch(over connection: ServerConnection) -> Bool {
        sleeper = connection
        defer { hasRung = false }
        return hasRung
    }

    func rest() {
        sleeper = nil
    }
}
