import Transport

/// Connections of one loop for one purpose, and those who wait for them. Touched on its loop's thread only.
///
/// A statement goes to the connection that owes the fewest answers. A transaction gets one that owes none: if there
/// is none, one is reserved, takes nothing more, and is handed over when its last answer has come. Connections are
/// opened when there is work for them.
final class ConnectionPool: ConnectionOwner {
    let name: PoolName
    let loop: EventLoop
    private let opener: ConnectionOpener
    private let connectionsMax: Int
    private var connections: [Connection] = []
    private var waiting = RingBuffer<Exchange>()
    private var waiters = RingBuffer<ConnectionWaiter>()
    private var deadlines: DeadlineTimer?
    private var isClosed = false

    private var openings: [Int: Task<Void, any Error>] = [:]
    private var openingsBegun = 0
    private var backoff: ReconnectBackoff
    private var lastFailure: String?
    /// Since when no connection could be opened, while there is none.
    private var awaySince: Monotonic?

    private var configuration: DatabaseConfiguration { opener.configuration }

    init(_ name: PoolName, connectionsMax: Int, opener: ConnectionOpener, loop: EventLoop) {
        self.name = name
        self.connectionsMax = max(1, connectionsMax)
        self.opener = opener
        self.loop = loop
        backoff = ReconnectBackoff(opener.configuration)
        deadlines = DeadlineTimer(on: loop) { [weak self] in self?.expire() }
    }

    var load: PoolLoad {
        PoolLoad(
            pool: name, connections: connections.count, borrowed: connections.count { $0.isBorrowed },
            outstanding: connections.reduce(0) { $0 + $1.outstanding }, waiting: waiting.count + waiters.count)
    }

    /// Runs one exchange on whatever connection suits.
    nonisolated(nonsending) func perform(_ exchange: Exchange) async throws -> Answer {
        try Task.checkCancellation()
        let cancellable = LoopBound(exchange, on: loop)
        return try await withTaskCancellationHandler {
            await exchange.outcome { submit(exchange) }
        } onCancel: { [loop] in
            loop.execute {
                // A write that was sent is waited for: nothing else tells what became of it.
                let exchange = cancellable.value
                if exchange.attempts == 0 || exchange.effect == .read { exchange.settle(.cancelled) }
            }
        }.get()
    }

    /// Runs the body on a connection of its own.
    func transaction<Value: Sendable>(_ body: (Transaction) async throws -> Value) async throws -> Value {
        let connection = try await borrow()
        defer { giveBack(connection) }
        let transaction = Transaction(on: connection)
        do {
            let value = try await body(transaction)
            try await transaction.commit()
            return value
        } catch {
            transaction.rollBack()
            throw error
        }
    }

    /// Closes everything; waiting callers get an error.
    func close() async {
        isClosed = true
        backoff.cancel()
        deadlines?.disarm()
        let closed = DatabaseError.unavailable(reason: "the database was closed")
        for exchange in waiting.removeAll() { exchange.settle(.failed(closed)) }
        for waiter in waiters.removeAll() { waiter.settle(.failure(closed)) }
        for connection in connections { connection.close() }
        let unfinished = openings.values
        for opening in unfinished { opening.cancel() }
        for opening in unfinished { _ = await opening.result }
    }
}

// Assigning connections.
extension ConnectionPool {
    private func submit(_ exchange: Exchange) {
        if isClosed { return exchange.settle(.failed(.unavailable(reason: "the database was closed"))) }
        retireSuperseded()
        if waiting.isEmpty, let connection = leastBusy() {
            connection.send(exchange)
            if connection.outstanding > 1 { grow() }
            return
        }
        if let why = reasonNotToWait() { return exchange.settle(.failed(.unavailable(reason: why))) }
        waiting.append(exchange)
        deadlines?.arm(for: waitEnd(of: exchange))
        grow()
    }

