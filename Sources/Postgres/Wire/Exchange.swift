import Transport

/// The statements up to one Sync, and the callers that wait for its answers. Touched on its loop's thread
/// only.
final class Exchange {
    /// The meaning of a lost answer.
    enum Effect {
        /// Nothing changes: may be sent again.
        case read
        /// Its own transaction: done or not is unknown.
        case write
        /// Inside a transaction whose COMMIT has not been sent: not done.
        case transactional
        /// The COMMIT: done or not is unknown.
        case commit
        /// A connection's own business: settings, ROLLBACK, DEALLOCATE, LISTEN.
        case control

        var isUnknownWhenLost: Bool { self == .write || self == .commit }
    }

    let first: SQL
    let more: [SQL]
    let effect: Effect
    let deadline: Monotonic
    let begun: Monotonic
    /// BEGIN goes ahead in the same pipeline step: were it refused, what follows would be skipped.
    var beginsTransaction = false
    /// Statements that are run once are not worth preparing; they have no parameters then.
    var isPrepared = true
    /// How often it was sent.
    var attempts = 0

    // What has come back of the present attempt.
    var answer: Answer?
    var failure: ServerError?
    /// How many results are still to come before the Sync.
    var awaited = 0
    /// The commit's wait for a standby was given up: it is done here, but may be lost in a failover.
    var wasNotReplicated = false

    private var continuation: UnsafeContinuation<Outcome, Never>?
    private var early: Outcome?
    private(set) var isSettled = false

    init(_ first: SQL, more: [SQL] = [], effect: Effect, deadline: Monotonic) {
        self.first = first
        self.more = more
        self.effect = effect
        self.deadline = deadline
        begun = Monotonic.now()
    }

    var isAwaited: Bool { continuation != nil }

    /// Why it cannot be sent at all.
    var fault: DatabaseError? {
        first.parameters.fault ?? more.lazy.compactMap(\.parameters.fault).first
    }

    /// Suspends until `settle`. Unsafe continuations cost no allocation; this type resumes each exactly once.
    nonisolated(nonsending) func outcome(_ start: () -> Void) async -> Outcome {
        await withUnsafeContinuation { continuation in
            self.continuation = continuation
            start()
            if let early { resume(early) }
        }
    }

    /// Resumes the callers that wait. What comes later is dropped: the answer of an abandoned exchange, for instance.
    func settle(_ outcome: Outcome) {
        guard !isSettled else { return }
        isSettled = true
        if continuation == nil { early = outcome } else { resume(outcome) }
    }

    /// The connection went before the answer was whole.
    func settleAsLost(_ reason: String) {
        let error: DatabaseError =
            effect.isUnknownWhenLost ? .outcomeUnknown(reason: reason) : .unavailable(reason: reason)
        settle(.failed(error))
    }

    /// Makes it ready to be sent once more.
    func forgetAnswers() {
        answer = nil
        failure = nil
        awaited = 0
        wasNotReplicated = false
    }

    func take(_ result: QueryResult) {
        if answer == nil {
            answer = Answer(rows: Rows(result: result))
        } else {
            answer?.more.append(Rows(result: result))
        }
    }

    private func resume(_ outcome: Outcome) {
        continuation?.resume(returning: outcome)
        continuation = nil
    }
}

/// The results of an exchange's statements.
struct Answer: Sendable {
    var rows: Rows
    var more: [Rows] = []

    var all: [Rows] { [rows] + more }
}

/// How an exchange ended.
enum Outcome: Sendable {
    case answered(Answer)
    case failed(DatabaseError)
    case cancelled

    func get() throws -> Answer {
        switch self {
        case .answered(let answer): return answer
        case .failed(let error): throw error
        case .cancelled: throw CancellationError()
        }
    }
}
