import Synchronization

/// Whether a statement of a task has committed a change, so that everything that the task has read before is committed
/// where its commit is: PostgreSQL writes its log in order.
public final class CommitWitness: Sendable {
    @TaskLocal public static var current: CommitWitness?

    private let committed = Atomic<Bool>(false)

    public init() {}

    public var hasCommitted: Bool { committed.load(ordering: .relaxed) }

    /// A statement has changed so many rows, and its commit was confirmed.
    static func note(_ rows: Rows) {
        guard let current, rows.affectedCount > 0 else { return }
        current.committed.store(true, ordering: .relaxed)
    }
}
