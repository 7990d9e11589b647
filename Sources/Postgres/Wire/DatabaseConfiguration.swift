/// How a `Database` uses its server. The figures are for each event loop.
public struct DatabaseConfiguration: Sendable {
    /// The session's `application_name`, unless the connection string says otherwise.
    public var applicationName = "merchant"

    /// Connections for reads. Pipelined, so a few carry everything.
    public var readConnectionsMax = 2
    /// Connections for writes and transactions. Commits that wait for the disk go faster when many wait together.
    public var writeConnectionsMax = 16
    /// Statements sent and unanswered on one connection; more wait for a connection.
    public var pipelineDepthMax = 64
    /// Callers that wait for a connection, in each pool. The next one is told `unavailable` at once.
    public var waitersMax = 1024
    /// Prepared statements kept on one connection; beyond it the oldest is given up.
    public var preparedStatementsMax = 256

    /// How long a caller waits for a connection. When none could be opened for as long as that, callers are told
    /// `unavailable` as soon as another attempt has failed, and at once in the pause after it.
    public var waitMax: Duration = .seconds(5)
    /// How long a caller waits for a statement in all, unless the call says otherwise.
    public var statementDeadline: Duration = .seconds(6)
    /// `statement_timeout`: under the deadline, so that PostgreSQL itself stops what takes too long.
    public var statementTimeout: Duration = .seconds(4)
    /// `lock_timeout`.
    public var lockTimeout: Duration = .seconds(3)
    /// `idle_in_transaction_session_timeout`: under `lockTimeout`, so that the locks of a process that was stopped amid
    /// a transaction are free before those who wait for them give up.
    public var idleInTransactionTimeout: Duration = .seconds(2)

    /// How long connecting to one address may take, all its steps together; `connect_timeout` in the connection
    /// string wins over it.
    public var connectTimeout: Duration = .seconds(2)
    /// The pause after the first failed attempt to connect; it doubles with each further one.
    public var reconnectPauseMin: Duration = .milliseconds(50)
    public var reconnectPauseMax: Duration = .seconds(2)
    /// How long a connection may owe an answer past a deadline before it is given up.
    public var stallMax: Duration = .seconds(60)
    /// A statement that takes at least this long is reported as `.slowStatement`.
    public var slowStatement: Duration = .seconds(1)

    /// Hears what happens, for logs and metrics. Called on an event loop's thread: it must not block.
    public var onEvent: @Sendable (DatabaseEvent) -> Void = { _ in }

    /// The interceptor of statements, in a simulation.
    package var interceptor: StatementInterceptor?

    public init() {}
}

/// An event between us and the server, for logs and metrics. Holds no value of a statement.
public enum DatabaseEvent: Sendable, Equatable {
    case connected(pool: PoolName, server: String)
    case connectionFailed(pool: PoolName, reason: String)
    case connectionLost(pool: PoolName, reason: String)
    /// A statement's deadline passed while the server owed its answer; the connection gets no more work until then.
    case connectionStalled(pool: PoolName)
    /// The server has settings turned off without which it may lose what it confirms: `fsync`, `full_page_writes`.
    case notDurable(server: String, turnedOff: [String])
    /// A read that was lost with its connection is sent once more.
    case readRepeated
    /// A caller was turned away, since too many were waiting.
    case queueFull(pool: PoolName)
    case slowStatement(text: String, took: Duration)
}

/// The purpose of a group of connections.
public enum PoolName: String, Sendable {
    case read, write, notify, listen, migrate
}