    private func borrow() async throws -> Connection {
        try Task.checkCancellation()
        if isClosed { throw DatabaseError.unavailable(reason: "the database was closed") }
        retireSuperseded()
        if waiters.isEmpty, let idle = connections.first(where: { $0.outstanding == 0 && $0.isShared }) {
            idle.isBorrowed = true
            return idle
        }
        if let why = reasonNotToWait() { throw DatabaseError.unavailable(reason: why) }
        let waiter = ConnectionWaiter(deadline: Monotonic.now() + configuration.waitMax)
        let cancellable = LoopBound(waiter, on: loop)
        return try await withTaskCancellationHandler {
            try await waiter.connection {
                waiters.append(waiter)
                deadlines?.arm(for: waiter.deadline)
                grow()
                reserve()
            }
        } onCancel: { [loop] in
            loop.execute { cancellable.value.settle(.failure(CancellationError())) }
        }
    }

    private func giveBack(_ connection: Connection) {
        connection.isBorrowed = false
        if connection.isOpen { connectionAdvanced(connection) }
    }

    /// After a failover nothing is asked of the server before it, which may not know yet that it was replaced: sessions
    /// with it end. A read goes out again elsewhere; a write that is under way is waited for, as long as for any other.
    private func retireSuperseded() {
        for connection in connections where !connection.isRetired && opener.isSuperseded(connection.server) {
            connection.isRetired = true
            if name == .read || connection.outstanding == 0, !connection.isBorrowed {
                connection.end("another server has taken its place")
            }
        }
    }

    private func leastBusy() -> Connection? {
        var best: Connection?
        for connection in connections where connection.isShared {
            if connection.outstanding == 0 { return connection }
            if connection.outstanding < best?.outstanding ?? configuration.pipelineDepthMax { best = connection }
        }
        return best
    }

    /// Sets as many connections aside as transactions wait, those first that will be idle soonest.
    private func reserve() {
        var missing = waiters.count - connections.count { $0.isReserved && !$0.isStalled && !$0.isRetired }
        while missing > 0,
            let next = connections.filter(\.isShared).min(by: { $0.outstanding < $1.outstanding })
        {
            if next.outstanding == 0 { lend(next) } else { next.isReserved = true }
            missing -= 1
        }
    }

    func connectionAdvanced(_ connection: Connection) {
        guard !isClosed else { return }
        if connection.isRetired, connection.outstanding == 0, !connection.isBorrowed {
            return connection.end("another server has taken its place")
        }
        // The caller that has waited longest comes first, so that neither kind starves the other.
        lend(connection)
        serveWaiting()
    }

    private func lend(_ connection: Connection) {
        guard connection.isOpen, !connection.isStalled, !connection.isRetired, !connection.isBorrowed,
            connection.outstanding == 0
        else { return }
        while let waiter = waiters.first {
            if waiter.isSettled {
                _ = waiters.popFirst()
                continue
            }
            if !connection.isReserved, let first = waiting.first, first.begun < waiter.begun { break }
            _ = waiters.popFirst()
            connection.isReserved = false
            connection.isBorrowed = true
            return waiter.settle(.success(connection))
        }
        connection.isReserved = false
    }

    private func serveWaiting() {
        while let exchange = waiting.first {
            if exchange.isSettled {
                _ = waiting.popFirst()
            } else if let connection = leastBusy() {
                _ = waiting.popFirst()
                connection.send(exchange)
            } else {
                return
            }
        }
        if !waiters.isEmpty { reserve() }
    }

    /// Nothing comes back when there is room to wait, and hope.
    private func reasonNotToWait() -> String? {
        if isAwayForLong, backoff.isOn { return withLastFailure("the database is away") }
        if waiting.count + waiters.count < configuration.waitersMax { return nil }
        configuration.onEvent(.queueFull(pool: name))
        return withLastFailure("too many wait for a connection")
    }

