import Transport

/// One loop's connections to one origin.
final class ClientPool {
    let client: Client
    let loop: EventLoop
    /// Where received bytes land. Valid until the next read on this loop.
    let inbox = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)
    /// The TLS session, with which the next connection skips most of its handshake.
    var ticket: TLSTicket?

    private var idle: [ClientConnection] = []
    /// Connections at rest, at work and being opened.
    private var openCount = 0
    private let addresses: OriginAddresses
    private let line: WaitQueue<Turn>
    private var isClosed = false

    /// The answer to a request that waited for a connection.
    private enum Turn: Sendable {
        case connection(LoopBound<ClientConnection>)
        /// Leave to open a connection in the place of one that is gone.
        case place
    }

    init(client: Client, loop: EventLoop) {
        self.client = client
        self.loop = loop
        line = WaitQueue(on: loop)
        addresses = OriginAddresses(of: client.origin, configuration: client.configuration, on: loop)
    }

    deinit {
        inbox.deallocate()
    }

    func send(_ request: Request, until deadline: Monotonic) async throws(ClientError) -> Response {
        let connection = try await acquire(until: deadline)
        do {
            let (response, keepAlive) = try await connection.exchange(request, until: deadline)
            ticket = connection.takeTicket() ?? ticket
            giveBack(connection, keepAlive: keepAlive)
            return response
        } catch {
            giveBack(connection, keepAlive: false)
            throw error
        }
    }

    /// Closes what is at rest now, and whatever is at work as soon as it would come to rest.
    func close() {
        isClosed = true
        for connection in idle { connection.close() }
        openCount -= idle.count
        idle.removeAll()
    }

    /// An idle connection was closed by the server, or has been idle for too long.
    func drop(_ connection: ClientConnection) {
        guard let index = idle.firstIndex(where: { $0 === connection }) else { return }
        idle.remove(at: index)
        openCount -= 1
        connection.close()
    }

    /// The one used last comes first: the others may grow old and close.
    private func acquire(until deadline: Monotonic) async throws(ClientError) -> ClientConnection {
        while let connection = idle.popLast() {
            if connection.resume() { return connection }
            connection.close()
            openCount -= 1
        }
        if openCount < client.configuration.connectionsMax {
            openCount += 1
        } else {
            switch await line.wait(until: deadline) {
            case .connection(let connection)?:
                if connection.value.resume() { return connection.value }
                connection.value.close()
            case .place?: break
            case nil: throw .notSent(reason: "every connection to \(client.origin) was in use until the deadline")
            }
        }
        do {
            return try await connect(until: min(deadline, Monotonic.now() + client.configuration.connectDeadline))
        } catch {
            vacate()
            throw error
        }
    }

    /// While requests stand in line nothing comes to rest, so that none of those behind can overtake them.
    private func giveBack(_ connection: ClientConnection, keepAlive: Bool) {
        if keepAlive, !isClosed {
            if line.hand(.connection(LoopBound(connection, on: loop))) { return }
            if connection.rest(for: client.configuration.idleDeadline) { return idle.append(connection) }
        }
        connection.close()
        vacate()
    }

    private func vacate() {
        if !line.hand(.place) { openCount -= 1 }
    }

    /// Tries the origin's addresses in turn until one answers or the deadline has passed.
    private func connect(until deadline: Monotonic) async throws(ClientError) -> ClientConnection {
        var lastReason = "no address"
        let addresses = try await resolve(until: deadline)
        for (position, address) in addresses.enumerated() {
            // A silent address must not use up the time of those behind it.
            let share = (deadline - Monotonic.now()) / (addresses.count - position)
            guard share > .zero else { break }
            do {
                return try await ClientConnection.connect(to: address, pool: self, until: Monotonic.now() + share)
            } catch {
                lastReason = "\(error)"
            }
        }
        // Either may be the cause: the server has moved, or it cannot use a TLS ticket of its predecessor.
        self.addresses.forget()
        ticket = nil
        throw .notSent(reason: "cannot connect to \(client.origin): \(lastReason)")
    }

    private func resolve(until deadline: Monotonic) async throws(ClientError) -> [SocketAddress] {
        do {
            return try await addresses.current(until: deadline)
        } catch {
            throw .notSent(reason: "cannot resolve \(error)")
        }
    }
}
