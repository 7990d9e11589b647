import Transport

/// Listens to channels (`LISTEN`) on a connection of its own, for as long as its task lives.
///
/// Notifications sent while the connection is down are lost, so they are hints and never the truth: after each
/// `.listening` the listener reads for itself what may have happened.
public struct Notifications: Sendable {
    /// The events of a listener.
    public enum Event: Sendable, Equatable {
        /// From now on notifications arrive. Comes first, and again after each reconnection.
        case listening
        case received(Notification)
    }

    private let database: Database
    private let channels: [String]
    private let mark: ListenerMark?

    /// Will listen to these channels of the database. With a mark others can tell that this one listens.
    public init(of database: Database, channels: [String], mark: ListenerMark? = nil) {
        self.database = database
        self.channels = channels
        self.mark = mark
    }

    /// Listens until the task is cancelled, reconnecting by itself, and hands every event to the handler, in order,
    /// on the calling task's event loop. The handler must not block. Throws only `CancellationError`.
    public func run(_ handler: @escaping (Event) -> Void) async throws {
        guard let loop = EventLoop.current else {
            preconditionFailure("notifications are heard by tasks that run on an event loop")
        }
        try await ChannelListener(
            opener: database.opener, channels: channels, mark: mark, loop: loop, handler: handler
        ).run()
    }
}

/// The key that tells one listener from the others: an advisory lock that its session holds, shared, for as long as it
/// listens. A sender can so leave it where no other instance listens: a notification is a commit that reaches the disk.
public struct ListenerMark: Sendable, Equatable {
    let number: Int32

    /// Another one for each listener.
    public init(_ number: Int32) {
        self.number = number
    }
}
