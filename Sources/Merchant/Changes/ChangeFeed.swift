import FoundationEssentials
import HTTP
import Payments
import Postgres
import Synchronization
import Transport

/// Who waits for a record to change, and how they hear of it: on whichever loop they wait, in whichever instance the
/// change was made.
///
/// A watcher begins to watch before it reads, so that no change comes between. What it hears is a hint: it reads again
/// and sees for itself. A hint may be lost with a connection to the database, so whoever waits also reads at the end.
final class Changes: Sendable {
    private let seats: [Seat]
    private let database: Database
    private let herald: Herald
    private let listening = Mutex<Task<Void, any Error>?>(nil)

    /// Watchers may wait on any of the loops. Other instances are listened to and told from the first one.
    init(loops: [EventLoop], database: Database) {
        seats = loops.map(Seat.init)
        self.database = database
        herald = Herald(database: database)
    }

    /// How many watch now, on all loops.
    var watching: Int { seats.reduce(0) { $0 + $1.watching.load(ordering: .sequentiallyConsistent) } }

    /// From now on the bell, which belongs to the calling loop, rings whenever the record changes; until the watch is
    /// let go of.
    func watch(_ record: UUID, with bell: Bell) -> Watch? {
        guard let seat = seats.first(where: { $0.loop.isCurrent }) else { return nil }
        return Watch(of: record, with: bell, among: watchers(on: seat))
    }

    /// The record's row has changed, and the change is committed.
    func announce<Record>(_ record: ID<Record>) {
        ring([record.uuid])
        herald.tell(record.uuid)
    }

    /// Begins to listen to other instances, and to tell them. Comes before the first watcher.
    func start() {
        let task = seats[0].loop.task { [self, database] in
            try await Notifications(of: database, channels: [ChangeNotice.channel]).run { event in
                switch event {
                // Nobody knows what was missed: all look for themselves.
                case .listening: self.ringAll()
                case .received(let notification): self.ring(self.herald.records(in: notification.payload))
                }
            }
        }
        listening.withLock { $0 = task }
        herald.start(on: seats[0].loop)
    }

    /// Tells what has yet to be told, and stops listening. Nobody may be watching any more.
    func stop() async {
        await herald.stop()
        let task = listening.withLock { $0 }
        task?.cancel()
        _ = await task?.result
        for seat in seats {
            await Task(executorPreference: seat.loop) { [self] in _ = seat.loop.removeLocal(for: self) }.value
        }
    }

    /// Lets so many at a time read again on the calling loop.
    func inTurn<Value: Sendable>(_ read: () async throws -> Value) async rethrows -> Value {
        guard let seat = seats.first(where: { $0.loop.isCurrent }) else { return try await read() }
        return try await watchers(on: seat).turnstile.pass(read)
    }

    private func ring(_ records: [UUID]) {
        guard !records.isEmpty else { return }
        onLoopsWithWatchers { watchers in
            for record in records { watchers.ring(record) }
        }
    }

    private func ringAll() {
        onLoopsWithWatchers { $0.ringAll() }
    }

    /// Where nobody watches, a change costs one look at a number.
    private func onLoopsWithWatchers(_ body: @escaping @Sendable (Watchers) -> Void) {
        for seat in seats where seat.watching.load(ordering: .sequentiallyConsistent) > 0 {
            if seat.loop.isCurrent {
                body(watchers(on: seat))
            } else {
                seat.loop.execute { [self] in body(watchers(on: seat)) }
            }
        }
    }

    private func watchers(on seat: Seat) -> Watchers {
        seat.loop.local(for: self) { Watchers(at: seat) }
    }
}

/// What other loops may know about the watchers of one loop.
final class Seat: Sendable {
    let loop: EventLoop
    /// How many watch. Raised before they read, and looked at after a commit: one of the two sees the other.
    let watching = Atomic(0)

    init(_ loop: EventLoop) {
        self.loop = loop
    }
}
