import FoundationEssentials
import Postgres
import Synchronization
import Transport

/// Tells the other instances which records have changed: gathered from all loops, and sent over one connection.
///
/// What could not be sent is forgotten: it is a hint, and a waiting request reads at the end in any case.
final class ChangeNotifier: Sendable {
    /// The least time between two statements. The first change after it is sent at once, and what comes meanwhile
    /// goes together: a busy server sends two hundred statements a second, not thousands.
    static let pause = Duration.milliseconds(5)

    private let database: Database
    private let notice = ChangeNotice(sender: .random(in: .min ... .max))
    /// The name under which this instance listens: while no other one does, nothing is sent.
    let mark = ListenerMark(.random(in: .min ... .max))
    private let gathered = Mutex<Set<UUID>>([])
    private let (calls, called) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    private let sending = Mutex<Task<Void, any Error>?>(nil)

    init(database: Database) {
        self.database = database
    }

    func notify(_ record: UUID) {
        let isFirst = gathered.withLock { gathered in
            gathered.insert(record)
            return gathered.count == 1
        }
        if isFirst { called.yield() }
    }

    /// The records that another instance names; none for this one's own notifications.
    func records(in payload: String) -> [UUID] {
        notice.records(in: payload)
    }

    func start(on loop: EventLoop) {
        let task = loop.task { [self] in
            for await _ in calls {
                await send()
                try await loop.sleep(for: Self.pause)
            }
        }
        sending.withLock { $0 = task }
    }

    /// Sends what was gathered, and ends.
    func stop() async {
        called.finish()
        _ = await sending.withLock { $0 }?.result
    }

    private func send() async {
        let records = gathered.withLock { gathered in
            defer { gathered = [] }
            return gathered
        }
        let notifications = notice.payloads(naming: Array(records)).map {
            Notification(channel: ChangeNotice.channel, payload: $0)
        }
        // Told to the log by the database already, and nothing is lost but time.
        try? await database.notify(notifications, besides: mark, within: .seconds(2))
    }
}
