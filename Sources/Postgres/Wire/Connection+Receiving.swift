import CLibpq
import Transport

extension Connection {
    /// Wraps `PQconsumeInput`.
    func readInput() -> Bool {
        guard PQconsumeInput(handle) == 1 else { return false }
        // OpenSSL may hold more of a record than libpq had room for, and the socket would not tell. libpq makes room
        // for 8 KiB; servers before 17 send no larger records, those since may fill one (16 KiB).
        while usesTLS, clibpq_tls_pending(handle) > 0 {
            guard PQconsumeInput(handle) == 1 else { return false }
        }
        return true
    }

    /// Takes every result that is complete. Wraps `PQgetResult`.
    func drain() {
        var ends = 0
        while isOpen, let exchange = pending.first, PQisBusy(handle) == 0 {
            guard let result = PQgetResult(handle) else {
                // The end of one statement's results. Several in a row would mean that libpq and we disagree.
                ends += 1
                if ends > 2 { return end("the connection is out of step") }
                continue
            }
            ends = 0
            take(result, for: exchange)
        }
        while isOpen, let onNotification, let notification = PQnotifies(handle) {
            onNotification(Notification(notification.pointee))
            PQfreemem(notification)
        }
    }

    private func take(_ result: OpaquePointer, for exchange: Exchange) {
        switch PQresultStatus(result) {
        case PGRES_PIPELINE_SYNC:
            PQclear(result)
            complete(exchange)
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY:
            guard case .answer(let statement) = nextExpectation(of: exchange) else { return PQclear(result) }
            let columns = statement?.columns ?? Columns(of: result)
            statement?.columns = columns
            exchange.take(QueryResult(owning: result, columns: columns))
        case PGRES_PIPELINE_ABORTED:
            // Skipped after a failure before it. What was to be prepared was not.
            PQclear(result)
            if case .preparation(let statement) = nextExpectation(of: exchange) { statements.forget(statement) }
        case PGRES_FATAL_ERROR, PGRES_NONFATAL_ERROR, PGRES_BAD_RESPONSE:
            let error = ServerError(of: result)
            PQclear(result)
            fail(exchange, error)
        default:
            // COPY, which nothing here uses and pipeline mode does not allow.
            PQclear(result)
            end("the server began something that was not asked for")
        }
    }

    /// Nothing while only the Sync is awaited.
    private func nextExpectation(of exchange: Exchange) -> Expectation {
        guard exchange.awaited > 0, let next = expected.popFirst() else { return .nothing }
        exchange.awaited -= 1
        return next
    }

    private func fail(_ exchange: Exchange, _ error: ServerError) {
        // Without a state it is libpq that speaks: the connection is gone.
        guard let state = error.state else { return end(errorText(of: handle)) }
        if case .preparation(let statement) = nextExpectation(of: exchange) { statements.forget(statement) }
        if exchange.failure == nil { exchange.failure = error }
        // The server answers in order and has stopped here, so it never came to the exchanges behind this one.
        if error.isFatal { end("the server ended the connection (SQLSTATE \(state))", onlyFirstWasReached: true) }
    }

    /// The Sync is answered: what has not failed by now is committed.
    private func complete(_ exchange: Exchange) {
        _ = pending.popFirst()
        if isStalled { isStalled = pending.first.map { $0.deadline <= loop.now } ?? false }
        let took = loop.now - exchange.begun
        if took >= configuration.slowStatement {
            configuration.onEvent(.slowStatement(text: exchange.first.text, took: took))
        }
        if let failure = exchange.failure { return completeFailed(exchange, failure) }
        guard let answer = exchange.answer else { return end("the connection is out of step") }
        if exchange.wasNotReplicated, exchange.effect.isUnknownWhenLost {
            let reason = "the wait for the standby was given up: committed here, but perhaps nowhere else"
            return exchange.settle(.failed(.outcomeUnknown(reason: reason)))
        }
        if exchange.effect == .commit, answer.rows.result.commandTag != "COMMIT" {
            return exchange.settle(.failed(.refused(StatementError(state: .inFailedTransaction))))
        }
        exchange.settle(.answered(answer))
    }

    private func completeFailed(_ exchange: Exchange, _ failure: ServerError) {
        if failure.isStaleStatement {
            for sql in [exchange.first] + exchange.more {
                if let statement = statements.find(sql) { statements.forget(statement) }
            }
            let mayRepeat = exchange.effect == .read || exchange.effect == .write
            if mayRepeat, !exchange.isSettled, exchange.attempts < 2 { return send(exchange) }
        }
        if failure.isOfWrongServer, pool != .read || failure.state != .readOnlyTransaction || isStandby {
            let reason = "this server does not take the statement now (SQLSTATE \(failure.refusal.state))"
            exchange.settle(.failed(.unavailable(reason: reason)))
            return end(reason)
        }
        let wasAwaited = exchange.isAwaited
        exchange.settle(.failed(.refused(failure.refusal)))
        // A ROLLBACK that fails leaves the session in an unknown state.
        if exchange.effect == .control, !wasAwaited { end("the session could not be put in order") }
    }

    func hear(_ notice: ServerError) {
        // PostgreSQL commits and warns when the wait for a synchronous standby is cancelled (SyncRepWaitForLSN).
        // The warnings of our own functions (RAISE WARNING) have the same state.
        if notice.state == .warning, notice.function != "exec_stmt_raise" { pending.first?.wasNotReplicated = true }
    }
}

extension Notification {
    /// Wraps `PGnotify`.
    fileprivate init(_ notification: PGnotify) {
        self.init(
            channel: notification.relname.map { String(cString: $0) } ?? "",
            payload: notification.extra.map { String(cString: $0) } ?? "")
    }
}
