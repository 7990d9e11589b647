import FoundationEssentials
import HTTP
import Payments
import Postgres
import Synchronization
import Transport

/// The requests that wait for a record to change, and their wake-up: on whichever loop they wait, in whichever instance
/// the change was made.
///
/// A watcher begins to watch before it reads, so that no change comes between. What it gets is a hint: it reads again
/// and sees for itself. A hint may be lost with a connection to the database, so a waiting request also reads at the
/// end.
package final class ChangeFeed: Sendable {
    private let counts: [LoopWatchCount]
    private let database: Database
    private let notifier: ChangeNotifier
    private let listening = Mutex<Task<Void, any Error>?>(nil)

    /// Watchers may wait on any of the loops. The first one listens to other instances and notifies them.
    package init(loops: [EventLoop], database: Database) {
        counts = loops.map(LoopWatchCount.init)
        self.database = database
        notifier = ChangeNotifier(database: database)
    }

    /// How many watch now, on all loops.
    package var watching: Int { counts.reduce(0) { $0 + $1.watching.load(ordering: .sequentiallyConsistent) } }

    /// From now on the signal, which belongs to the calling loop, is given whenever the record changes; until the watch
    /// is released.
    package func watch(_ record: UUID, with signal: WakeSignal) -> Watch? {
        guard let count = counts.first(where: { $0.loop.isCurrent }) else { return nil }
        return Watch(of: record, with: signal, among: watchers(on: count))
    }

    /// The record's row has changed, and the change is committed.
    package func announce<Record>(_ record: ID<Record>) {
        wake([record.uuid])
        notifier.notify(record.uuid)
    }

    /// Begins to listen to other instances, and to notify them. Comes before the first watcher.
    package func start() {
        let task = counts[0].loop.task { [self, database] in
            let notifications = Notifications(of: database, channels: [ChangeNotice.channel], mark: notifier.mark)
            try await notifications.run { event in
                switch event {
                // What was missed is unknown: all waiting requests read again.
                case .listening: self.wakeAll()
                case .received(let notification): self.wake(self.notifier.records(in: notification.payload))
                }
            }
        }
        listening.withLock { $0 = task }
        notifier.start(on: counts[0].loop)
    }

    /// Sends what has yet to be sent, and stops listening. No request may be watching any more.
    package func stop() async {
        await notifier.stop()
        let task = listening.withLock { $0 }
        task?.cancel()
        _ = await task?.result
        for count in counts {
            await Task(executorPreference: count.loop) { [self] in _ = count.loop.removeLocal(for: self) }.value
        }
    }

    /// Lets so many at a time read again on the calling loop.
    package func withinReadLimit<Value: Sendable>(_ read: () async throws -> Value) async rethrows -> Value {
        guard let count = counts.first(where: { $0.loop.isCurrent }) else { return try await read() }
        return try await watchers(on: count).readLimit.run(read)
    }

    private func wake(_ records: [UUID]) {
        guard !records.isEmpty else { return }
        onLoopsWithWatchers { watchers in
            for record in records { watchers.wake(record) }
        }
    }

    private func wakeAll() {
        onLoopsWithWatchers { $0.wakeAll() }
    }

    /// Where no request watches, a change costs one read of a number.
    private func onLoopsWithWatchers(_ body: @escaping @Sendable (Watchers) -> Void) {
        for count in counts where count.watching.load(ordering: .sequentiallyConsistent) > 0 {
            if count.loop.isCurrent {
                body(watchers(on: count))
            } else {
                count.loop.execute { [self] in body(watchers(on: count)) }
            }
        }
    }

    private func watchers(on count: LoopWatchCount) -> Watchers {
        count.loop.local(for: self) { Watchers(at: count) }
    }
}

/// The part of one loop's watchers that other loops read.
final class LoopWatchCount: Sendable {
    let loop: EventLoop
    /// How many watch. Raised before they read, and read after a commit: one of the two sees the other.
    let watching = Atomic(0)

    init(_ loop: EventLoop) {
        self.loop = loop
    }
}
