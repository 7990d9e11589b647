import Postgres
import Transport

/// The database in a simulation: a real PostgreSQL whose clock is the scheduler's, over a network that loses
/// statements and answers.
///
/// `@unchecked Sendable`, because it is touched on the scheduler's loop only.
final class SimulatedDatabase: @unchecked Sendable {
    /// Sees everything, and is troubled by nothing.
    let observer: Database
    let connectionString: String
    private let scheduler: Scheduler
    private let mutant: Mutant?
    private var told: Duration?
    /// What happens where a payment has been decided on and is not remembered yet.
    var meanwhile: @Sendable () async -> Void = {}

    init(_ connectionString: String, scheduler: Scheduler, mutant: Mutant?) throws {
        self.connectionString = connectionString
        self.scheduler = scheduler
        self.mutant = mutant
        observer = try Database(connectionString)
    }

    /// Puts the scheduler's clock behind the one function that tells the time.
    func prepare() async throws {
        try await observer.execute(all: [
            "CREATE TABLE simulated_clock (moment timestamptz NOT NULL)",
            "INSERT INTO simulated_clock VALUES (\(SimulatedTime.beginning))",
            """
            CREATE OR REPLACE FUNCTION app_now() RETURNS timestamptz LANGUAGE sql STABLE
            AS 'SELECT moment FROM simulated_clock'
            """,
        ])
        for statement in mutant?.preparation ?? [] { try await observer.execute(statement) }
    }

    /// The database as this server reaches it.
    func reached(by server: Party) throws -> Database {
        var configuration = DatabaseConfiguration()
        // One statement is under way at a time.
        configuration.readConnectionsMax = 1
        configuration.writeConnectionsMax = 1
        configuration.interceptor = StatementInterceptor { [self] kind, statement, send in
            try await carry(kind, statement, from: server, send)
        }
        return try Database(connectionString, configuration: configuration)
    }

    /// Reads what there is, whatever the servers think.
    func rows(_ sql: SQL) async throws -> Rows {
        try await scheduler.really {
            try await tellTime()
            return try await observer.rows(sql)
        }
    }

    private func carry(
        _ kind: StatementInterceptor.Kind, _ statement: SQL, from server: Party, _ send: (SQL) async throws -> Void
    ) async throws {
        let name = kind == .transaction ? "a transaction" : statement.text.firstWords
        await scheduler.pause(server, "database: \(name)")
        switch scheduler.fault(among: kind == .read ? Fault.beforeRead : Fault.beforeWrite) {
        case .statementNotSent?: throw DatabaseError.unavailable(reason: "no connection")
        case .writeLost?: throw DatabaseError.outcomeUnknown(reason: "the connection was lost")
        case .lockTimeout?: throw DatabaseError.refused(StatementError(state: .lockNotAvailable))
        default: break
        }
        try await scheduler.really {
            try await tellTime()
            try await send(statement.rewritten(mutant?.rewrite(statement.text) ?? statement.text))
        }
        guard kind != .read else {
            let isSurvey = statement.text.contains("is_reference_taken")
            if isSurvey, scheduler.fault(among: [.priceChangesMeanwhile]) != nil {
                _ = scheduler.loop.task { [meanwhile] in await meanwhile() }
            }
            return
        }
        await scheduler.pause(server, "database has done \(name)")
        if scheduler.fault(among: Fault.afterWrite) != nil {
            throw DatabaseError.outcomeUnknown(reason: "the connection was lost")
        }
    }

    private func tellTime() async throws {
        guard told != scheduler.elapsed else { return }
        told = scheduler.elapsed
        try await observer.execute("UPDATE simulated_clock SET moment = \(SimulatedTime.moment(scheduler.elapsed))")
    }
}

extension String {
    /// Enough of a statement to know it by, in one line.
    fileprivate var firstWords: String {
        split(whereSeparator: \.isWhitespace).joined(separator: " ").prefix(96).description
    }
}
