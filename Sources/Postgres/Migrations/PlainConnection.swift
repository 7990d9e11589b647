import CLibpq
import Transport

/// One session used by one task, one statement or script after the other, outside of pipeline mode: a script of
/// several statements is possible only so (the simple query protocol).
final class PlainConnection {
    private let handle: OpaquePointer
    private let loop: EventLoop

    /// Takes over a connected handle.
    init(owning session: Session, on loop: EventLoop) throws {
        handle = session.handle
        self.loop = loop
        guard PQsetnonblocking(handle, 1) == 0 else {
            let reason = errorText(of: handle)
            PQfinish(handle)
            throw DatabaseError.unavailable(reason: reason)
        }
        // Notices are no errors, and the default receiver would print them.
        PQsetNoticeReceiver(handle, { _, _ in }, nil)
    }

    deinit {
        PQfinish(handle)
    }

    /// Whether a transaction is open and healthy. Wraps `PQtransactionStatus`.
    var isInTransaction: Bool { PQtransactionStatus(handle) == PQTRANS_INTRANS }

    /// Runs one statement. Wraps `PQsendQueryParams`.
    @discardableResult
    func execute(_ sql: SQL, until deadline: Monotonic) async throws -> Rows {
        if let fault = sql.parameters.fault { throw fault }
        let types = sql.parameters.entries.map(\.type.rawValue)
        let isSent = sql.parameters.withPointers { count, values, lengths, formats in
            PQsendQueryParams(
                handle, sql.text, count, types, values, lengths, formats, PostgresFormat.binary.rawValue) == 1
        }
        guard let rows = try await finish(isSent, until: deadline) else {
            throw DatabaseError.unavailable(reason: "the server sent no result")
        }
        return rows
    }

    /// Runs all statements of a text, up to the first that is refused. Wraps `PQsendQuery`.
    func run(script: String, until deadline: Monotonic) async throws {
        // A C string ends at the first NUL, and half a script is worse than none.
        guard !script.utf8.contains(0) else {
            throw DatabaseError.refused(StatementError(state: .characterNotInRepertoire))
        }
        _ = try await finish(PQsendQuery(handle, script) == 1, until: deadline)
    }

    /// Sends what is left to send and takes all results: the last one, or the first error.
    private func finish(_ isSent: Bool, until deadline: Monotonic) async throws -> Rows? {
        guard isSent else { throw lost() }
        try await flush(until: deadline)
        var last: Rows?
        var refusal: StatementError?
        while true {
            while PQisBusy(handle) != 0 {
                try await wait(.readable, until: deadline)
                guard PQconsumeInput(handle) == 1 else { throw lost() }
            }
            guard let result = PQgetResult(handle) else { break }
            switch PQresultStatus(result) {
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY:
                last = Rows(result: QueryResult(owning: result, columns: Columns(of: result)))
            case PGRES_FATAL_ERROR, PGRES_NONFATAL_ERROR, PGRES_BAD_RESPONSE:
                let error = ServerError(of: result)
                PQclear(result)
                if error.state == nil || error.isFatal { throw lost() }
                refusal = refusal ?? error.refusal
            default:
                PQclear(result)
                throw DatabaseError.unavailable(reason: "COPY from or to the client is not possible here")
            }
        }
        if let refusal { throw DatabaseError.refused(refusal) }
        return last
    }

    private func flush(until deadline: Monotonic) async throws {
        while true {
            switch PQflush(handle) {
            case 0: return
            case 1:
                try await wait([.readable, .writable], until: deadline)
                guard PQconsumeInput(handle) == 1 else { throw lost() }
            default: throw lost()
            }
        }
    }

    private func wait(_ interest: Interest, until deadline: Monotonic) async throws {
        do {
            try await ReadinessWait.wait(for: PQsocket(handle), interest, on: loop, until: deadline)
        } catch WaitError.timedOut {
            throw DatabaseError.unavailable(reason: "no answer came in time")
        } catch WaitError.cancelled {
            throw CancellationError()
        }
    }

    private func lost() -> DatabaseError {
        .unavailable(reason: errorText(of: handle))
    }
}
