import CLibpq
import Transport

/// Hears what becomes of a connection. Called on the loop's thread.
protocol ConnectionOwner: AnyObject {
    /// Answers have come, so there may be room for more.
    func connectionAdvanced(_ connection: Connection)
    /// The connection is gone. These reads were lost with it and may be sent once more.
    func connectionEnded(_ connection: Connection, reason: String, repeatable: [Exchange])
}

/// One session with the server, in libpq's pipeline mode. Touched on its loop's thread only.
///
/// Each exchange ends with a Sync of its own, so it is a transaction of its own and its failure harms no other
/// (libpq documentation, "Pipeline Mode"). Answers come in the order of sending; `pending` is that order. An exchange
/// counts as done only when its Sync is answered: the commit happens there, after the statement's own result.
final class Connection: EventHandler {
    let loop: EventLoop
    let configuration: DatabaseConfiguration
    let pool: PoolName
    /// Host and port, for logs.
    let server: String
    weak var owner: (any ConnectionOwner)?
    var onNotification: ((Notification) -> Void)?

    /// A transaction has it for itself.
    var isBorrowed = false
    /// A transaction gets it as soon as nothing is pending.
    var isReserved = false
    /// It takes nothing more, and ends when nothing is pending.
    var isRetired = false
    /// It owes an answer that is overdue.
    var isStalled = false
    var isOpen = true
    var outstanding: Int { pending.count }

    // Shared by the extensions below and in the files beside; no other code touches these.
    let handle: OpaquePointer
    let usesTLS: Bool
    var registration: Registration?
    var isWaitingToWrite = false
    var pending = RingBuffer<Exchange>()
    var expected = RingBuffer<Expectation>()
    var statements: PreparedStatements
    var deadlines: DeadlineTimer?

    /// The statement that the next result belongs to.
    enum Expectation {
        case answer(PreparedStatement?)
        case preparation(PreparedStatement)
        case nothing
    }

    /// Takes over a connected handle. Wraps `PQenterPipelineMode`.
    init(
        owning handle: OpaquePointer, server: String, pool: PoolName, configuration: DatabaseConfiguration,
        on loop: EventLoop
    ) throws {
        self.handle = handle
        self.server = server
        self.pool = pool
        self.configuration = configuration
        self.loop = loop
        usesTLS = PQsslInUse(handle) != 0
        statements = PreparedStatements(countMax: configuration.preparedStatementsMax)
        guard PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else {
            let reason = errorText(of: handle)
            PQfinish(handle)
            throw DatabaseError.unavailable(reason: reason)
        }
        do {
            registration = try loop.register(PQsocket(handle), for: .readable, handler: self)
        } catch {
            PQfinish(handle)
            throw error
        }
        deadlines = DeadlineTimer(on: loop) { [weak self] in self?.expire() }
        // The pointer is not retained: the receiver is called from within this object's own calls of libpq only.
        PQsetNoticeReceiver(handle, hearNotice, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Sends the exchange and suspends until it is settled. Does not heed cancellation.
    func perform(_ exchange: Exchange) async -> Outcome {
        await exchange.outcome { send(exchange) }
    }

    /// Sends the exchange behind those that are pending.
    func send(_ exchange: Exchange) {
        if let fault = exchange.fault { return exchange.settle(.failed(fault)) }
        guard isOpen else { return exchange.settle(.failed(.unavailable(reason: "the connection was lost"))) }
        if exchange.isPrepared { makeRoom(for: exchange) }
        exchange.attempts += 1
        exchange.forgetAnswers()
        pending.append(exchange)
        guard queue(exchange), PQpipelineSync(handle) == 1, flush() else { return end(errorText(of: handle)) }
        deadlines?.arm(for: exchange.deadline)
    }

    /// Closes it; what is pending is lost.
    func close() {
        end("the connection was closed")
    }

    func handle(_ readiness: Readiness) {
        guard isOpen else { return }
        if isWaitingToWrite, !flush() { return end(errorText(of: handle)) }
        let isAlive = readInput()
        drain()
        guard isOpen else { return }
        if !isAlive { return end(errorText(of: handle)) }
        owner?.connectionAdvanced(self)
    }

    /// Whether the server is a standby (`in_hot_standby`, reported since PostgreSQL 14).
    var isStandby: Bool {
        PQparameterStatus(handle, "in_hot_standby").map { String(cString: $0) == "on" } ?? false
    }
}

extension Connection {
    /// Tells those whose deadline has passed. The answers they no longer wait for are still taken in their turn.
    func expire() {
        guard isOpen else { return }
        let now = Monotonic.now()
        var next: Monotonic?
        var mustEnd = false
        var isLate = false
        for exchange in pending {
            var moment = exchange.deadline
            if moment <= now {
                isLate = true
                exchange.settleAsLost("the deadline passed before the answer came")
                // A transaction is only over for certain when its session is.
                if exchange.effect == .transactional || exchange.effect == .control { mustEnd = true }
                moment = moment + configuration.stallMax
                if moment <= now { mustEnd = true }
            }
            next = min(next ?? moment, moment)
        }
        if mustEnd { return end("no answer came in time") }
        if isLate, !isStalled {
            isStalled = true
            configuration.onEvent(.connectionStalled(pool: pool))
            owner?.connectionAdvanced(self)
        }
        if let next { deadlines?.arm(for: next) }
    }

    func end(_ reason: String, onlyFirstWasReached: Bool = false) {
        guard isOpen else { return }
        isOpen = false
        deadlines?.disarm()
        if let registration { loop.deregister(registration) }
        registration = nil
        PQfinish(handle)
        var repeatable: [Exchange] = []
        for (position, exchange) in pending.removeAll().enumerated() where !exchange.isSettled {
            if exchange.effect == .read, exchange.attempts < 2 {
                repeatable.append(exchange)
            } else if onlyFirstWasReached, position > 0 {
                exchange.settle(.failed(.unavailable(reason: reason)))
            } else {
                exchange.settleAsLost(reason)
            }
        }
        owner?.connectionEnded(self, reason: reason, repeatable: repeatable)
    }
}

/// Wraps the callback of `PQsetNoticeReceiver`.
private func hearNotice(_ context: UnsafeMutableRawPointer?, _ notice: OpaquePointer?) {
    guard let context, let notice else { return }
    Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue().hear(ServerError(of: notice))
}

/// Wraps `PQerrorMessage`, in one line.
func errorText(of handle: OpaquePointer) -> String {
    let lines = String(cString: PQerrorMessage(handle)).split(separator: "\n").map { $0.drop { $0 == "\t" } }
    return lines.isEmpty ? "the connection was lost" : lines.joined(separator: "; ")
}
