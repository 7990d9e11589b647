import Transport

/// One PostgreSQL database, reached over connections that each event loop keeps for itself.
///
/// Statements are written as `SQL` literals, prepared once for each connection and pipelined, each in a transaction
/// of its own. Use it from tasks that run on an event loop; connections are opened when first needed and reopened by
/// themselves.
/// ```swift
/// let rows = try await database.rows("SELECT state FROM payments WHERE id = \(id)")
/// try await database.execute("UPDATE payments SET state = \(state) WHERE id = \(id)")
/// try await database.transaction { transaction in … }
/// ```
/// - `rows` is for reading only: its connections refuse to change anything, and a read whose connection is lost is
///   sent once more by itself.
/// - `execute` is for everything that changes something; it is never sent twice. What throws says whether it was done.
/// - Every call has a deadline, so none hangs, whatever becomes of the server.
/// - A cancelled task stops waiting for a connection and for a read at once. A write that has been sent is waited
///   for, because its answer is near and nothing else tells what became of it.
public final class Database: Sendable {
    let opener: ConnectionOpener

    var configuration: DatabaseConfiguration { opener.configuration }

    /// Takes a connection string as libpq knows it, URI or keywords; opens nothing yet.
    ///
    /// Several hosts are tried in order until one takes writes (`target_session_attrs=read-write`, unless it says
    /// otherwise).
    public init(
        _ connectionString: String, configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) throws(ConnectionStringFault) {
        opener = ConnectionOpener(target: try ConnectionTarget(parsing: connectionString), configuration: configuration)
    }

    /// Reads. The whole statement, queueing included, takes `limit` at most.
    public nonisolated(nonsending) func rows(_ sql: SQL, within limit: Duration? = nil) async throws -> Rows {
        guard let interceptor = configuration.interceptor else { return try await read(sql, within: limit) }
        return try await interceptor.intercept(.read, sql) { try await read($0, within: limit) }
    }

    /// Changes something, and gives back what the statement returns and how many rows it changed.
    @discardableResult
    public nonisolated(nonsending) func execute(_ sql: SQL, within limit: Duration? = nil) async throws -> Rows {
        let rows: Rows
        if let interceptor = configuration.interceptor {
            rows = try await interceptor.intercept(.write, sql) { try await write($0, within: limit) }
        } else {
            rows = try await write(sql, within: limit)
        }
        CommitWitness.note(rows)
        return rows
    }

    /// Runs several statements in one transaction and one round trip: all of them are done or none.
    ///
    /// For statements that do not need each other's results.
    @discardableResult
    public func execute(all statements: [SQL], within limit: Duration? = nil) async throws -> [Rows] {
        guard let first = statements.first else { return [] }
        let send = { [self] in
            let exchange = Exchange(
                first, more: Array(statements.dropFirst()), effect: .write, deadline: deadline(limit))
            return try await pools().write.perform(exchange).all
        }
        guard let interceptor = configuration.interceptor else { return try await send() }
        return try await interceptor.intercept(.transaction, first) { _ in try await send() }
    }

    /// Runs the body in one transaction: committed when it returns, rolled back when it throws.
    ///
    /// The connection is the transaction's alone, so nothing slow belongs into the body. When PostgreSQL refuses it
    /// because of other transactions (40001, 40P01) the whole body runs again up to `retries` times.
    @discardableResult
    public func transaction<Value: Sendable>(
        retries: Int = 0, _ body: (Transaction) async throws -> Value
    ) async throws -> Value {
        guard let interceptor = configuration.interceptor else { return try await transact(retries: retries, body) }
        return try await interceptor.intercept(.transaction, "") { _ in try await transact(retries: retries, body) }
    }

    private func transact<Value: Sendable>(
        retries: Int, _ body: (Transaction) async throws -> Value
    ) async throws -> Value {
        let pool = try pools().write
        var attempt = 0
        while true {
            do {
                return try await pool.transaction(body)
            } catch let error as DatabaseError where error.state?.isTransient == true && attempt < retries {
                attempt += 1
                // Transactions that collided start again at different moments.
                try await pool.loop.sleep(for: .milliseconds(Int.random(in: 1...10) * attempt))
            }
        }
    }

    /// Sends notifications (`pg_notify`) over a connection that does nothing else: NOTIFY takes a lock across all
    /// transactions of the database until its commit is on disk, which no other write should wait for.
    ///
    /// Gather several into one call. They are hints: after an error the caller need not try again. With the mark of
    /// one's own listener nothing is sent, and nothing committed, while no other instance listens under a mark.
    public func notify(
        _ notifications: [Notification], besides mark: ListenerMark? = nil, within limit: Duration? = nil
    ) async throws {
        guard !notifications.isEmpty else { return }
        // Values in subqueries: a plan made for them is no better than one for any, so PostgreSQL plans this once a
        // session. Planning it takes three times as long as carrying it out.
        let exchange = Exchange(
            """
            SELECT pg_notify(channel, payload)
            FROM unnest((SELECT \(notifications.map(\.channel))), (SELECT \(notifications.map(\.payload))))
                AS sent (channel, payload)
            WHERE (SELECT \(mark == nil)) OR EXISTS (
                SELECT FROM pg_locks
                WHERE locktype = 'advisory' AND objsubid = 2
                    AND classid::bigint = hashtext(channel)::bigint & 4294967295
                    AND objid::bigint <> (SELECT \(mark?.number ?? 0)::bigint & 4294967295)
                    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            )
            """, effect: .write, deadline: deadline(limit))
        _ = try await pools().notify.perform(exchange)
    }

    /// The state of this loop's connections, for metrics.
    public func load() throws -> [PoolLoad] {
        let pools = try pools()
        return [pools.read.load, pools.write.load, pools.notify.load]
    }

    /// Closes the connections of the calling loop; what is under way ends as if the server had gone.
    public func close() async {
        guard let loop = EventLoop.current else { return }
        guard let pools = loop.removeLocal(for: self) as? LoopPools else { return }
        await pools.close()
    }

    private nonisolated(nonsending) func read(_ sql: SQL, within limit: Duration?) async throws -> Rows {
        let exchange = Exchange(sql, effect: .read, deadline: deadline(limit))
        return try await pools().read.perform(exchange).rows
    }

    private nonisolated(nonsending) func write(_ sql: SQL, within limit: Duration?) async throws -> Rows {
        let exchange = Exchange(sql, effect: .write, deadline: deadline(limit))
        return try await pools().write.perform(exchange).rows
    }

    private func deadline(_ limit: Duration?) -> Monotonic {
        Monotonic.now() + (limit ?? configuration.statementDeadline)
    }

    private func pools() throws -> LoopPools {
        guard let loop = EventLoop.current else {
            preconditionFailure("a database is used by tasks that run on an event loop")
        }
        return loop.local(for: self) { LoopPools(of: self, on: loop) }
    }
}

/// A pool at one moment.
public struct PoolLoad: Sendable, Equatable {
    public var pool: PoolName
    /// Connections open.
    public var connections: Int
    /// The number of these that transactions have for themselves.
    public var borrowed: Int
    /// Statements sent and unanswered.
    public var outstanding: Int
    /// Callers waiting for a connection.
    public var waiting: Int
}
