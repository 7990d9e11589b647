import Transport

/// Statements that are done together or not at all, on a connection of their own.
///
/// Valid inside the body of `Database.transaction` only. BEGIN travels with the first statement, so a transaction of
/// n statements costs n + 1 round trips. After a statement was refused nothing more can be done in it: it is rolled
/// back, and `Database.transaction` throws that refusal even if the body caught it.
public final class Transaction {
    private enum State {
        case untouched
        case open
        case failed(DatabaseError)
        case ended
    }

    private let connection: Connection
    private var state = State.untouched

    init(on connection: Connection) {
        self.connection = connection
    }

    /// Runs a statement that reads. Nothing is repeated in a transaction.
    public func rows(_ sql: SQL, within limit: Duration? = nil) async throws -> Rows {
        try await run(sql, [], within: limit).rows
    }

    /// Runs a statement, and gives back what it returns and how many rows it changed.
    @discardableResult
    public func execute(_ sql: SQL, within limit: Duration? = nil) async throws -> Rows {
        try await run(sql, [], within: limit).rows
    }

    /// Runs several statements in one round trip; after the first that is refused, none.
    @discardableResult
    public func execute(all statements: [SQL], within limit: Duration? = nil) async throws -> [Rows] {
        guard let first = statements.first else { return [] }
        return try await run(first, Array(statements.dropFirst()), within: limit).all
    }

    private func run(_ sql: SQL, _ more: [SQL], within limit: Duration?) async throws -> Answer {
        try Task.checkCancellation()
        let deadline = Monotonic.now() + (limit ?? connection.configuration.statementDeadline)
        let exchange = Exchange(sql, more: more, effect: .transactional, deadline: deadline)
        switch state {
        case .untouched: exchange.beginsTransaction = true
        case .open: break
        case .failed(let error): throw error
        case .ended: preconditionFailure("a transaction is used inside its body only")
        }
        state = .open
        do {
            return try await connection.perform(exchange).get()
        } catch let error as DatabaseError {
            state = .failed(error)
            throw error
        }
    }

    /// Ends it after its body returned.
    func commit() async throws {
        defer { state = .ended }
        switch state {
        case .untouched, .ended: return
        case .failed(let error):
            rollBack()
            throw error
        case .open: break
        }
        let deadline = Monotonic.now() + connection.configuration.statementDeadline
        _ = try await connection.perform(Exchange("COMMIT", effect: .commit, deadline: deadline)).get()
    }

    /// Undoes it. No caller waits for the answer: what comes next on the connection is behind it in the pipeline.
    func rollBack() {
        defer { state = .ended }
        switch state {
        case .untouched, .ended: return
        case .open, .failed:
            let deadline = Monotonic.now() + connection.configuration.statementDeadline
            connection.send(Exchange("ROLLBACK", effect: .control, deadline: deadline))
        }
    }
}