    /// Whether the database has been away for longer than a restart takes. A restart is waited for; afterwards only a
    /// caller that comes when the pause is over tries again.
    private var isAwayForLong: Bool {
        connections.isEmpty && awaySince.map { Monotonic.now() - $0 >= configuration.waitMax } ?? false
    }

    private func withLastFailure(_ reason: String) -> String {
        connections.isEmpty ? lastFailure.map { "\(reason); \($0)" } ?? reason : reason
    }

    private func waitEnd(of exchange: Exchange) -> Monotonic {
        // What is sent for the second time has waited for more than a connection.
        exchange.attempts > 0 ? exchange.deadline : min(exchange.deadline, exchange.begun + configuration.waitMax)
    }

    /// Tells those who have waited too long.
    private func expire() {
        let (now, isHopeless) = (Monotonic.now(), isAwayForLong)
        var next = Monotonic(nanoseconds: .max)
        let error = DatabaseError.unavailable(reason: withLastFailure("no connection became free in time"))
        for exchange in waiting {
            let end = waitEnd(of: exchange)
            if isHopeless || end <= now { exchange.settle(.failed(error)) } else { next = min(next, end) }
        }
        for waiter in waiters {
            if isHopeless || waiter.deadline <= now {
                waiter.settle(.failure(error))
            } else {
                next = min(next, waiter.deadline)
            }
        }
        waiting.removeAll(where: \.isSettled)
        waiters.removeAll(where: \.isSettled)
        if !waiting.isEmpty || !waiters.isEmpty { deadlines?.arm(for: next) }
    }
}

// How many connections there are.
extension ConnectionPool {
    /// Opens another connection if there is work for it.
    ///
    /// A stalled connection is replaced, once: it may be alone in its trouble, or the server may be.
    private func grow() {
        guard !isClosed, !backoff.isOn else { return }
        let demand = waiting.count + waiters.count + (connections.isEmpty ? 0 : 1)
        let working = connections.count { !$0.isStalled && !$0.isRetired } + openings.count
        guard working < connectionsMax, connections.count + openings.count < 2 * connectionsMax,
            openings.count < demand
        else { return }
        openingsBegun += 1
        let number = openingsBegun
        let bound = LoopBound(self, on: loop)
        openings[number] = loop.task { [opener, loop, name] in
            do {
                let connection = LoopBound(try await opener.open(on: loop, for: name), on: loop)
                bound.value.opened(connection.value, number)
            } catch {
                bound.value.failedToOpen(error, number)
            }
        }
    }

    private func opened(_ connection: Connection, _ number: Int) {
        openings[number] = nil
        guard !isClosed else { return connection.close() }
        guard connection.isOpen else { return }
        backoff.reset()
        lastFailure = nil
        awaySince = nil
        connection.owner = self
        connections.append(connection)
        connectionAdvanced(connection)
        if !waiting.isEmpty || !waiters.isEmpty { grow() }
    }

    private func failedToOpen(_ error: any Error, _ number: Int) {
        openings[number] = nil
        guard !isClosed else { return }
        lastFailure = "\(error)"
        awaySince = connections.isEmpty ? awaySince ?? .now() : nil
        if isAwayForLong { expire() }
        backoff.begin(on: loop) { [weak self] in
            guard let self, !waiting.isEmpty || !waiters.isEmpty else { return }
            grow()
        }
    }

    func connectionEnded(_ connection: Connection, reason: String, repeatable: [Exchange]) {
        connections.removeAll { $0 === connection }
        if !isClosed { configuration.onEvent(.connectionLost(pool: name, reason: reason)) }
        for exchange in repeatable {
            configuration.onEvent(.readRepeated)
            submit(exchange)
        }
        reserve()
        if !waiting.isEmpty || !waiters.isEmpty { grow() }
    }
}

extension Connection {
    /// Takes statements of any caller.
    fileprivate var isShared: Bool { isOpen && !isBorrowed && !isReserved && !isStalled && !isRetired }
}
