import CLibpq
import Transport

extension Connection {
    private static let begin: SQL = "BEGIN"

    /// Hands all of an exchange but its Sync to libpq; false when the connection is broken.
    func queue(_ exchange: Exchange) -> Bool {
        if exchange.beginsTransaction, !queue(Self.begin, of: exchange, isAwaited: false) { return false }
        if !queue(exchange.first, of: exchange, isAwaited: true) { return false }
        return exchange.more.allSatisfy { queue($0, of: exchange, isAwaited: true) }
    }

    /// Queues one statement, preparing it if this connection has not seen it. Wraps `PQsendPrepare` and
    /// `PQsendQueryPrepared`.
    private func queue(_ sql: SQL, of exchange: Exchange, isAwaited: Bool) -> Bool {
        guard exchange.isPrepared else {
            expect(.answer(nil), of: exchange)
            return PQsendQueryParams(handle, sql.text, 0, nil, nil, nil, nil, PostgresFormat.binary.rawValue) == 1
        }
        let statement: PreparedStatement
        if let known = statements.find(sql) {
            statement = known
        } else {
            statement = statements.add(sql)
            expect(.preparation(statement), of: exchange)
            let types = sql.parameters.entries.map(\.type.rawValue)
            guard PQsendPrepare(handle, statement.name, sql.text, Int32(types.count), types) == 1 else { return false }
        }
        expect(isAwaited ? .answer(statement) : .nothing, of: exchange)
        return sql.parameters.withPointers { count, values, lengths, formats in
            PQsendQueryPrepared(
                handle, statement.name, count, values, lengths, formats, PostgresFormat.binary.rawValue) == 1
        }
    }

    private func expect(_ expectation: Expectation, of exchange: Exchange) {
        expected.append(expectation)
        exchange.awaited += 1
    }

    /// Deallocates old statements in exchanges of their own, so that nothing else depends on it.
    func makeRoom(for exchange: Exchange) {
        guard !statements.hasRoom(for: 2 + exchange.more.count) else { return }
        for old in statements.makeRoom(for: 2 + exchange.more.count) {
            let deallocation = Exchange(
                SQL(trusted: "DEALLOCATE \(old.name)"), effect: .control,
                deadline: Monotonic.now() + configuration.statementDeadline)
            deallocation.isPrepared = false
            send(deallocation)
        }
    }

    /// Sends as much as the socket takes, and asks to be told when it takes more. Wraps `PQflush`.
    func flush() -> Bool {
        let left = PQflush(handle)
        guard left >= 0 else { return false }
        if isWaitingToWrite != (left == 1), let registration {
            isWaitingToWrite = left == 1
            // Can only fail for want of memory; then the deadline ends the wait.
            try? loop.setInterest(isWaitingToWrite ? [.readable, .writable] : .readable, of: registration)
        }
        return true
    }
}
