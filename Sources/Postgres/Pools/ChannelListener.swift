import Transport

/// One task's LISTEN, over however many connections it takes.
final class ChannelListener: ConnectionOwner {
    private let opener: ConnectionOpener
    private let channels: [String]
    private let mark: ListenerMark?
    private let loop: EventLoop
    private let handler: (Notifications.Event) -> Void
    private var connection: Connection?
    private var ended: UnsafeContinuation<Void, Never>?
    private var isCancelled = false

    init(
        opener: ConnectionOpener, channels: [String], mark: ListenerMark?, loop: EventLoop,
        handler: @escaping (Notifications.Event) -> Void
    ) {
        self.opener = opener
        self.channels = channels
        self.mark = mark
        self.loop = loop
        self.handler = handler
    }

    /// Connects and listens, again and again, until the task is cancelled.
    func run() async throws {
        let bound = LoopBound(self, on: loop)
        try await withTaskCancellationHandler {
            var pause = opener.configuration.reconnectPauseMin
            while true {
                try Task.checkCancellation()
                do {
                    try await listen()
                    pause = opener.configuration.reconnectPauseMin
                    await waitForTheEnd()
                } catch is DatabaseError {
                    // Reported by the opener; the next attempt follows.
                }
                try await loop.sleep(for: pause)
                pause = min(pause * 2, opener.configuration.reconnectPauseMax)
            }
        } onCancel: { [loop] in
            loop.execute { bound.value.cancel() }
        }
    }

    private func listen() async throws {
        let connection = try await opener.open(on: loop, for: .listen)
        connection.onNotification = { [handler] in handler(.received($0)) }
        for channel in channels {
            // An instance that counts listeners from here on finds this one, before any reads what may be sent.
            if let mark {
                try await perform(
                    "SELECT pg_advisory_lock_shared(hashtext(\(channel)), \(mark.number))", effect: .read,
                    on: connection)
            }
            try await perform(SQL(trusted: "LISTEN \(quoted(channel))"), effect: .control, on: connection)
        }
        guard connection.isOpen else { throw DatabaseError.unavailable(reason: "the connection was lost") }
        self.connection = connection
        connection.owner = self
        handler(.listening)
    }

    private func perform(_ sql: SQL, effect: Exchange.Effect, on connection: Connection) async throws {
        let exchange = Exchange(
            sql, effect: effect, deadline: Monotonic.now() + opener.configuration.statementDeadline)
        // What is prepared may have parameters; a LISTEN has none, and is another one each time.
        exchange.isPrepared = effect != .control
        do {
            _ = try await connection.perform(exchange).get()
        } catch {
            connection.close()
            throw error
        }
    }

    private func waitForTheEnd() async {
        await withUnsafeContinuation { continuation in
            if connection == nil || isCancelled {
                connection?.close()
                return continuation.resume()
            }
            ended = continuation
        }
    }

    private func cancel() {
        isCancelled = true
        connection?.close()
    }

    func connectionAdvanced(_ connection: Connection) {}

    func connectionEnded(_ connection: Connection, reason: String, repeatable: [Exchange]) {
        self.connection = nil
        if !isCancelled { opener.configuration.onEvent(.connectionLost(pool: .listen, reason: reason)) }
        ended?.resume()
        ended = nil
    }

    /// A name as PostgreSQL quotes it; a NUL ends a C string and so cannot be in it.
    private func quoted(_ name: String) -> String {
        var text = "\""
        for scalar in name.unicodeScalars where scalar != "\0" {
            text.unicodeScalars.append(scalar)
            if scalar == "\"" { text.unicodeScalars.append(scalar) }
        }
        return text + "\""
    }
}
