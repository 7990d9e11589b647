import Transport

/// The connections that one loop keeps for one database. Touched on its loop's thread only.
final class LoopPools {
    let read: ConnectionPool
    let write: ConnectionPool
    let notify: ConnectionPool

    init(of database: Database, on loop: EventLoop) {
        let opener = database.opener
        let configuration = opener.configuration
        read = ConnectionPool(.read, connectionsMax: configuration.readConnectionsMax, opener: opener, loop: loop)
        write = ConnectionPool(.write, connectionsMax: configuration.writeConnectionsMax, opener: opener, loop: loop)
        notify = ConnectionPool(.notify, connectionsMax: 1, opener: opener, loop: loop)
    }

    func close() async {
        await read.close()
        await write.close()
        await notify.close()
    }
}
